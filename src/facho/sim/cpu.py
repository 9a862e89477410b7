"""The single, slow CPU of an OLT's agent: when would it be done with this request, if it takes it at all?"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

# The loop's timers may be early by so much. Who has an answer in hand must not be told that it is not ready.
_TIMER_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class CpuCosts:
    request_s: float
    varbind_s: float
    optics_s: float
    # Requests that may wait, the one being worked on included; 0 is no limit.
    queue: int

    def of(self, varbinds: int, optics: int) -> float:
        return self.request_s + varbinds * self.varbind_s + optics * self.optics_s


class VirtualCpu:
    """Works on one request after the other. It burns no real time: it only says when."""

    def __init__(self, costs: CpuCosts) -> None:
        self._costs = costs
        self._free_at = 0.0
        self._finishing: deque[float] = deque()

    def admit(self, now: float, varbinds: int, optics: int) -> float | None:
        """When the answer is ready, or None when the queue is full and the request is dropped."""
        finishing = self._finishing
        while finishing and finishing[0] <= now + _TIMER_S:
            finishing.popleft()
        if self._costs.queue and len(finishing) >= self._costs.queue:
            return None
        self._free_at = max(now, self._free_at) + self._costs.of(varbinds, optics)
        finishing.append(self._free_at)
        return self._free_at
