"""What follows a failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.retry import Exhausted, RetryAt, after_failure, probe_after

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
DELAY: Final = timedelta(seconds=120)


@pytest.mark.parametrize(
    ("attempt", "most", "expected"),
    [
        pytest.param(1, 3, RetryAt(NOW + DELAY), id="the first of three failed"),
        pytest.param(2, 3, RetryAt(NOW + DELAY), id="the second of three failed"),
        pytest.param(3, 3, Exhausted(), id="the last failed"),
        pytest.param(1, 1, Exhausted(), id="the only one failed"),
        pytest.param(5, 3, Exhausted(), id="the limit was lowered meanwhile"),
    ],
)
def test_another_attempt_or_none(attempt: int, most: int, expected: RetryAt | Exhausted) -> None:
    assert after_failure(attempt, most, DELAY, NOW) == expected


@pytest.mark.parametrize(
    ("failed_probes", "minutes"), [(0, 1), (1, 5), (2, 15), (3, 60), (4, 60), (1000, 60)]
)
def test_a_silent_device_is_probed_ever_more_rarely_and_then_hourly(failed_probes: int, minutes: int) -> None:
    assert probe_after(failed_probes) == timedelta(minutes=minutes)
