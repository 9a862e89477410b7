"""Asks a simulated OLT without a network between: what goes in and what comes out are still datagrams."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from facho.sim.fleet import Fleet, FleetConfig
from facho.sim.olt import SimulatedOlt
from facho.sim.pdu import GET, GET_BULK, GET_NEXT, RESPONSE, encode_request, parse_pdu
from facho.sim.scenario import Scenario
from facho.snmp import values
from facho.snmp.values import Missing, Oid, Value, decode_value

V1, V2C = 0, 1
HUAWEI = "1.3.6.1.4.1.2011.6.128.1.1"
SERIAL = f"{HUAWEI}.2.43.1.3"
DESCRIPTION = f"{HUAWEI}.2.43.1.9"
RUN_STATUS = f"{HUAWEI}.2.46.1.15"
DISTANCE = f"{HUAWEI}.2.46.1.20"
RX_POWER = f"{HUAWEI}.2.51.1.4"
UP_BYTES = f"{HUAWEI}.4.23.1.3"
DOWN_BYTES = f"{HUAWEI}.4.23.1.4"
UPTIME = "1.3.6.1.2.1.1.3.0"
PORT = 0xFA00_0000 | 1 << 13


@dataclass
class Clock:
    """The OLTs' time, moved by hand."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Said:
    """An answer, read."""

    request_id: int
    status: int
    index: int
    rows: list[tuple[str, Value]]
    size: int

    @property
    def oids(self) -> list[str]:
        return [oid for oid, _ in self.rows]

    @property
    def values(self) -> list[Value]:
        return [value for _, value in self.rows]


class Wire(asyncio.DatagramTransport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def sendto(self, data: Any, addr: Any = None) -> None:
        self.sent.append(data)

    def is_closing(self) -> bool:
        return False


def make_olt(
    scenario: Scenario | None = None, *, clock: Clock | None = None, **config: Any
) -> tuple[SimulatedOlt, Wire]:
    settings = FleetConfig(**{"onus": 100, **config, "scenario": scenario or Scenario()})
    olt = Fleet(settings, clock or Clock()).olts[0]
    wire = Wire()
    olt._transport = wire
    return olt, wire


class Asker:
    def __init__(self, scenario: Scenario | None = None, **config: Any) -> None:
        self.clock = Clock()
        self.olt, self.wire = make_olt(scenario, clock=self.clock, **config)
        self._ids = iter(range(1, 1 << 16))

    def ask(
        self,
        tag: int,
        oids: Sequence[str],
        first: int = 0,
        second: int = 0,
        *,
        version: int = V2C,
        community: bytes = b"public",
        request_id: int | None = None,
    ) -> Said | None:
        contents = [Oid.parse(oid).content for oid in oids]
        identity = next(self._ids) if request_id is None else request_id
        pdu = encode_request(tag, identity, first, second, contents)
        self.wire.sent.clear()
        self.olt.datagram_received(message(pdu, version, community), ("127.0.0.1", 9))
        return read(self.wire.sent[-1]) if self.wire.sent else None

    def answer(self, tag: int, oids: Sequence[str], first: int = 0, second: int = 0, **how: Any) -> Said:
        said = self.ask(tag, oids, first, second, **how)
        assert said is not None, "the OLT kept silent"
        return said

    def get(self, *oids: str, **how: Any) -> Said:
        return self.answer(GET, oids, **how)

    def next(self, *oids: str, **how: Any) -> Said:
        return self.answer(GET_NEXT, oids, **how)

    def bulk(self, *oids: str, repetitions: int = 10, singles: int = 0, **how: Any) -> Said:
        return self.answer(GET_BULK, oids, singles, repetitions, **how)

    def walk(self, column: str, repetitions: int = 25, requests: int = 100) -> list[tuple[str, Value]]:
        """What a simple walker gets: the rows under a column, one GETBULK after another."""
        rows: list[tuple[str, Value]] = []
        at = column
        for _ in range(requests):
            said = self.bulk(at, repetitions=repetitions)
            inside = [row for row in said.rows if row[0].startswith(column + ".")]
            rows += inside
            if len(inside) < len(said.rows):
                return rows
            at = said.oids[-1]
        return rows

    def everything(self, repetitions: int = 50) -> list[tuple[str, Value]]:
        rows: list[tuple[str, Value]] = []
        while not rows or rows[-1][1] is not Missing.END_OF_MIB_VIEW:
            rows += self.bulk(rows[-1][0] if rows else "0.0", repetitions=repetitions).rows
        return rows[:-1]


def message(pdu: bytes, version: int = V2C, community: bytes = b"public") -> bytes:
    header = values.encode_integer(version) + values.encode_tlv(values.OCTET_STRING, community)
    return values.encode_tlv(values.SEQUENCE, header + pdu)


def read(datagram: bytes) -> Said:
    start, end = values.expect_tlv(datagram, 0, len(datagram), values.SEQUENCE)
    _, _, version_end = values.read_tlv(datagram, start, end)
    _, _, community_end = values.read_tlv(datagram, version_end, end)
    pdu = parse_pdu(datagram, community_end, end)
    assert pdu.tag == RESPONSE
    return Said(pdu.request_id, pdu.first, pdu.second, list(_rows(pdu.varbinds)), len(datagram))


def _rows(varbinds: bytes) -> list[tuple[str, Value]]:
    rows: list[tuple[str, Value]] = []
    at = 0
    while at < len(varbinds):
        start, at = values.expect_tlv(varbinds, at, len(varbinds), values.SEQUENCE)
        name_start, name_end = values.expect_tlv(varbinds, start, at, values.OBJECT_IDENTIFIER)
        tag, value_start, value_end = values.read_tlv(varbinds, name_end, at)
        value = decode_value(tag, varbinds[value_start:value_end])
        rows.append((str(Oid(varbinds[name_start:name_end])), value))
    return rows
