"""Presence of an ONU: absent after several complete discoveries without it."""

from __future__ import annotations

from typing import Final

ABSENT_AFTER: Final = 3


def after_complete_discovery(
    seen: bool, missed: int, *, absent_after: int = ABSENT_AFTER
) -> tuple[int, bool]:
    """Return the number of discoveries in a row that missed the ONU, and whether it is absent.

    Only for complete discoveries: one that broke off says nothing about missing ONUs.
    """
    if seen:
        return 0, False
    return missed + 1, missed + 1 >= absent_after
