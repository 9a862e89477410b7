"""Missing columns of an OLT: left out of requests until the OLT may have them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

# A board for another technology may be plugged in without a restart.
ASK_AGAIN_AFTER: Final = timedelta(days=1)

# Column -> when it was found missing, in ISO 8601.
MissingColumns = Mapping[str, str]


def columns_to_leave_out(
    lacks: MissingColumns, now: datetime, *, again_after: timedelta = ASK_AGAIN_AFTER
) -> frozenset[str]:
    """The columns that are left out. A note from the future was made before the clock was set back."""
    return frozenset(
        column for column, noted in lacks.items() if abs(now - datetime.fromisoformat(noted)) < again_after
    )


def update_missing_columns(
    lacks: MissingColumns, missing: Iterable[str], found: Collection[str], now: datetime, *, renewed: bool
) -> dict[str, str]:
    """Return the missing columns after a collection. A restart or a new version forgets earlier ones."""
    before = {} if renewed else lacks
    kept = {column: noted for column, noted in before.items() if column not in found}
    return kept | dict.fromkeys(sorted(missing), now.isoformat(timespec="seconds"))
