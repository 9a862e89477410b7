"""What happened to ONUs in one collection, written as events in one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.discovery import statements
from facho.apps.discovery.columns import interface
from facho.apps.discovery.filling import ONLINE
from facho.apps.discovery.finding import Rows
from facho.apps.discovery.models import EventKind, OnuEvent, Presence
from facho.apps.discovery.optics import Crossed
from facho.apps.discovery.recognise import shared
from facho.apps.discovery.roster import Roster
from facho.apps.discovery.turns import OpticalChange, Turned
from facho.core import onu_states
from facho.vendors import Key, State

_PLACE: Final = ("frame", "slot", "port", "onu_id", "extra", "raw_index")
_READ: Final = (*_PLACE, "serial", "mac", "state_before")
_TURNS: Final = (EventKind.ONLINE, EventKind.OFFLINE, EventKind.ABSENT)
_WRITTEN: Final = ("olt_id", "onu_id", "kind", "at", "serial", "place", "before", "cause")


@dataclass(frozen=True, slots=True)
class Happening:
    kind: EventKind
    # In the roster.
    position: int
    cause: str = ""
    # Of one that went offline.
    was_online: bool = False


def begun_doubles(roster: Roster, doubled: Sequence[int]) -> list[int]:
    """Of those whose serial several have, those of whom it was not so before."""
    if not doubled:
        return []
    serials, presences = roster.before("serial"), roster.before("presence")
    here = [presence == Presence.PRESENT for presence in presences]
    before = shared([serial for serial, is_here in zip(serials, here, strict=True) if is_here])
    return [
        position
        for position in doubled
        if position >= roster.known
        or not here[position]
        or serials[position] not in before
        or serials[position] != roster["serial"][position]
    ]


class Happened:
    """The roster must be settled, and not yet written: what is stored says how it was before."""

    def __init__(self, roster: Roster, collection: Sequence[Rows], known: Sequence[Happening]) -> None:
        self._roster = roster
        self._collection = collection
        states = roster.differing("state")
        concerned = {each.position for each in known if each.position < roster.known} | states
        self._was = self._read(sorted(concerned))
        self._happened = [*known, *self._turns(sorted(states))]
        # The last state that said something, of those whose state does not any more.
        self._quiet = [
            (position, state)
            for position in sorted(states)
            if onu_states.is_known(state := roster.before("state")[position])
            and not onu_states.is_known(roster["state"][position])
        ]

    def _read(self, positions: Sequence[int]) -> dict[int, dict[str, Any]]:
        ids = self._roster.ids
        read = statements.read_some([ids[position] for position in positions], _READ)
        return {position: dict(zip(_READ, read[ids[position]], strict=True)) for position in positions}

    def _turns(self, positions: Iterable[int]) -> Iterator[Happening]:
        turns = {position: self._turn(position) for position in positions}
        offline = {position for position, turn in turns.items() if turn is onu_states.OnlineChange.OFFLINE}
        told = self._told_causes(offline)
        for position, turn in turns.items():
            if turn is onu_states.OnlineChange.OFFLINE:
                was_online = self._state_before(position) == ONLINE
                yield Happening(EventKind.OFFLINE, position, self._cause(position, told), was_online)
            elif turn is not None:
                yield Happening(EventKind.ONLINE, position)

    def _cause(self, position: int, told: Mapping[int, str]) -> str:
        return onu_states.offline_cause(told.get(position, ""), self._roster["state"][position])

    def _turn(self, position: int) -> onu_states.OnlineChange | None:
        return onu_states.online_change(self._state_before(position), self._roster["state"][position])

    def _state_before(self, position: int) -> str:
        """The last one that said something."""
        before: str = self._roster.before("state")[position]
        if not onu_states.is_known(before):
            before = self._was[position]["state_before"]
        return before

    def _told_causes(self, positions: set[int]) -> dict[int, str]:
        """In this very collection: the one that is stored may be that of an earlier time."""
        told = [rows for rows in self._collection if rows.tells("down_cause")] if positions else []
        return {
            position: said.meaning
            for rows in told
            for position, said in zip(rows.at, rows.facts.columns["down_cause"], strict=True)
            if position in positions and isinstance(said, State)
        }

    def write(self, olt_id: int, now: datetime) -> None:
        """After the roster, so that those that are new have their ids."""
        when = sql.db_time(now)
        ids = self._roster.ids
        statements.update(("state_before",), [(ids[position], state) for position, state in self._quiet])
        rows = [
            (olt_id, ids[each.position], each.kind.value, when, *self._who_and_where(each), each.cause)
            for each in self._happened
        ]
        statements.insert(_WRITTEN, rows, OnuEvent)

    def turned(self) -> list[Turned]:
        """Who went and who came, once the new ones have their ids."""
        return [
            Turned(
                self._roster.ids[each.position],
                each.kind,
                port_of(self._now(each.position)),
                each.cause,
                each.was_online,
            )
            for each in self._happened
            if each.kind in _TURNS
        ]

    def optical(self, crossed: Crossed) -> OpticalChange:
        now = self._now(crossed.position)
        place = _interface(now)
        return OpticalChange(
            self._roster.ids[crossed.position],
            EventKind(crossed.turn.value),
            now["serial"] or now["mac"] or place,
            port_of(now),
            place,
            crossed.power,
            crossed.usual,
        )

    def _who_and_where(self, happening: Happening) -> tuple[str, str, str]:
        was, now = self._was.get(happening.position, {}), self._now(happening.position)
        before = _interface(was) if happening.kind is EventKind.MOVED else ""
        return now["serial"] or now["mac"], _interface(now), before

    def _now(self, position: int) -> dict[str, Any]:
        """Its place and identity."""
        now = {**self._was.get(position, {}), **self._roster.place(position)}
        for identity in ("serial", "mac"):
            if identity in self._roster:
                now[identity] = self._roster[identity][position]
        return now


def port_of(place: Mapping[str, Any]) -> str:
    """As `pon_ports` names it."""
    return "" if place["port"] is None else str(Key(place["frame"], place["slot"], place["port"]))


def _interface(place: dict[str, Any]) -> str:
    return interface(*(place[part] for part in _PLACE))
