"""Status of an OLT: the one answer for pages, lists, API, command line and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from facho.core.reasons import NO_REASON, Reason


class OltStatus(StrEnum):
    """Ordered for lists, from what needs a person first to what needs nobody."""

    UNREACHABLE = "unreachable"
    SUSPENDED = "suspended"
    FAILING = "failing"
    # It answers, but too many requests time out or too many executions fail.
    DEGRADED = "degraded"
    # Its tasks need more time than there is.
    OVERLOADED = "overloaded"
    FINE = "fine"
    NEVER_ASKED = "never_asked"
    MAINTENANCE = "maintenance"
    DISABLED = "disabled"


TROUBLE: Final = (
    OltStatus.UNREACHABLE,
    OltStatus.SUSPENDED,
    OltStatus.FAILING,
    OltStatus.DEGRADED,
    OltStatus.OVERLOADED,
)
# Shares of the last hour from which an OLT is degraded, and numbers below which a share means nothing.
_TIMEOUT_SHARE: Final = 0.02
_FEWEST_TIMEOUTS: Final = 20
_FAILED_SHARE: Final = 0.1
_FEWEST_FAILED: Final = 2


def olt_status(
    *,
    enabled: bool,
    maintained: bool,
    suspended: bool,
    reachable: bool | None,
    failed_in_a_row: int,
    degraded: bool = False,
    overloaded: bool = False,
) -> OltStatus:
    """Return the status of an OLT. `reachable` is None before it was ever asked.

    Suspended wins over unreachable: a suspended OLT is not asked, so its reachability is old.
    """
    if not enabled:
        return OltStatus.DISABLED
    if maintained:
        return OltStatus.MAINTENANCE
    if suspended:
        return OltStatus.SUSPENDED
    if reachable is False:
        return OltStatus.UNREACHABLE
    if failed_in_a_row > 0:
        return OltStatus.FAILING
    if reachable is None:
        return OltStatus.NEVER_ASKED
    if degraded:
        return OltStatus.DEGRADED
    return OltStatus.OVERLOADED if overloaded else OltStatus.FINE


@dataclass(frozen=True, slots=True)
class LastHour:
    """What became of the requests and executions of an OLT in the last hour."""

    requests: int
    timeouts: int
    succeeded: int
    failed: int

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed


def degraded_reason(hour: LastHour) -> Reason:
    """Return why the OLT is degraded; empty if it is not."""
    if hour.failed >= _FEWEST_FAILED and hour.failed >= _FAILED_SHARE * hour.ended:
        return Reason.of("many_failures", failed=hour.failed, ended=hour.ended)
    if hour.timeouts >= _FEWEST_TIMEOUTS and hour.timeouts >= _TIMEOUT_SHARE * hour.requests:
        return Reason.of("many_timeouts", timeouts=hour.timeouts, requests=hour.requests)
    return NO_REASON


def overloaded_reason(minutes: float) -> Reason:
    """Return why an OLT is overloaded whose tasks, of so many minutes per hour, do not fit."""
    return Reason.of("more_work_than_fits", minutes=round(minutes, 1))


def down_since(unreachable_since: datetime | None, suspended_at: datetime | None) -> datetime | None:
    """Return when an OLT stopped answering. Its suspension comes later, and does not move that moment."""
    return unreachable_since or suspended_at
