"""The events of ONUs in one collection: changes of state, place and power, written in one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.sql import fetch_by_id, insert_rows, update_rows
from facho.apps.discovery.event_times import DatedOutage, EventTimes, date_earlier_events
from facho.apps.discovery.findings import ONLINE, FindingRows
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Presence
from facho.apps.discovery.onu_identity import shared
from facho.apps.discovery.roster import Roster, interface
from facho.core.onu_states import (
    DOWN_STATES,
    OnlineChange,
    OnuStatus,
    is_known,
    offline_cause,
    online_change,
    onu_status,
)
from facho.core.optics import Limits, OpticalChange, judge_power, optical_change
from facho.vendors import Key, State

# The first one that an ONU has is the one that counts.
POWERS: Final = ("onu_rx_dbm", "olt_rx_dbm")
NEEDED: Final = (*POWERS, "state", "rx_usual_dbm", "rx_usual_of", "optical_state")


@dataclass(frozen=True, slots=True)
class LimitCrossing:
    """An ONU, by its position in the roster, whose optical power crossed a limit."""

    position: int
    change: OpticalChange
    power: float
    usual: float | None


def has_power(collection: Sequence[FindingRows]) -> bool:
    return any(rows.has(power) for rows in collection for power in POWERS)


def judge_optics(roster: Roster, limits: Limits, moved: Collection[int]) -> list[LimitCrossing]:
    """Judge all ONUs that are online and have a power: that of this collection, or the last one known."""
    crossings: list[LimitCrossing] = []
    states = roster["optical_state"]
    for position, power, usual in _measured(roster, _suspects(roster, limits), moved):
        before = states[position]
        now = judge_power(power, usual, before, limits)
        if now != before:
            roster.editable("optical_state")[position] = now.value
        if (change := optical_change(before, now)) is not None:
            crossings.append(LimitCrossing(position, change, power, usual))
    return crossings


def _suspects(roster: Roster, limits: Limits) -> Iterable[int]:
    """Leave out ONUs that are well at a glance: nearly all of them."""
    at_onu, at_olt = POWERS
    if at_olt in roster["rx_usual_of"]:
        return range(roster.size)
    weak, fall = limits.weak_dbm, limits.fall_db
    columns = zip(roster[at_onu], roster["rx_usual_dbm"], roster["optical_state"], strict=True)
    return [
        position
        for position, (power, usual, state) in enumerate(columns)
        if state or power is None or power < weak or (usual is not None and usual - power >= fall)
    ]


def _measured(
    roster: Roster, positions: Iterable[int], moved: Collection[int]
) -> Iterator[tuple[int, float, float | None]]:
    """Yield position, power and baseline of those that work and are present."""
    presences, states, usual, usual_of = (
        roster[column] for column in ("presence", "state", "rx_usual_dbm", "rx_usual_of")
    )
    for position in positions:
        power = _power(roster, usual_of[position], position)
        works = states[position] == ONLINE or not is_known(states[position])
        if power is not None and works and presences[position] == Presence.PRESENT:
            # A baseline of another port says nothing here.
            yield position, power, None if position in moved else usual[position]


def _power(roster: Roster, usual_of: str, position: int) -> float | None:
    """Return the power that is compared with the baseline, or else the first that the ONU has."""
    found = [roster[power][position] for power in ((usual_of,) if usual_of else POWERS)]
    return next((power for power in found if power is not None), None)


_PLACE: Final = ("frame", "slot", "port", "onu_id", "extra", "raw_index")
_READ: Final = (*_PLACE, "serial", "mac", "state_before")
_STATE_KINDS: Final = (EventKind.ONLINE, EventKind.OFFLINE, EventKind.ABSENT)
_COLUMNS: Final = ("olt_id", "onu_id", "kind", "at", "serial", "place", "before", "cause", "happened_at")


@dataclass(frozen=True, slots=True)
class StateChange:
    """An ONU that went offline, came online, or became absent."""

    onu_id: int
    kind: EventKind
    # Empty when its port is not known.
    port: str
    cause: str = ""
    # It worked until now: one that was only starting did not.
    was_online: bool = False
    # As the OLT dates it.
    happened_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StateChanges:
    onus: Sequence[StateChange] = ()
    # The states come from a part that did not break off.
    is_whole: bool = False
    # Of ONUs that went offline in an earlier collection.
    dated: Sequence[DatedOutage] = ()


@dataclass(frozen=True, slots=True)
class PowerChange:
    """An ONU whose power crossed a limit."""

    onu_id: int
    kind: EventKind
    # Serial, else MAC, else its place.
    name: str
    port: str
    place: str
    power_dbm: float
    usual_dbm: float | None


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event of the ONU at a position in the roster, before it is written."""

    kind: EventKind
    position: int
    cause: str = ""
    # Of one that went offline.
    was_online: bool = False
    happened_at: datetime | None = None


def new_duplicates(roster: Roster, duplicates: Sequence[int]) -> list[int]:
    """Return those of the ONUs with a duplicate serial that had none before."""
    if not duplicates:
        return []
    serials, presences = roster.before("serial"), roster.before("presence")
    here = [presence == Presence.PRESENT for presence in presences]
    before = shared([serial for serial, is_here in zip(serials, here, strict=True) if is_here])
    return [
        position
        for position in duplicates
        if position >= roster.known
        or not here[position]
        or serials[position] not in before
        or serials[position] != roster["serial"][position]
    ]


class EventLog:
    """The events of a collection. The roster must be settled and not yet written: the stored rows say how it
    was before.
    """

    def __init__(
        self,
        roster: Roster,
        collection: Sequence[FindingRows],
        pending: Sequence[PendingEvent],
        times: EventTimes | None = None,
    ) -> None:
        self._roster = roster
        self._times = times
        self.dated_outages: Sequence[DatedOutage] = ()
        self._collection = collection
        states = roster.differing("state")
        concerned = {each.position for each in pending if each.position < roster.known} | states
        self._stored = self._read_stored(sorted(concerned))
        self._events = [*pending, *self._state_events(sorted(states))]
        new = range(roster.known, roster.size) if "state" in roster else ()
        self._other_states = [*sorted(states), *new]
        # The last known state of those whose state is not known any more.
        self._states_before = [
            (position, state)
            for position in sorted(states)
            if is_known(state := roster.before("state")[position]) and not is_known(roster["state"][position])
        ]

    def _read_stored(self, positions: Sequence[int]) -> dict[int, dict[str, Any]]:
        ids = self._roster.ids
        read = fetch_by_id(Onu, [ids[position] for position in positions], _READ)
        return {position: dict(zip(_READ, read[ids[position]], strict=True)) for position in positions}

    def _state_events(self, positions: Iterable[int]) -> Iterator[PendingEvent]:
        changes = {position: self._online_change(position) for position in positions}
        offline = {position for position, change in changes.items() if change is OnlineChange.OFFLINE}
        causes = self._reported_causes(offline)
        for position, change in changes.items():
            if change is OnlineChange.OFFLINE:
                cause = offline_cause(causes.get(position, ""), self._roster["state"][position])
                was_online = self._last_known_state(position) == ONLINE
                yield PendingEvent(
                    EventKind.OFFLINE, position, cause, was_online, self._time_of(position, change)
                )
            elif change is not None:
                happened_at = self._time_of(position, change)
                yield PendingEvent(EventKind.ONLINE, position, happened_at=happened_at)

    def _time_of(self, position: int, change: OnlineChange) -> datetime | None:
        return None if self._times is None else self._times.change_time(position, change)

    def _online_change(self, position: int) -> OnlineChange | None:
        return online_change(self._last_known_state(position), self._roster["state"][position])

    def _last_known_state(self, position: int) -> str:
        before: str = self._roster.before("state")[position]
        if not is_known(before):
            before = self._stored[position]["state_before"]
        return before

    def _reported_causes(self, positions: set[int]) -> dict[int, str]:
        """Return the causes of this collection: the stored ones may be those of an earlier time."""
        findings = [rows for rows in self._collection if rows.has("down_cause")] if positions else []
        return {
            position: cause.meaning
            for rows in findings
            for position, cause in zip(rows.positions, rows.facts.columns["down_cause"], strict=True)
            if position in positions and isinstance(cause, State)
        }

    def write(self, olt_id: int, now: datetime) -> None:
        """Write the events, after the roster, so that new ONUs have their ids."""
        at = sql.db_time(now)
        ids = self._roster.ids
        before = [(ids[position], state) for position, state in self._states_before]
        update_rows(Onu, ("state_before",), before, is_adapted=True)
        rows = [
            (
                *(olt_id, ids[each.position], each.kind.value, at),
                *(*self._names_and_places(each), each.cause, sql.db_time(each.happened_at)),
            )
            for each in self._events
        ]
        self.dated_outages = self._date_earlier_events()
        since: dict[int, tuple[datetime | None, bool]] = {
            each.onu_id: (each.happened_at, True) for each in self.dated_outages
        }
        insert_rows(OnuEvent, _COLUMNS, rows, is_adapted=True)
        since |= {ids[position]: each for position, each in self._offline_since(now).items()}
        update_rows(
            Onu, ("offline_since", "offline_dated"), [(onu_id, *each) for onu_id, each in since.items()]
        )

    def _date_earlier_events(self) -> list[DatedOutage]:
        dates = {} if self._times is None else self._times.dates_of_earlier_changes()
        known, ids = self._roster.known, self._roster.ids
        return date_earlier_events(
            {(ids[position], change): at for (position, change), at in dates.items() if position < known}
        )

    def _offline_since(self, now: datetime) -> dict[int, tuple[datetime | None, bool]]:
        """Return since when ONUs whose state changed are offline, and whether the OLT says so."""
        found: dict[int, tuple[datetime | None, bool]] = {}
        for position in self._other_states:
            status = onu_status(self._roster["state"][position])
            if status is OnuStatus.OFFLINE and not self._was_down(position):
                at = None if self._times is None else self._times.offline_since(position)
                if at is not None:
                    found[position] = at, True
            elif status in (OnuStatus.ONLINE, OnuStatus.STARTING) and self._was_down(position):
                found[position] = None, False
        for each in self._events:
            if each.kind is EventKind.OFFLINE:
                found[each.position] = each.happened_at or now, each.happened_at is not None
        return found

    def _was_down(self, position: int) -> bool:
        return position < self._roster.known and self._last_known_state(position) in DOWN_STATES

    def state_changes(self) -> list[StateChange]:
        """Return who went offline, came online or became absent, once new ONUs have their ids."""
        return [
            StateChange(
                self._roster.ids[each.position],
                each.kind,
                port_of(self._place_and_identity(each.position)),
                each.cause,
                each.was_online,
                each.happened_at,
            )
            for each in self._events
            if each.kind in _STATE_KINDS
        ]

    def optical_change(self, crossing: LimitCrossing) -> PowerChange:
        now = self._place_and_identity(crossing.position)
        place = _interface(now)
        return PowerChange(
            self._roster.ids[crossing.position],
            EventKind(crossing.change.value),
            now["serial"] or now["mac"] or place,
            port_of(now),
            place,
            crossing.power,
            crossing.usual,
        )

    def _names_and_places(self, event: PendingEvent) -> tuple[str, str, str]:
        """Return the serial, the place, and the place before of an ONU that moved."""
        before, now = self._stored.get(event.position, {}), self._place_and_identity(event.position)
        place_before = _interface(before) if event.kind is EventKind.MOVED else ""
        return now["serial"] or now["mac"], _interface(now), place_before

    def _place_and_identity(self, position: int) -> dict[str, Any]:
        now = {**self._stored.get(position, {}), **self._roster.place(position)}
        for identity in ("serial", "mac"):
            if identity in self._roster:
                now[identity] = self._roster[identity][position]
        return now


def port_of(place: Mapping[str, Any]) -> str:
    """Return the name of a port as in `pon_ports`."""
    return "" if place["port"] is None else str(Key(place["frame"], place["slot"], place["port"]))


def _interface(place: dict[str, Any]) -> str:
    return interface(*(place[part] for part in _PLACE))
