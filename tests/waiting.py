"""Waiting for a condition, never for a time: how long it takes says something about the machine only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

# Generous, because it costs nothing when the condition comes: a busy machine may be very slow.
PATIENCE_S: Final = 120.0
_POLL_S: Final = 0.05


def wait_until(
    true: Callable[[], object], seconds: float = PATIENCE_S, what: str | Callable[[], str] = "a condition"
) -> float:
    """Return after how many seconds the condition came true; fail with `what` if it does not."""
    began = time.monotonic()
    if not comes_true(true, seconds):
        raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
    return time.monotonic() - began


def comes_true(true: Callable[[], object], seconds: float) -> bool:
    """Whether it comes true in that time: for those who try again if it does not."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True
