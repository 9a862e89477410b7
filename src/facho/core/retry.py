"""After a failure: the next attempt, or suspension with probes at growing intervals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

PROBE_AFTER: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=60),
)


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again, not earlier than this. The OLT is free meanwhile."""

    not_before: datetime


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No attempt is left; the node is suspended and probed."""


def after_failure(
    attempt: int, max_attempts: int, retry_delay: timedelta, now: datetime
) -> RetryAt | Exhausted:
    """Return what follows the failed `attempt`, counted from 1."""
    return RetryAt(now + retry_delay) if attempt < max_attempts else Exhausted()


def probe_after(failed_probes: int, *, waits: tuple[timedelta, ...] = PROBE_AFTER) -> timedelta:
    """Return the wait before the next probe of a silent device. The last wait repeats."""
    return waits[min(failed_probes, len(waits) - 1)]
