"""How much the simulated fleet can serve per second of its own CPU, and how much memory a large one takes."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from facho.sim.fleet import FleetConfig
from facho.sim.olt import Address
from facho.sim.process import FleetProcess
from facho.sim.wire import GET_BULK, encode_request
from facho.snmp import ber
from facho.snmp.values import Oid

# Serial, description, state, distance, last cause, and three columns of the optics table.
HUAWEI_COLUMNS: Final = tuple(
    Oid.parse(f"1.3.6.1.4.1.2011.6.128.1.1.2.{column}").content
    for column in ("43.1.3", "43.1.9", "46.1.15", "46.1.20", "46.1.24", "51.1.3", "51.1.4", "51.1.6")
)
_HEADER: Final = b"\x02\x01\x01\x04\x06public"


@dataclass(frozen=True, slots=True)
class ServingSpeed:
    answers: int
    varbinds: int
    cpu_s: float
    wall_s: float

    @property
    def answers_per_cpu_s(self) -> float:
        return self.answers / self.cpu_s

    @property
    def cpu_us_per_answer(self) -> float:
        return self.cpu_s / self.answers * 1e6


@dataclass(frozen=True, slots=True)
class Footprint:
    olts: int
    onus: int
    columns: int
    rss_bytes: int
    build_cpu_s: float


def measure_speed(
    seconds: float = 5.0, *, olts: int = 10, onus: int = 4000, repetitions: int = 50
) -> ServingSpeed:
    """Asks from this process, some requests always on their way; only the fleet's own process is counted."""
    with FleetProcess(FleetConfig(olts=olts, onus=onus), prebuilt=True) as fleet:
        requests = _walk_requests(fleet.addresses, onus, repetitions)
        before, started = fleet.report(), time.monotonic()
        _load(requests, seconds)
        wall = time.monotonic() - started
        after = fleet.report()
    answers = after.total.answers - before.total.answers
    varbinds = after.total.varbinds - before.total.varbinds
    return ServingSpeed(answers, varbinds, after.cpu_s - before.cpu_s, wall)


def measure_memory(olts: int = 250, onus: int = 4000) -> Footprint:
    """Resident memory once eight columns of every OLT have been asked for."""
    with FleetProcess(FleetConfig(olts=olts, onus=onus)) as fleet:
        requests = [
            (_request(number + 1, column, 1), address)
            for address in fleet.addresses
            for number, column in enumerate(HUAWEI_COLUMNS)
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(10.0)
            for datagram, address in requests:
                client.sendto(datagram, address)
                client.recv(65535)
        report = fleet.report()
    return Footprint(olts, onus, len(HUAWEI_COLUMNS), report.max_rss_bytes, report.cpu_s)


def _walk_requests(
    addresses: tuple[Address, ...], onus: int, repetitions: int
) -> list[tuple[bytes, Address]]:
    """Every request of a walk of the columns, on every OLT, from the rows that walks really ask from."""
    per_port = FleetConfig().onus_per_port
    starts = [b""]
    for row in range(repetitions - 1, onus - repetitions, repetitions):
        port, onu = divmod(row, per_port)
        starts.append(ber.encode_arcs((0xFA00_0000 | _slot(port) << 13 | port % 16 << 8, onu)))
    ids = iter(range(1, 0x7FFF_FFFF))
    return [
        (_request(next(ids), column + start, repetitions), address)
        for start in starts
        for column in HUAWEI_COLUMNS
        for address in addresses
    ]


def _slot(port: int) -> int:
    board = port // 16
    return board + 1 if board < 8 else board + 3


def _request(request_id: int, oid: bytes, repetitions: int) -> bytes:
    return ber.encode_tlv(ber.SEQUENCE, _HEADER + encode_request(GET_BULK, request_id, 0, repetitions, [oid]))


def _load(requests: list[tuple[bytes, Address]], seconds: float, in_flight: int = 32) -> None:
    endless = cycle(requests)
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        client.settimeout(1.0)
        for _ in range(in_flight):
            client.sendto(*next(endless))
        while time.monotonic() < deadline:
            client.recv(65535)
            client.sendto(*next(endless))
