"""How an OLT does, in one word: the answer for pages, lists, the API, the command line and the metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class OltStatus(StrEnum):
    """From what needs a person first to what needs nobody: the order of lists."""

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

    A suspended OLT is not asked any more, so that it did not answer is old news: suspended goes first.
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
