"""Whose request it is, and when somebody may try again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.addresses import client_address, counted_as
from facho.core.attempts import refused_until

NOON = datetime(2025, 6, 10, 12, 0, tzinfo=UTC)
WINDOW = timedelta(minutes=15)


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "trusted", "found"),
    [
        ("10.0.0.5", "", (), "10.0.0.5"),
        # Whoever is not believed is it themselves, whatever they say.
        ("10.0.0.5", "192.0.2.7", (), "10.0.0.5"),
        ("10.0.0.5", "192.0.2.7", ("10.0.0.6",), "10.0.0.5"),
        ("10.0.0.5", "192.0.2.7", ("10.0.0.5",), "192.0.2.7"),
        ("10.0.0.5", "1.1.1.1, 192.0.2.7", ("10.0.0.0/24",), "192.0.2.7"),
        ("10.0.0.5", "1.1.1.1, 192.0.2.7, 10.0.0.9", ("10.0.0.0/24",), "192.0.2.7"),
        ("10.0.0.5", "", ("10.0.0.0/24",), "10.0.0.5"),
        ("::1", "2001:db8::7", ("::1",), "2001:db8::7"),
    ],
)
def test_only_a_trusted_proxy_says_who_asks(
    peer: str, forwarded_for: str, trusted: tuple[str, ...], found: str
) -> None:
    assert client_address(peer, forwarded_for, trusted) == found


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("<script>", "?"),
        ("", "?"),
    ],
)
def test_a_household_is_counted_as_one(address: str, counted: str) -> None:
    assert counted_as(address) == counted


def test_somebody_may_try_again_when_one_fewer_than_the_most_is_left() -> None:
    times = [NOON + timedelta(minutes=minute) for minute in range(4)]
    assert refused_until(times[:3], 3, WINDOW) is None
    assert refused_until(times, 3, WINDOW) == NOON + WINDOW
    # Two at once are refused until two have gone.
    assert refused_until([*times, times[-1]], 3, WINDOW) == NOON + timedelta(minutes=1) + WINDOW
