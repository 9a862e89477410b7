"""How an OLT is asked: size of GET batches, pace while its CPU is busy, columns that it does not have.

A batch that fails is asked again in smaller ones, down to single ONUs, so that one bad ONU costs only itself
and can be named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

SIZES: Final = (200, 50, 1)
MOST_UNANSWERED: Final = 0.20

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    if size < 1:
        raise ValueError(f"a batch of {size} would ask for nothing")
    for start in range(0, len(items), size):
        yield items[start : start + size]


def smaller_batch(size: int, *, sizes: Sequence[int] = SIZES) -> int | None:
    """Return the batch size after a batch of `size` failed, None if it cannot be divided."""
    return max((each for each in sizes if each < size), default=None)


def too_many_unanswered(asked: int, unanswered: int, *, most: float = MOST_UNANSWERED) -> bool:
    """Return whether too many ONUs did not answer. Asking for none is no failure: an OLT may be empty."""
    return asked > 0 and unanswered / asked > most


GENTLE_ABOVE: Final = 80.0
SKIP_GETS_ABOVE: Final = 90.0
KNOWN_FOR: Final = timedelta(minutes=10)


class RequestPace(Enum):
    NORMAL = "normal"
    ONE_AT_A_TIME = "one_at_a_time"
    # GETs are skipped; everything else is asked one request at a time.
    SKIP_GETS = "skip_gets"


def request_pace(
    cpu_pct: float | None,
    read_at: datetime | None,
    now: datetime,
    *,
    gentle_above: float = GENTLE_ABOVE,
    skip_above: float = SKIP_GETS_ABOVE,
    known_for: timedelta = KNOWN_FOR,
) -> RequestPace:
    """Return the pace for the last CPU reading, if that is recent.

    An old reading is ignored: an OLT that is skipped is not read either, and would be skipped for ever. So is
    one from the future, taken before the clock was set back.
    """
    if cpu_pct is None or read_at is None or abs(now - read_at) > known_for:
        return RequestPace.NORMAL
    if cpu_pct > skip_above:
        return RequestPace.SKIP_GETS
    return RequestPace.ONE_AT_A_TIME if cpu_pct > gentle_above else RequestPace.NORMAL


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
