"""When the changes of a collection happened, by the dates that the OLT gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.discovery.findings import FindingRows
from facho.apps.discovery.models import Collected, OnuEvent
from facho.apps.discovery.olt_clocks import OLT_DATES, ClockReading, load_clock, store_clock
from facho.apps.discovery.roster import EXTRAS, Roster
from facho.apps.extras import read_extras
from facho.core.olt_clock import (
    DatedChange,
    OltClock,
    change_time,
    earlier_change_time,
    infer_clock,
    is_worth_storing,
    past_time,
    read_clock,
    time_since,
    wall_time,
    zone_of_dates,
)
from facho.core.onu_states import OnlineChange
from facho.vendors import Entity, known_facts
from facho.vendors.facts import Kind

# The facts that date a change, and those that say how long ago it was.
_DATES: Final[Mapping[OnlineChange, tuple[str, ...]]] = {
    OnlineChange.OFFLINE: ("last_down", "last_dying_gasp"),
    OnlineChange.ONLINE: ("last_up",),
}
_AGES: Final[Mapping[OnlineChange, tuple[str, ...]]] = {OnlineChange.ONLINE: ("registered_s", "uptime_s")}


@cache
def date_facts() -> frozenset[str]:
    """Return the facts of ONUs that are dates on the clock of their OLT."""
    facts = known_facts()[Entity.ONU].items()
    return frozenset(name for name, fact in facts if fact.kind is Kind.DATE)


def has_times(collection: Sequence[FindingRows]) -> bool:
    wanted = date_facts().union(*_AGES.values())
    return any(rows.has(fact) for rows in collection for fact in wanted)


class EventTimes:
    """The dates of a collection, and the clock of the OLT by which they are read."""

    def __init__(
        self, olt_id: int, collection: Sequence[FindingRows], reading: ClockReading, now: datetime
    ) -> None:
        self._olt_id = olt_id
        self._collection = collection
        self._reading = reading
        self._now = now
        self._zone = zone_of_dates(reading.zone, reading.shown, now)
        self._stored = load_clock(olt_id)
        self._clock: OltClock | None = self._stored
        if reading.shown is not None:
            self._clock = read_clock(self._stored, reading.shown, reading.begin, now)
        # The collection before this one: what is seen to have changed happened since.
        states = Collected.objects.filter(olt=olt_id, datum="state").values_list("collected_at", flat=True)
        before = states.first()
        self._after = before if before is None or before < now else None
        self._shown: dict[str, dict[int, Any]] = {}
        self._changes: Mapping[int, OnlineChange] = {}
        # By fact: the dates that ONUs did not have before, on our clock.
        self._new_dates: dict[str, dict[int, datetime]] = {}

    @property
    def has_other_clock(self) -> bool:
        """Dates that could not be read before may be read now."""
        return self._clock is not None and is_worth_storing(self._stored, self._clock)

    def shown(self, fact: str) -> Mapping[int, Any]:
        """Return the values of a fact by position, as the OLT shows them."""
        if fact not in self._shown:
            self._shown[fact] = {
                position: value
                for rows in self._collection
                if rows.has(fact)
                for position, value in zip(rows.positions, rows.facts.columns[fact], strict=True)
                if position >= 0 and value is not None
            }
        return self._shown[fact]

    def learn(self, roster: Roster, changes: Mapping[int, OnlineChange]) -> None:
        """Learn about the clock from the dates of these changes.

        A date that the OLT has shown before is that of an earlier change: some keep it for a while.
        """
        self._changes = changes
        if self._after is None:
            return
        found = [
            DatedChange(shown, self._after, self._now)
            for position, change in changes.items()
            if (shown := self._new_date(roster, position, change)) is not None
        ]
        self._clock = infer_clock(self._clock, found, self._now)

    def _new_date(self, roster: Roster, position: int, change: OnlineChange) -> datetime | None:
        dates = [(fact, self.shown(fact).get(position)) for fact in _DATES[change]]
        known = olt_dates(roster, position)
        new = [date for fact, date in dates if date is not None and olt_date(date) != known.get(fact)]
        return new[0] if new else None

    def change_time(self, position: int, change: OnlineChange) -> datetime | None:
        """Return when a change of this collection happened; None if the OLT does not say it credibly."""
        for fact in _DATES[change]:
            shown = self.shown(fact).get(position)
            if shown is not None and (at := self._change_time(shown)) is not None:
                return at
        for fact in _AGES.get(change, ()):
            age = self.shown(fact).get(position)
            if isinstance(age, int | float) and (at := time_since(age, self._after, self._now)) is not None:
                return at
        return None

    def _change_time(self, shown: datetime) -> datetime | None:
        return _whole(change_time(self._clock, self._zone, shown, self._after, self._now))

    def offline_since(self, position: int) -> datetime | None:
        """Return since when an ONU has been offline that was not seen to go."""
        shown = self.shown("last_down").get(position)
        return None if shown is None else self._past_time(shown)

    def date_of(self, position: int, fact: str, shown: datetime) -> datetime | None:
        """Return a date of an ONU on our clock: of a change of this collection, or of an earlier one."""
        change = self._changes.get(position)
        at = self._change_time(shown) if change is not None and fact in _DATES[change] else None
        return at or self._past_time(shown)

    def note_new_date(self, position: int, fact: str, at: datetime) -> None:
        self._new_dates.setdefault(fact, {})[position] = at

    def dates_of_earlier_changes(self) -> dict[tuple[int, OnlineChange], datetime]:
        """Return the new dates of ONUs that are not those of a change of this collection."""
        return {
            (position, change): at
            for change, facts in _DATES.items()
            # The first fact that an ONU has is the one that counts.
            for fact in reversed(facts)
            for position, at in self._new_dates.get(fact, {}).items()
            if self._changes.get(position) is not change
        }

    def _past_time(self, shown: datetime) -> datetime | None:
        return _whole(past_time(self._clock, self._zone, shown, self._now))

    def write(self) -> None:
        if self._clock is not None and is_worth_storing(self._stored, self._clock):
            store_clock(self._olt_id, self._clock)


def _whole(at: datetime | None) -> datetime | None:
    """OLTs date to the second."""
    return None if at is None else at.replace(microsecond=0)


def olt_date(shown: datetime) -> str:
    """Return a date as it is kept to tell whether the OLT shows another one."""
    return wall_time(shown).replace(tzinfo=None).isoformat()


def olt_dates(roster: Roster, position: int) -> Mapping[str, str]:
    """Return the dates of an ONU as its OLT showed them before."""
    if EXTRAS not in roster or position >= roster.known:
        return {}
    found: Mapping[str, str] = read_extras(roster.before(EXTRAS)[position]).get(OLT_DATES, {})
    return found


@dataclass(frozen=True, slots=True)
class DatedOutage:
    """The current outage of an ONU, which the OLT dates only after it was seen."""

    onu_id: int
    seen: datetime
    happened_at: datetime


def date_earlier_events(dates: Mapping[tuple[int, OnlineChange], datetime]) -> list[DatedOutage]:
    """Date the last change of each ONU, by its id, that was seen before the OLT said when it happened."""
    if not dates:
        return []
    rows = [{"onu_id": onu_id, "kind": change.value} for onu_id, change in dates]
    dated: list[tuple[int, datetime]] = []
    outages: list[DatedOutage] = []
    for event_id, onu_id, kind, *times in sql.fetch_prepared(
        _undated_events_statement(), [sql.db_rows(rows)]
    ):
        seen, after, since = (None if each is None else sql.parse_time(each) for each in times)
        assert seen is not None
        assert after is not None
        at = earlier_change_time(dates[onu_id, OnlineChange(kind)], after, seen)
        if at is not None:
            dated.append((event_id, at))
            # An outage without a date is since it was seen.
            if kind == OnlineChange.OFFLINE and since == seen:
                outages.append(DatedOutage(onu_id, seen, at))
    sql.update_rows(OnuEvent, ("happened_at",), dated)
    return outages


@cache
def _undated_events_statement() -> str:
    """Return a SELECT of the last events of ONUs, each of a kind, that have no date."""
    rows = sql.given_rows(onu_id="bigint", kind="text")
    of_onu = f"FROM onu_events AS one {sql.indexed_by('onu_events_of_onu')} WHERE one.onu_id = given.onu_id"
    newest = "ORDER BY one.at DESC, one.id DESC LIMIT 1"
    return (
        "SELECT event.id, given.onu_id, given.kind, event.at,"  # noqa: S608  our own names
        f" COALESCE((SELECT one.at {of_onu} AND one.at < event.at"
        f" AND one.kind IN ('online', 'offline') AND one.kind <> given.kind {newest}), onu.first_seen),"
        f" onu.offline_since FROM {rows} AS given JOIN onu_data AS onu ON onu.id = given.onu_id"
        f" JOIN onu_events AS event ON event.id = (SELECT one.id {of_onu} AND one.kind = given.kind {newest})"
        " WHERE event.happened_at IS NULL"
    )
