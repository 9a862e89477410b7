"""What of an OLT has not been sent: its stored collections, closed hours, and states, as encoded pieces.

The history is the queue: what is collected is in it already, in order and durable. The collections of open
hours are followed one by one. When the receiver was away for longer, their hours have been closed meanwhile,
and are read from there.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.db import sql
from facho.apps.discovery.models import Collected
from facho.apps.history.models import Subject
from facho.apps.history.store import HOUR, hour_of, milliseconds
from facho.apps.remote_write.selectors import QUIET
from facho.apps.remote_write.store import MOMENT, Counts, Cursor, next_hour
from facho.config import Config
from facho.core.frames import Sheet, count_values, read_sheet
from facho.core.history_facts import Damaged
from facho.core.metric_names import metric_name
from facho.core.write_request import Piece, encode_labels, encode_rows, encode_series, join_pieces
from facho.engine.remote_write.labels import OltLabels, OnuStates, is_up
from facho.vendors import Entity

log = logging.getLogger(__name__)

# Collections of an OLT in one step. More of the same moment are always taken together.
_FRAMES_PER_STEP: Final = 40
_ALL: Final = 1_000_000
# An hour may be closed between the look at the clock and the reading of its frames.
_CLOSING: Final = timedelta(minutes=1)
# What states are of: ONUs, or these links.
_STATES: Final[Mapping[str, type[PonPort | Uplink] | None]] = {
    "state": None,
    "port.state": PonPort,
    "uplink.state": Uplink,
}
# What is collected when labels change that are no place of their own.
_LABELLED: Final[Mapping[str, Sequence[str]]] = {
    Subject.ONU: ("state", "serial", "mac"),
    Subject.UPLINK: ("uplink.state", "uplink.name"),
}


@dataclass(slots=True)
class OltProgress:
    """How far the samples of an OLT are sent once the pieces of this step have arrived."""

    cursor: Cursor
    # The same before anything was sent, after what is too old was dropped.
    begin: Cursor
    too_old: Counts = field(default_factory=Counts)
    unreadable: Counts = field(default_factory=Counts)
    # More is waiting already.
    has_more: bool = False
    # The next hour is sent only after every OLT has sent this one: receivers refuse old samples.
    waits_for_others: bool = False

    def reach(self, sent_to: datetime) -> None:
        self.cursor = replace(self.cursor, sent_to=max(sent_to, self.cursor.sent_to))


class Pending:
    """Reads what is pending of one OLT."""

    def __init__(self, progress: OltProgress, labels: OltLabels, now: datetime, config: Config) -> None:
        self._progress = progress
        self._olt_id = progress.cursor.olt_id
        self._labels = labels
        self._now = now
        self._config = config
        # As they were read with the labels.
        self._onu_states: OnuStates | None = None

    def pieces(self) -> Iterator[Piece]:
        """Yield all that is pending; after that, the progress says how far they go."""
        self._drop_old()
        rows = Collected.objects.filter(olt=self._olt_id, datum__in=[*_STATES, *chain(*_LABELLED.values())])
        dates = dict(rows.values_list("datum", "collected_at"))
        self._renew_labels(dates)
        yield from self._numbers()
        # Many receivers take nothing that is an hour older than the newest that they have.
        if not (self._progress.has_more or self._progress.waits_for_others):
            yield from self._states(dates)
            yield from self._status()

    def _renew_labels(self, dates: Mapping[str, datetime]) -> None:
        """Read labels again that may be other ones since; the sender before may have been another process."""
        for subject, data in _LABELLED.items():
            at = max((dates[datum] for datum in data if datum in dates), default=None)
            if at is not None and self._labels.as_of.get(subject) != at:
                if subject == Subject.ONU:
                    self._onu_states = self._labels.read_onus()
                else:
                    self._labels.read(subject)
                self._labels.as_of[subject] = at

    def _drop_old(self) -> None:
        """Drop what waits longer than it may, and count it."""
        progress, now, backlog = self._progress, self._now, self._config.remote_write_backlog
        if progress.cursor.sent_to > now:
            # The clock was set back.
            progress.cursor = replace(progress.cursor, sent_to=now, states_sent_to=now)
        # Whole hours: counting what is dropped reads each of them once.
        oldest = hour_of(now - backlog) - MOMENT
        if progress.cursor.sent_to >= oldest:
            return
        # Only while a sender ran, samples were queued that could be dropped; not before there was a receiver.
        queued_to = min(oldest, hour_of(progress.cursor.due_at) - MOMENT)
        if progress.cursor.sent_to < queued_to:
            progress.too_old += Counts(too_old=self._count(progress.cursor.sent_to, queued_to))
        progress.reach(oldest)
        progress.begin = progress.cursor

    def _count(self, after: datetime, before: datetime) -> int:
        """Return how many values there are between these times; a missing one counts as one."""
        times = [self._olt_id, *Subject.values, sql.db_time(after), sql.db_time(before + MOMENT), _ALL]
        found = [bytes(data) for _, _, data in sql.fetch_with_blobs(_FRAMES, times)]
        hour = next_hour(after)
        while hour < before:
            found += (data for _, data in self._closed(hour))
            hour += HOUR
        return sum(count_values(sheet, milliseconds(after)) for sheet in self._sheets(found))

    def _numbers(self) -> Iterator[Piece]:
        hour = next_hour(self._progress.cursor.sent_to)
        if hour < hour_of(self._now + _CLOSING - self._config.history_close_after):
            yield from self._past_hour(hour)
            self._progress.reach(hour + HOUR - MOMENT)
            self._progress.has_more = True
            return
        frames = self._frames(hour + HOUR, _FRAMES_PER_STEP)
        if hour < hour_of(self._now):
            self._progress.has_more = bool(frames)
            if not frames and self._progress.cursor.until < self._now:
                self._progress.waits_for_others = True
                self._progress.reach(min(hour + HOUR - MOMENT, self._now - QUIET))
                return
            frames = frames or self._frames(self._now + HOUR, _FRAMES_PER_STEP)
        if len(frames) == _FRAMES_PER_STEP:
            self._progress.has_more = True
            # Those of the last moment may not be all.
            frames = [each for each in frames if each[1] < frames[-1][1]] or frames
        yield from self._rows_of_frames(frames)
        self._progress.reach(frames[-1][1] if frames else self._now - QUIET)

    def _frames(self, until: datetime, most: int) -> list[tuple[str, datetime, bytes]]:
        """Return the first stored collections that were not sent."""
        times = map(sql.db_time, (self._progress.cursor.sent_to, until))
        rows = sql.fetch_with_blobs(_FRAMES, [self._olt_id, *Subject.values, *times, most])
        return [(subject, sql.parse_time(at), bytes(data)) for subject, at, data in rows]

    def _rows_of_frames(self, frames: Sequence[tuple[str, datetime, bytes]]) -> Iterator[Piece]:
        for subject, at, data in frames:
            for sheet in self._sheets([data]):
                yield from self._rows_of(subject, sheet, at)

    def _sheets(self, found: Sequence[bytes]) -> Iterator[Sheet]:
        """Yield those that can be read: one that is damaged stops neither its OLT nor the others."""
        for data in found:
            try:
                sheet = read_sheet(data)
                sheet.check()
                yield sheet
            except Damaged as error:
                self._progress.unreadable += Counts(unreadable=1)
                log.error(
                    "stored numbers cannot be sent",
                    extra={"action": "history_damaged", "olt_id": self._olt_id, "error": str(error)},
                )

    def _rows_of(self, subject: str, sheet: Sheet, at: datetime) -> Iterator[Piece]:
        facts = sheet.facts
        columns = [sheet.first(fact) for fact in facts]
        known = self._labels.of(subject, sheet.ids)
        rows = zip(*columns, strict=True)
        if subject == Subject.PART:
            yield from self._rows_of_parts(sheet, facts, list(rows), known, at)
            return
        names = [metric_name(_ENTITIES[subject], fact) for fact in facts]
        both = [each for each in zip(known, rows, strict=True) if each[0] is not None]
        yield from self._encode(at, names, [(label, row) for label, row in both if label is not None])

    def _rows_of_parts(
        self,
        sheet: Sheet,
        facts: Sequence[str],
        rows: Sequence[Sequence[float | None]],
        known: Sequence[bytes | None],
        at: datetime,
    ) -> Iterator[Piece]:
        """The OLT, its boards, its fans and its power supplies have metrics of their own."""
        for kind in sorted(set(self._labels.kinds.values())):
            own = [
                (label, row)
                for number, label, row in zip(sheet.ids, known, rows, strict=True)
                if label is not None and self._labels.kinds.get(number) == kind
            ]
            yield from self._encode(at, [metric_name(kind, fact) for fact in facts], own)

    def _encode(
        self, at: datetime, names: Sequence[str], rows: Sequence[tuple[bytes, Sequence[float | None]]]
    ) -> Iterator[Piece]:
        if names and rows:
            labels, values = zip(*rows, strict=True)
            most = self._config.remote_write_batch
            yield from encode_rows(milliseconds(at), names, labels, values, most=most)

    def _past_hour(self, hour: datetime) -> Iterator[Piece]:
        """Yield what was not sent of an hour that may be closed, or some of whose subjects are."""
        after = milliseconds(self._progress.cursor.sent_to)
        # Frames come first: those that are closed meanwhile are found twice, and none is missed.
        frames = self._frames(hour + HOUR, _ALL)
        yield from self._rows_of_frames(frames)
        sent = defaultdict(set)
        for subject, at, _ in frames:
            sent[subject].add(milliseconds(at))
        for subject, data in self._closed(hour):
            for sheet in self._sheets([data]):
                series = self._series_of(subject, sheet, after, sent[subject])
                yield from join_pieces(series, self._config.remote_write_batch)

    def _closed(self, hour: datetime) -> Iterator[tuple[str, bytes]]:
        """Yield the sheets of a closed hour, also of places where no ONU is any more."""
        for subject in Subject.values:
            for (place,) in sql.fetch_rows(_PLACES, [self._olt_id, subject] * 2):
                values = [self._olt_id, subject, place, sql.db_time(hour)]
                for data in sql.fetch_blobs(_CLOSED, values):
                    yield subject, data

    def _series_of(self, subject: str, sheet: Sheet, after: int, sent: Collection[int]) -> Iterator[Piece]:
        """Yield a series for each fact of each subject, without what was sent."""
        known = self._labels.of(subject, sheet.ids)
        for fact in sheet.facts:
            for number, label, samples in zip(
                sheet.ids, known, sheet.series(fact, range(len(sheet.ids))), strict=True
            ):
                entity = self._labels.kinds.get(number) if subject == Subject.PART else _ENTITIES[subject]
                found = [
                    (time, value)
                    for time, value in zip(*samples, strict=True)
                    if value is not None and time > after and time not in sent
                ]
                if found and label is not None and entity is not None:
                    yield encode_series(metric_name(entity, fact), label, found)

    def _states(self, dates: Mapping[str, datetime]) -> Iterator[Piece]:
        """Yield the states as they are now, at the time at which they were collected."""
        since = self._progress.cursor.states_sent_to
        new = {datum: dates[datum] for datum in _STATES if datum in dates and dates[datum] > since}
        for datum, at in new.items():
            model = _STATES[datum]
            yield from self._states_of_onus(at) if model is None else self._states_of_links(model, at)
        if new:
            self._progress.cursor = replace(self._progress.cursor, states_sent_to=max(new.values()))

    def _states_of_onus(self, at: datetime) -> Iterator[Piece]:
        states = self._onu_states or self._labels.read_onus()
        known = self._labels.of(Subject.ONU, states.ids)
        online = [
            (label, (value,)) for label, value in zip(known, states.online, strict=True) if label is not None
        ]
        yield from self._encode(at, ["facho_onu_online"], online)
        counts = [
            (self._encode_labels(port=place, state=state), (float(count),))
            for place, both in sorted(states.ports.items())
            for state, count in zip(("online", "offline"), both, strict=True)
        ]
        yield from self._encode(at, ["facho_port_onus"], counts)

    def _states_of_links(self, model: type[PonPort | Uplink], at: datetime) -> Iterator[Piece]:
        is_uplink = model is Uplink
        entity = Entity.UPLINK if is_uplink else Entity.PORT
        rows = model._default_manager.filter(olt=self._olt_id).order_by("id")
        columns = ("place", "name", "state") if is_uplink else ("place", "state")
        states = []
        for place, *name, state in rows.values_list(*columns):
            own = {entity: place, **({"name": name[0]} if name else {})}
            states.append((self._encode_labels(**own), (is_up(state),)))
        yield from self._encode(at, [f"facho_{entity}_up"], states)

    def _status(self) -> Iterator[Piece]:
        """Yield whether the OLT answers, in each step: it shows too that the sender works."""
        names = self._labels.names
        if names.is_enabled and names.is_reachable is not None:
            own = self._encode_labels(brand=names.brand)
            yield from self._encode(self._now, ["facho_olt_online"], [(own, (float(names.is_reachable),))])

    def _encode_labels(self, **own: str) -> bytes:
        return encode_labels({**self._labels.names.labels, **own})


_ENTITIES: Final = {Subject.ONU.value: "onu", Subject.PORT.value: "port", Subject.UPLINK.value: "uplink"}
_FRAMES: Final = (
    "SELECT subject, at, data FROM onu_history_frames WHERE olt_id = %s"  # noqa: S608 - our own words
    f" AND subject IN ({', '.join(['%s'] * len(Subject.values))}) AND at > %s AND at < %s"
    " ORDER BY at, id LIMIT %s"
)
# The places of an OLT, each found in the index after the one before: it has many hours of each.
_NEXT_PLACE: Final = "SELECT MIN(place) FROM onu_history WHERE olt_id = %s AND subject = %s"
_PLACES: Final = (
    f"WITH RECURSIVE places(place) AS ({_NEXT_PLACE} UNION ALL"  # noqa: S608 - our own words
    f" SELECT ({_NEXT_PLACE} AND place > places.place) FROM places WHERE places.place IS NOT NULL)"
    " SELECT place FROM places WHERE place IS NOT NULL"
)
_CLOSED: Final = (
    "SELECT data FROM onu_history WHERE olt_id = %s AND subject = %s AND place = %s AND hour = %s"
)
