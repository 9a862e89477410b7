"""Finds the ONUs whose optical power crossed a limit in a collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.apps.discovery.findings import ONLINE, FindingRows
from facho.apps.discovery.models import Presence
from facho.apps.discovery.roster import Roster
from facho.core.onu_states import is_known
from facho.core.optics import Limits, OpticalChange, judge_power, optical_change

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
