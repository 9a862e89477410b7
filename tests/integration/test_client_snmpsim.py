"""The client against snmpsim: an agent by other people, with every type of value that SNMP has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest

from facho.snmp import Client, GetResult, Oid, Target, Value, Version, WalkResult
from facho.snmp.values import (
    Counter32,
    Counter64,
    Gauge32,
    OpaqueDouble,
    OpaqueFloat,
    TimeTicks,
    Unknown,
)
from tests.services.snmpsim import Snmpsim

COLUMN = "1.3.6.1.4.1.99999.1"
# The tag of a .snmprec line, with an x when its value is written in hexadecimal digits.
RECORDED: list[tuple[str, str, Value]] = [
    ("2", "-2147483648", -(2**31)),
    ("2", "2147483647", 2**31 - 1),
    ("4", "An OLT", b"An OLT"),
    ("4", "", b""),
    ("4x", "00ff" * 100, b"\x00\xff" * 100),
    ("5", "", None),
    ("6", "1.3.6.1.4.1.4294967295.0", Oid.parse("1.3.6.1.4.1.4294967295.0")),
    ("64", "192.0.2.1", IPv4Address("192.0.2.1")),
    ("65", "4294967295", Counter32(2**32 - 1)),
    ("66", "4294967295", Gauge32(2**32 - 1)),
    ("67", "4294967295", TimeTicks(2**32 - 1)),
    ("68x", "9f7804c1ac0000", OpaqueFloat(-21.5)),
    ("68x", "9f7908c035800000000000", OpaqueDouble(-21.5)),
    ("68x", "beef", Unknown(0x44, b"\xbe\xef")),
    ("70", "18446744073709551615", Counter64(2**64 - 1)),
]
EXPECTED = {Oid.parse(f"{COLUMN}.{row}"): value for row, (_, _, value) in enumerate(RECORDED, start=1)}


def exactly(values: dict[Oid, Value]) -> dict[Oid, tuple[type, Value]]:
    """Tells Counter32(1) from 1."""
    return {oid: (type(value), value) for oid, value in values.items()}


@pytest.fixture
def agent(snmpsim: Callable[[str], Snmpsim]) -> Snmpsim:
    rows = enumerate(RECORDED, start=1)
    return snmpsim("\n".join(f"{COLUMN}.{row}|{tag}|{text}" for row, (tag, text, _) in rows))


async def read(agent: Snmpsim, version: Version, wanted: dict[Oid, Value]) -> tuple[WalkResult, GetResult]:
    async with Client() as client:
        target = Target(agent.host, agent.community, agent.port, version=version)
        conversation = await client.agent(target)
        return await conversation.walk(Oid.parse(COLUMN)), await conversation.get_many(wanted)


def test_every_type_of_value_is_read_as_it_was_recorded(agent: Snmpsim) -> None:
    walked, got = asyncio.run(read(agent, Version.V2C, EXPECTED))
    assert walked.reason is None
    rows = {Oid(Oid.parse(COLUMN).content + suffix): value for suffix, value in walked.rows.items()}
    assert exactly(rows) == exactly(EXPECTED)
    assert got.complete
    assert exactly(got.values) == exactly(EXPECTED)


def test_version_1_reads_the_types_that_it_has(agent: Snmpsim) -> None:
    of_v1 = {oid: value for oid, value in EXPECTED.items() if not isinstance(value, Counter64)}
    _, got = asyncio.run(read(agent, Version.V1, of_v1))
    assert got.complete
    assert exactly(got.values) == exactly(of_v1)
