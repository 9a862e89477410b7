"""Stores what a collection found about ONUs.

Only a discovery that read its table to the end may say who is new, who moved and who is gone. All other parts
bring values of ONUs that are known at their places; and beside such a discovery, a table that was read to its
end also names ONUs that the discovery did not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from typing import Final, cast

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.sql import update_rows
from facho.apps.discovery.event_times import EventTimes, has_times
from facho.apps.discovery.extra_facts import fill_extras, has_extras
from facho.apps.discovery.findings import (
    PRESENT,
    DiscoveryMatcher,
    Finding,
    FindingRows,
    TableMatcher,
    clear_offline,
    fill_identity,
    fill_parts,
    fill_values,
)
from facho.apps.discovery.models import EventKind, Onu, UnreadableRows
from facho.apps.discovery.olt_clocks import ClockReading
from facho.apps.discovery.onu_events import (
    NEEDED,
    EventLog,
    LimitCrossing,
    PendingEvent,
    PowerChange,
    StateChanges,
    has_power,
    judge_optics,
    new_duplicates,
)
from facho.apps.discovery.onu_identity import is_blank
from facho.apps.discovery.roster import EXTRAS, IDENTITY, PARTS, VALUES, Roster
from facho.apps.discovery.versions import COUNTED_COLUMNS, recount_versions
from facho.apps.history.facts import collected_facts, counters
from facho.apps.history.models import Subject
from facho.core.onu_states import ABSENT_AFTER, OnlineChange, online_change
from facho.core.optics import Limits
from facho.vendors import UnreadableRows as FoundRows

Numbers = list[float | None]


@dataclass(frozen=True, slots=True)
class FrameValues:
    """Columns of facts, each as long as `ids`; None where there is no value.

    Read only: these are the lists of the collection itself.
    """

    ids: list[int] = field(default_factory=list)
    # Numbers, and counters of which rates are made.
    columns: dict[str, Numbers] = field(default_factory=dict)
    # The technology of each id, or one for all.
    technologies: list[str] = field(default_factory=list)
    # Those whose counters start anew: they moved, or are others now.
    renewed: list[int] = field(default_factory=list)
    # Of ONUs, where each is: its port, a colon and its number. None for those that are absent.
    addresses: Sequence[str | None] = ()
    # The speed of each id that is an uplink or a port.
    speeds_mbps: list[int | None] = field(default_factory=list)

    def of_one(self, number: int) -> FrameValues:
        """Return the values of one id."""
        position = self.ids.index(number)
        return FrameValues([number], {fact: [values[position]] for fact, values in self.columns.items()})


def frame_values(roster: Roster, collection: Sequence[FindingRows], renewed: Iterable[int]) -> FrameValues:
    """Return the numbers of all ONUs of the roster, which must be written by now, so that all have ids."""
    facts = collected_facts(Subject.ONU)
    found = {fact: [rows for rows in collection if rows.has(fact)] for fact in facts}
    columns = {fact: _merge(roster, fact, several) for fact, several in found.items() if several}
    counted = [rows for fact in counters(Subject.ONU) for rows in found.get(fact, ())]
    ids = [roster.ids[position] for position in renewed]
    return FrameValues(roster.ids, columns, _technologies(roster.size, counted), ids, roster["address"])


def _technologies(size: int, counted: Sequence[FindingRows]) -> list[str]:
    """Return the technology of each ONU that has counters, or one for all."""
    known = {technology for rows in counted for technology in set(rows.facts.technologies)}
    if len(known) <= 1:
        return list(known)
    found = [""] * size
    for rows in counted:
        for position, technology in zip(rows.positions, rows.facts.technologies, strict=True):
            if position >= 0:
                found[position] = technology
    return found


def _merge(roster: Roster, fact: str, several: Sequence[FindingRows]) -> Numbers:
    """Join the values of several parts: the last one that has a value counts."""
    everybody = range(roster.size)
    columns = [cast(Numbers, rows.facts.columns[fact]) for rows in several]
    if len(several) == 1 and several[0].positions == everybody:
        return columns[0]
    merged: Numbers = [None] * len(everybody)
    for rows, values in zip(several, columns, strict=True):
        for position, value in zip(rows.positions, values, strict=True):
            if position >= 0 and value is not None:
                merged[position] = value
    return merged


_LONGEST_DATUM: Final = 60
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class StoredOnus:
    """The result of storing the findings of one collection. Its counts are stored with the execution."""

    new: int = 0
    moved: int = 0
    # ONUs whose identity or values changed.
    changed: int = 0
    absent: int = 0
    returned: int = 0
    # Places at which no ONU is known.
    unknown: int = 0
    # Places at which another ONU is known: the values found there are not its own.
    other: int = 0
    # ONUs whose serial a complete discovery found at another place too.
    duplicates: int = 0
    # ONUs of this OLT that are present.
    onus: int = 0
    # These are for other writers, and no counts.
    frame: FrameValues = field(default_factory=FrameValues, compare=False, repr=False)
    state_changes: StateChanges = field(default_factory=StateChanges, compare=False, repr=False)
    optical_changes: Sequence[PowerChange] = field(default=(), compare=False, repr=False)

    def counts(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}


def store_findings(
    olt_id: int,
    findings: Sequence[Finding],
    now: datetime,
    *,
    absent_after: int = ABSENT_AFTER,
    limits: Limits = _LIMITS,
    reading: ClockReading | None = None,
) -> StoredOnus:
    """Store all findings of one collection, in the transaction of the caller, the OLT's only writer."""
    assert connection.in_atomic_block, "ONU rows and what else the collection leaves are stored together"
    writer = _FindingsWriter(olt_id, findings, reading or ClockReading(now), now)
    writer.match(absent_after)
    writer.fill()
    writer.judge(limits)
    writer.write(olt_id, now)
    return writer.result()


def note_collected(olt_id: int, data: Iterable[str], now: datetime) -> None:
    """Date these data as collected now."""
    note_all_collected([(olt_id, data, now)])


def note_all_collected(collected: Iterable[tuple[int, Iterable[str], datetime]]) -> None:
    """Date the data of several OLTs, each with the time of its collection."""
    rows = [
        {"olt_id": olt_id, "datum": datum, "collected_at": now}
        for olt_id, data, now in collected
        for datum in sorted({each[:_LONGEST_DATUM] for each in data})
    ]
    if rows:
        sql.execute_prepared(_collected_statement(), [sql.db_rows(rows)])


@cache
def _collected_statement() -> str:
    rows = sql.given_rows(olt_id="bigint", datum="text", collected_at="timestamptz")
    return (
        "INSERT INTO olt_collected (olt_id, datum, collected_at)"  # noqa: S608  our own names
        f" SELECT given.olt_id, given.datum, given.collected_at FROM {rows} AS given WHERE true"
        " ON CONFLICT (olt_id, datum) DO UPDATE SET collected_at = excluded.collected_at"
    )


class _FindingsWriter:
    def __init__(
        self, olt_id: int, findings: Sequence[Finding], reading: ClockReading, now: datetime
    ) -> None:
        self._all = [FindingRows(each) for each in findings]
        discoveries = [rows for rows in self._all if rows.finding.complete_discovery]
        self._others = [rows for rows in self._all if not rows.finding.complete_discovery]
        self._roster = Roster(olt_id, _needed_columns(self._all, has_discovery=bool(discoveries)))
        self._discoveries = DiscoveryMatcher(self._roster, discoveries)
        self._tables = TableMatcher(self._roster, self._others, may_name=bool(discoveries))
        self._times: EventTimes | None = None
        if reading.shown is not None or has_times(self._all):
            self._times = EventTimes(olt_id, self._all, reading, now)
        self._duplicates: list[int] = []
        self._moved: list[int] = []
        self._crossings: list[LimitCrossing] = []
        self._state_changes = StateChanges()
        self._optical_changes: list[PowerChange] = []

    def match(self, absent_after: int) -> None:
        """Find the ONU of each row, and those that are new, gone or back."""
        self._discoveries.match()
        self._tables.match()
        whole = [rows for rows in self._others if rows.finding.complete]
        self._discoveries.count_missed(whole, absent_after)

    def fill(self) -> None:
        for rows in self._others:
            fill_identity(self._roster, rows)
        for stored in VALUES:
            if stored.name in self._roster:
                fill_values(self._roster, self._all, stored)
        if self._times is not None:
            self._times.learn(self._roster, self._online_changes())
        if EXTRAS in self._roster:
            fill_extras(self._roster, self._all, self._times)
        for rows in self._others:
            if rows.finding.of_online:
                clear_offline(self._roster, rows.finding)
        fill_parts(self._roster, self._all)
        self._roster.settle()
        self._duplicates = self._discoveries.duplicates()
        self._moved = self._roster.moved()

    def _online_changes(self) -> dict[int, OnlineChange]:
        if "state" not in self._roster:
            return {}
        before, now = self._roster.before("state"), self._roster["state"]
        changes = {each: online_change(before[each], now[each]) for each in self._roster.differing("state")}
        return {position: change for position, change in changes.items() if change is not None}

    def judge(self, limits: Limits) -> None:
        if has_power(self._all):
            self._crossings = judge_optics(self._roster, limits, set(self._moved))

    def write(self, olt_id: int, now: datetime) -> None:
        events = EventLog(self._roster, self._all, list(self._pending_events()), self._times)
        self._roster.write(now)
        if self._roster.size > self._roster.known or self._roster.differing(*COUNTED_COLUMNS):
            recount_versions(olt_id)
        self._reset_baselines()
        events.write(olt_id, now)
        if self._times is not None:
            self._times.write()
        self._state_changes = StateChanges(
            events.state_changes(), self._has_all_states(), events.dated_outages
        )
        self._optical_changes = [events.optical_change(each) for each in self._crossings]

    def _reset_baselines(self) -> None:
        """Forget the baseline of ONUs that moved: at another port another power is usual."""
        known = [position for position in self._moved if position < self._roster.known]
        rows = [(self._roster.ids[position], None, "") for position in known]
        update_rows(Onu, ("rx_usual_dbm", "rx_usual_of"), rows, is_adapted=True)

    def _pending_events(self) -> Iterator[PendingEvent]:
        for kind, positions in (
            (EventKind.NEW, range(self._roster.known, self._roster.size)),
            (EventKind.RETURNED, self._discoveries.returned),
            (EventKind.MOVED, self._moved),
            (EventKind.ABSENT, self._discoveries.absent),
            (EventKind.DUPLICATE, new_duplicates(self._roster, self._duplicates)),
        ):
            yield from (PendingEvent(kind, position) for position in positions)
        for each in self._crossings:
            yield PendingEvent(EventKind(each.change.value), each.position, f"{each.power:.1f} dBm")

    def result(self) -> StoredOnus:
        return StoredOnus(
            new=self._roster.size - self._roster.known,
            moved=len(self._moved),
            changed=len(self._roster.changed),
            absent=len(self._discoveries.absent),
            returned=len(self._discoveries.returned),
            unknown=len(self._tables.unknown),
            other=len(self._tables.strangers),
            duplicates=len(self._duplicates),
            onus=self._roster["presence"].count(PRESENT),
            frame=frame_values(self._roster, self._all, self._renewed()),
            state_changes=self._state_changes,
            optical_changes=self._optical_changes,
        )

    def _renewed(self) -> list[int]:
        """Return the known ONUs that something else counts for now: they moved, or have another identity."""
        others = self._roster.differing(*(each.name for each in IDENTITY))
        before = [self._roster.before(each.name) for each in IDENTITY if each.name in self._roster]
        replaced = {each for each in others if any(not is_blank(column[each]) for column in before)}
        return sorted(replaced.union(self._moved))

    def _has_all_states(self) -> bool:
        """Return whether the states of all ONUs were read: nothing follows for ports from a part that broke
        off, or from one ONU.
        """
        parts = (rows.finding for rows in self._all if rows.has("state"))
        return any(not finding.broken and not finding.of_one for finding in parts)


def _needed_columns(collection: Sequence[FindingRows], *, has_discovery: bool) -> Iterator[str]:
    """Yield the stored columns with which the findings are compared."""
    facts = {fact for rows in collection for fact in (*rows.facts.columns, *rows.finding.of_online)}
    yield from (each.name for each in VALUES if facts.intersection(each.facts))
    if any(map(has_extras, collection)):
        yield EXTRAS
    if any(rows.finding.of_online for rows in collection):
        yield "state"
    if has_power(collection):
        yield from NEEDED
    if has_discovery or any(each.name in facts for each in IDENTITY):
        yield from (each.name for each in IDENTITY)
    if any(each.name in facts for each in PARTS):
        yield from (*(each.name for each in PARTS), "told_parts")
    if has_discovery:
        yield from ("raw_index", "technology", "missed", "named_by")


def store_unreadable(
    olt_id: int, found: Mapping[str, FoundRows], unread: Collection[str], now: datetime
) -> dict[str, FoundRows]:
    """Store the tables that have rows that the profile cannot read, and forget those that have none any more.

    What is known of the tables in `unread`, by name, stands: they were not read this time. A table that is
    not among them was read, or the profile does not have it any more.

    Return those that had none before: people are warned once, and later collections only count anew.
    """
    noted = UnreadableRows.objects.filter(olt=olt_id)
    known = set(noted.values_list("table", flat=True))
    for table, each in found.items():
        columns = {"rows": each.rows, "example": each.example, "last_seen": now}
        if table in known:
            noted.filter(table=table).update(**columns)
        else:
            UnreadableRows.objects.create(olt_id=olt_id, table=table, since=now, **columns)
    if gone := known.difference(unread, found):
        noted.filter(table__in=gone).delete()
    return {table: each for table, each in found.items() if table not in known}
