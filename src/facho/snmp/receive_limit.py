"""Limits what one agent may send for one execution, so that none can fill the memory of the process.

The limits are far above what the largest OLTs have (some 33,000 ONUs, and about 30 MB of answers when all is
asked at once). Adding one page to a column of this many rows takes less than 10 ms, also when the dictionary
of its rows grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_ROWS: Final = 150_000
MOST_OCTETS: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class ReceiveLimit:
    """The most rows of one column and octets of all answers; shared by the conversations of an execution."""

    rows: int = MOST_ROWS
    octets: int = MOST_OCTETS
    received: int = 0

    @property
    def is_exceeded(self) -> bool:
        return self.received > self.octets
