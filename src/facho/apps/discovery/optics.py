"""Whose light crossed a limit in a collection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.apps.discovery.filling import ONLINE
from facho.apps.discovery.finding import Rows
from facho.apps.discovery.models import Presence
from facho.apps.discovery.roster import Roster
from facho.core.events import says_something
from facho.core.optics import Limits, OpticalTurn, judge, turn

# The first that an ONU has is the one that counts for it.
POWERS: Final = ("onu_rx_dbm", "olt_rx_dbm")
NEEDED: Final = (*POWERS, "state", "rx_usual_dbm", "rx_usual_of", "optical_state")


@dataclass(frozen=True, slots=True)
class Crossed:
    # In the roster.
    position: int
    turn: OpticalTurn
    power: float
    usual: float | None


def tells_power(collection: Sequence[Rows]) -> bool:
    return any(rows.tells(power) for rows in collection for power in POWERS)


def judge_optics(roster: Roster, limits: Limits, moved: Collection[int]) -> list[Crossed]:
    """Everybody that works and has a power, which is that of this collection or the last one known."""
    crossed: list[Crossed] = []
    states = roster["optical_state"]
    for position, power, usual in _measured(roster, moved):
        before = states[position]
        if not before and power >= limits.weak_dbm and (usual is None or usual - power < limits.fall_db):
            # As nearly everybody, nearly always.
            continue
        now = judge(power, usual, before, limits)
        if now != before:
            roster.own("optical_state")[position] = now.value
        if (told := turn(before, now)) is not None:
            crossed.append(Crossed(position, told, power, usual))
    return crossed


def _measured(roster: Roster, moved: Collection[int]) -> Iterator[tuple[int, float, float | None]]:
    at_onu, at_olt = (roster[power] for power in POWERS)
    columns = zip(
        roster["presence"], roster["state"], roster["rx_usual_dbm"], roster["rx_usual_of"], strict=True
    )
    for position, (presence, state, usual, of) in enumerate(columns):
        power = at_onu[position]
        if power is None if not of else of == POWERS[1]:
            power = at_olt[position]
        if power is None or presence != Presence.PRESENT or (state != ONLINE and says_something(state)):
            continue
        # What was usual at another port says nothing here.
        yield position, power, None if position in moved else usual
