"""When an ONU is gone."""

from __future__ import annotations

from typing import Final

ABSENT_AFTER: Final = 3


def after_complete_discovery(
    seen: bool, missed: int, *, absent_after: int = ABSENT_AFTER
) -> tuple[int, bool]:
    """The discoveries in a row that missed an ONU, counting this one, and whether it is absent by now.

    Only for a discovery that read its table to the end. One that broke off says nothing about who is gone.
    """
    if seen:
        return 0, False
    return missed + 1, missed + 1 >= absent_after
