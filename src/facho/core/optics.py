"""When the light of an ONU is too weak, or less than it was, and when it is well again."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

# Hours of which a value is known; from fewer nothing is called usual.
FEWEST_HOURS: Final = 24
# Powers are told in hundredths; a sum of floats is not.
_DIGITS: Final = 2


class OpticalState(enum.StrEnum):
    # Also of who was never measured.
    WELL = ""
    WEAK = "weak"
    FALLING = "falling"


class OpticalTurn(enum.StrEnum):
    WEAK = "weak"
    FALLING = "falling"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Limits:
    weak_dbm: float = -27.0
    # Below what is usual for it.
    fall_db: float = 3.0
    # So much better than the limit it must be to be well again: at the limit itself it would come and go.
    better_db: float = 1.0


def judge(power: float, usual: float | None, before: str, limits: Limits) -> OpticalState:
    if _is_weak(power, before, limits):
        return OpticalState.WEAK
    if usual is not None and _is_falling(power, usual, before, limits):
        return OpticalState.FALLING
    return OpticalState.WELL


def _is_weak(power: float, before: str, limits: Limits) -> bool:
    margin = limits.better_db if before == OpticalState.WEAK else 0.0
    return round(power - margin, _DIGITS) < limits.weak_dbm


def _is_falling(power: float, usual: float, before: str, limits: Limits) -> bool:
    fallen = round(usual - power, _DIGITS)
    if before == OpticalState.WELL:
        return fallen >= limits.fall_db
    return fallen > limits.fall_db - limits.better_db


def turn(before: str, now: OpticalState) -> OpticalTurn | None:
    """What is told. Who is not weak any more, and still less than usual, is not well yet."""
    if now == before or (before == OpticalState.WEAK and now is OpticalState.FALLING):
        return None
    return OpticalTurn.RECOVERED if now is OpticalState.WELL else OpticalTurn(now.value)


def usual_of(hours: Sequence[float]) -> float | None:
    """From one value of each hour of a week: the middle one, which a bad day does not move."""
    return round(median(hours), _DIGITS) if len(hours) >= FEWEST_HOURS else None
