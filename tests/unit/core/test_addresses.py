"""Whose request it is, and when somebody may try again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.addresses import client_address, is_local_target, is_trusted, throttle_key
from facho.core.login_limit import blocked_until

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
        # As a web that listens on IPv6 and IPv4 alike is told of a proxy.
        ("::ffff:10.0.0.5", "192.0.2.7", ("10.0.0.5",), "192.0.2.7"),
        # No proxy has an address; nobody is believed.
        ("", "192.0.2.7", ("0.0.0.0/0",), "?"),
        ("::1", "<script>", ("::1",), "?"),
        ("::ffff:192.0.2.7", "", (), "192.0.2.7"),
        ("::1", f"fe80::7%{'a' * 300}", ("::1",), "fe80::7"),
    ],
)
def test_only_a_trusted_proxy_says_who_asks(
    peer: str, forwarded_for: str, trusted: tuple[str, ...], found: str
) -> None:
    assert client_address(peer, forwarded_for, trusted) == found


@pytest.mark.parametrize(
    ("peer", "trusted", "believed"),
    [
        ("10.0.0.5", (), False),
        ("10.0.0.5", ("10.0.0.6", "10.0.1.0/24"), False),
        ("10.0.0.5", ("10.0.0.6", "10.0.0.0/24"), True),
        ("::ffff:10.0.0.5", ("10.0.0.5",), True),
        ("", ("0.0.0.0/0", "::/0"), False),
    ],
)
def test_a_proxy_is_trusted_by_the_address_that_it_connects_from(
    peer: str, trusted: tuple[str, ...], believed: bool
) -> None:
    assert is_trusted(peer, trusted) is believed


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
    assert throttle_key(address) == counted


def test_somebody_may_try_again_when_one_fewer_than_the_most_is_left() -> None:
    times = [NOON + timedelta(minutes=minute) for minute in range(4)]
    assert blocked_until(times[:3], 3, WINDOW) is None
    assert blocked_until(times, 3, WINDOW) == NOON + WINDOW
    # Two at once are refused until two have gone.
    assert blocked_until([*times, times[-1]], 3, WINDOW) == NOON + timedelta(minutes=1) + WINDOW


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.8.9.1", "::1", "[::1]", "0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "fe80::1",
        "fe80::1%eth0", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:127.0.0.1", "::ffff:169.254.1.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254", "100.100.100.200", "localhost", "LOCALHOST.",
        "a.localhost", "127.1", "0x7f000001", "0177.0.0.1",
    ],
)  # fmt: skip
def test_addresses_of_this_machine_its_link_and_of_nobody_in_particular_are_local(host: str) -> None:
    assert is_local_target(host)


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.5",
        "172.16.1.1",
        "192.168.1.1",
        "100.64.0.1",
        "fd12::1",
        "192.0.2.1",
        "hook.example",
        "",
        "10.5",
        "0xa000005",
        # As services write an account.
        "1234",
        "2130706433",
    ],
)
def test_networks_of_the_operators_own_and_names_are_not_local(host: str) -> None:
    assert not is_local_target(host)
