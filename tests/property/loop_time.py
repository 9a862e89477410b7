"""How long work occupies the SNMP loop, which all agents of a process share.

What is measured is CPU time, and of many tries the best counts. A machine that is slower than the one of the
limit, by nature or because its cores are shared, takes longer for everything: its times are divided by how
much longer it takes for a fixed piece of work, measured right afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")

LONGEST_S: Final = 0.010
TRIES: Final = 20
REFERENCE_S: Final = 0.010
"""What `_reference_work` takes on the machine that `LONGEST_S` is meant for."""


def cpu_time(work: Callable[[], object]) -> float:
    """Return the CPU time of the best of several tries, as on the reference machine."""
    best = float("inf")
    for _ in range(TRIES):
        spent = _time_of(work)
        best = min(best, spent if spent < LONGEST_S else spent / slowness())
        if best < LONGEST_S:
            break
    return best


def slowness() -> float:
    """How many times longer than the reference machine this one takes now; 1 where it is faster."""
    return max(1.0, _time_of(_reference_work) / REFERENCE_S)


def run_in_time(work: Callable[[], Result]) -> Result:
    """Run it once, and again only when it took too long: then it must be quick in one of the tries."""
    started = time.thread_time()
    result = work()
    if time.thread_time() - started >= LONGEST_S:
        assert cpu_time(work) < LONGEST_S
    return result


def _time_of(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _reference_work() -> list[tuple[bytes, int, int]]:
    """Cut, search and convert octets, as reading a datagram does."""
    data = bytes(range(256)) * 80
    return [
        (data[start : start + 8], int.from_bytes(data[start : start + 4]), data.find(b"\x10", start))
        for start in range(20_000)
    ]
