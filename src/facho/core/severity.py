"""Severity of a quota violation."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

from facho.core.quota import MET_PERCENT, is_met


class Severity(enum.StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


# The order of severities, the least first.
RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def severity_of(required: int, completed: int, *, kept: float = MET_PERCENT) -> Severity | None:
    """Return the severity, None if the quota is met. Exactly 50 % is HIGH, exactly 65 % is MEDIUM."""
    if is_met(required, completed, kept=kept):
        return None
    percent = completed * 100
    if percent < 25 * required:
        return Severity.CRITICAL
    if percent <= 50 * required:
        return Severity.HIGH
    if percent <= 65 * required:
        return Severity.MEDIUM
    return Severity.LOW


def worst_severity(severities: Iterable[Severity | None]) -> Severity | None:
    return max((each for each in severities if each is not None), key=RANKS.__getitem__, default=None)
