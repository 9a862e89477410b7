"""Status of an OLT: the one answer for pages, lists, API, command line and metrics."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final


class OltStatus(StrEnum):
    """Ordered for lists, from what needs a person first to what needs nobody."""

    UNREACHABLE = "unreachable"
    SUSPENDED = "suspended"
    FAILING = "failing"
    FINE = "fine"
    NEVER_ASKED = "never_asked"
    MAINTENANCE = "maintenance"
    DISABLED = "disabled"


TROUBLE: Final = (OltStatus.UNREACHABLE, OltStatus.SUSPENDED, OltStatus.FAILING)


def olt_status(
    *, enabled: bool, maintained: bool, suspended: bool, reachable: bool | None, failed_in_a_row: int
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
    return OltStatus.NEVER_ASKED if reachable is None else OltStatus.FINE


def down_since(unreachable_since: datetime | None, suspended_at: datetime | None) -> datetime | None:
    """Return when an OLT stopped answering. Its suspension comes later, and does not move that moment."""
    return unreachable_since or suspended_at
