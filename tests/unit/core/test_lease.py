"""For how long an execution holds its OLT, also when the clock is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.lease import LENGTH, RENEW_EVERY, SEND_FOR, is_expired, send_deadline

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
INSTANT: Final = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("expires_at", "expired"),
    [
        pytest.param(None, True, id="nobody ever held it"),
        pytest.param(NOW + LENGTH, False, id="just renewed"),
        pytest.param(NOW + INSTANT, False, id="in its last instant"),
        pytest.param(NOW, True, id="at its end"),
        pytest.param(NOW - timedelta(days=3), True, id="the holder died long ago"),
        pytest.param(
            NOW + LENGTH + INSTANT, True, id="further ahead than any renewal: the clock was set back"
        ),
        pytest.param(NOW + timedelta(days=3), True, id="the clock was set back by days"),
    ],
)
def test_a_lease_that_nobody_holds(expires_at: datetime | None, expired: bool) -> None:
    assert is_expired(expires_at, NOW) is expired


def test_a_lease_of_another_length() -> None:
    assert is_expired(NOW + timedelta(seconds=20), NOW, length=timedelta(seconds=2))
    assert not is_expired(NOW + timedelta(seconds=2), NOW, length=timedelta(seconds=2))


def test_the_holder_stops_sending_before_another_may_start() -> None:
    asked_at = 1000.0
    # However long the renewal took, the database counted its length from later on.
    assert send_deadline(asked_at) == 1015.0
    assert send_deadline(asked_at) < asked_at + LENGTH.total_seconds()


def test_a_renewal_may_fail_twice_before_sending_stops() -> None:
    assert 2 * RENEW_EVERY < SEND_FOR
