"""Weak or falling optical power of an ONU, and its recovery."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

# Fewer hours with a value than this give no baseline.
FEWEST_HOURS: Final = 24
# Fewer powers than this have no middle half.
FEWEST_POWERS: Final = 4
# Powers are reported in hundredths; rounding removes floating-point noise from comparisons.
_DIGITS: Final = 2


class OpticalState(enum.StrEnum):
    # Also for an ONU without a measurement.
    WELL = ""
    WEAK = "weak"
    FALLING = "falling"


class OpticalChange(enum.StrEnum):
    WEAK = "weak"
    FALLING = "falling"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Limits:
    weak_dbm: float = -27.0
    # Below its baseline.
    fall_db: float = 3.0
    # Hysteresis: an ONU recovers only this far above the limit, or it would flap at the limit.
    better_db: float = 1.0

    @property
    def recovered_dbm(self) -> float:
        """From which power on an ONU that was weak is not weak any more."""
        return self.weak_dbm + self.better_db


def has_weak_power(state: str) -> bool:
    """Return whether an ONU counts as weak: below the limit, or well below its usual power.

    The judgement of the last collection counts, not a comparison with the limit: an ONU recovers only some
    way above it.
    """
    return state != OpticalState.WELL


def judge_power(power: float, usual: float | None, before: str, limits: Limits) -> OpticalState:
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


def optical_change(before: str, now: OpticalState) -> OpticalChange | None:
    """Return the change to report. From weak to falling is not reported: it has not recovered."""
    if now == before or (before == OpticalState.WEAK and now is OpticalState.FALLING):
        return None
    return OpticalChange.RECOVERED if now is OpticalState.WELL else OpticalChange(now.value)


def is_below(power: float, limit: float) -> bool:
    return round(power, _DIGITS) < limit


def power_difference(power: float | None, others: float | None) -> float | None:
    """Return by how many dB a power is above that of others; below 0 it is weaker."""
    return None if power is None or others is None else round(power - others, _DIGITS)


def middle_half(powers: Sequence[float]) -> tuple[float, float] | None:
    """Return between which powers half of them are; None for fewer than four."""
    if len(powers) < FEWEST_POWERS:
        return None
    low, _middle, high = quantiles(powers, method="inclusive")
    return low, high


def baseline_of(hours: Sequence[float]) -> float | None:
    """Return the baseline: the median of one value per hour of a week, which a bad day does not move."""
    return round(median(hours), _DIGITS) if len(hours) >= FEWEST_HOURS else None
