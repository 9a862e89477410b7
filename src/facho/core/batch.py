"""Size of GET batches: how many ONUs at once, and how few after a failure.

A batch that fails is asked again in smaller ones, down to single ONUs, so that one bad ONU costs only itself
and can be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
