"""Duration of a task on an OLT where it never ran, from other OLTs or from the requests it needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, NamedTuple

from facho.core.forecast import Predicted

# p95 of a guess relative to its p50; its error is unknown.
_HIGH: Final = 2.0
_SHORTEST_S: Final = 0.05
# Typical latency of an answer from the agent's memory, and of one that it reads from an ONU.
LATENCY_S: Final = 0.05
FROM_ONU_S: Final = 0.25
# Tables of ports, boards and fans are short.
ROWS_OF_CHASSIS: Final = 32


class Pace(NamedTuple):
    """The duration of a task on another OLT: a fixed part and a part for each ONU."""

    fixed_s: float
    per_onu_s: float


@dataclass(frozen=True, slots=True)
class Table:
    """Columns that are asked for in the same way, and how many rows of them come with a request."""

    columns: int
    rows: int
    rows_per_request: float
    latency_s: float = LATENCY_S

    @property
    def requests(self) -> int:
        """Return the number of requests: one more for each column, to see its end."""
        return self.columns * (math.ceil(self.rows / max(self.rows_per_request, 0.01)) + 1)


def guess_from_others(paces: Sequence[Pace], onus: int) -> Predicted:
    """Return the median over other OLTs; p95 is the slowest of them unless there are many."""
    seconds = sorted(pace.fixed_s + onus * pace.per_onu_s for pace in paces)
    guessed = _as_guess(median(seconds))
    slow_s = seconds[min(len(seconds) * 95 // 100, len(seconds) - 1)]
    return replace(guessed, p95_s=max(guessed.p95_s, slow_s))


def guess_from_requests(
    tables: Iterable[Table], in_flight: int, most_per_second: float | None = None
) -> Predicted:
    every = list(tables)
    seconds = sum(table.requests * table.latency_s for table in every) / max(in_flight, 1)
    if most_per_second:
        seconds = max(seconds, sum(table.requests for table in every) / most_per_second)
    return _as_guess(seconds)


def _as_guess(seconds: float) -> Predicted:
    p50_s = max(seconds, _SHORTEST_S)
    return Predicted(p50_s, p50_s * _HIGH, sure=False)
