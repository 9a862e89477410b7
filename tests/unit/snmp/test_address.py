"""What a person may write as an address."""

from __future__ import annotations

import pytest

from facho.snmp.errors import AddressError
from facho.snmp.transport import address_name, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ("10.0.0.1", 161)),
        ("10.0.0.1:1161", ("10.0.0.1", 1161)),
        (" olt-7.example ", ("olt-7.example", 161)),
        ("olt-7:65535", ("olt-7", 65535)),
        ("2001:db8::7", ("2001:db8::7", 161)),
        ("[2001:db8::7]", ("2001:db8::7", 161)),
        ("[2001:db8::7]:1161", ("2001:db8::7", 1161)),
    ],
)
def test_an_address_is_a_host_and_perhaps_a_port(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not an address"),
        ("olt 7", "is not an address"),
        (":161", "is not an address"),
        ("olt:", "no port after the colon"),
        ("olt:snmp", "'snmp' is not a port number"),
        ("olt:0", "port 0 is not between 1 and 65535"),
        ("olt:65536", "port 65536 is not between"),
        ("[::1", "write [ADDRESS]:PORT"),
        ("[::1]161", "write [ADDRESS]:PORT"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert said in str(caught.value)


def test_an_address_is_named_as_it_would_be_written() -> None:
    assert address_name(("10.0.0.1", 161)) == "10.0.0.1:161"
    assert address_name(("::1", 161, 0, 0)) == "[::1]:161"
