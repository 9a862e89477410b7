"""Whose light crossed a limit in a collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.apps.discovery.filling import ONLINE
from facho.apps.discovery.finding import Rows
from facho.apps.discovery.models import Presence
from facho.apps.discovery.roster import Roster
from facho.core.onu_states import is_known
from facho.core.optics import Limits, OpticalChange, judge_power, optical_change

# The first that an ONU has is the one that counts for it.
POWERS: Final = ("onu_rx_dbm", "olt_rx_dbm")
NEEDED: Final = (*POWERS, "state", "rx_usual_dbm", "rx_usual_of", "optical_state")


@dataclass(frozen=True, slots=True)
class Crossed:
    # In the roster.
    position: int
    turn: OpticalChange
    power: float
    usual: float | None


def tells_power(collection: Sequence[Rows]) -> bool:
    return any(rows.tells(power) for rows in collection for power in POWERS)


def judge_optics(roster: Roster, limits: Limits, moved: Collection[int]) -> list[Crossed]:
    """Everybody that works and has a power, which is that of this collection or the last one known."""
    crossed: list[Crossed] = []
    states = roster["optical_state"]
    for position, power, usual in _measured(roster, _suspects(roster, limits), moved):
        before = states[position]
        now = judge_power(power, usual, before, limits)
        if now != before:
            roster.own("optical_state")[position] = now.value
        if (told := optical_change(before, now)) is not None:
            crossed.append(Crossed(position, told, power, usual))
    return crossed


def _suspects(roster: Roster, limits: Limits) -> Iterable[int]:
    """Without those that are well at a glance, who are nearly everybody."""
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
    """Of these, those that work and are there: their power, and what is usual for them."""
    presences, states, usual, of = (
        roster[column] for column in ("presence", "state", "rx_usual_dbm", "rx_usual_of")
    )
    for position in positions:
        power = _power(roster, of[position], position)
        works = states[position] == ONLINE or not is_known(states[position])
        if power is not None and works and presences[position] == Presence.PRESENT:
            # What was usual at another port says nothing here.
            yield position, power, None if position in moved else usual[position]


def _power(roster: Roster, of: str, position: int) -> float | None:
    """The one that is compared with what is usual, or else the first that it has."""
    found = [roster[power][position] for power in ((of,) if of else POWERS)]
    return next((power for power in found if power is not None), None)
