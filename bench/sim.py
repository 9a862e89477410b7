"""Measure what the simulated fleet serves per CPU-second, and the memory of a large one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Final

import typer

from bench.harness import AsJson, Note, run_benchmark
from facho.sim.fleet import FleetConfig
from facho.sim.olt import Address
from facho.sim.pdu import GET, GET_BULK, encode_request
from facho.sim.process import FleetProcess
from facho.snmp import values
from facho.snmp.values import Oid

# Serial, description, state, distance, last cause, and three columns of the optics table.
HUAWEI_COLUMNS: Final = tuple(
    Oid.parse(f"1.3.6.1.4.1.2011.6.128.1.1.2.{column}").content
    for column in ("43.1.3", "43.1.9", "46.1.15", "46.1.20", "46.1.24", "51.1.3", "51.1.4", "51.1.6")
)
# Five columns of the optics table.
_OPTICS: Final = tuple(
    Oid.parse(f"1.3.6.1.4.1.2011.6.128.1.1.2.51.1.{column}").content for column in (1, 3, 4, 5, 6)
)
_ROWS: Final = 50
# Names in one GET.
_NAMES: Final = (20, 60)
_HEADER: Final = b"\x02\x01\x01\x04\x06public"

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench sim`  what the simulated fleet can serve, and the memory of a large one

`facho bench sim --json`
"""


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


@dataclass(frozen=True, slots=True)
class Result:
    speed: ServingSpeed
    # By the number of names in a request.
    gets: Mapping[int, ServingSpeed]
    memory: Footprint

    def as_json(self) -> dict[str, Any]:
        return {
            "answers_per_cpu_second": round(self.speed.answers_per_cpu_s),
            "get_values_per_cpu_second": {
                names: round(speed.varbinds / speed.cpu_s) for names, speed in self.gets.items()
            },
            "memory_bytes": self.memory.rss_bytes,
            "build_cpu_seconds": round(self.memory.build_cpu_s, 1),
        }

    def print(self) -> None:
        memory = self.memory
        typer.echo(f"{self.speed.answers_per_cpu_s:,.0f} GETBULK answers of 50 values per CPU-second")
        for names, speed in self.gets.items():
            typer.echo(f"{speed.answers_per_cpu_s:,.0f} GET answers of {names} values per CPU-second")
        size = f"{memory.olts} OLTs x {memory.onus:,} ONUs x {memory.columns} columns"
        typer.echo(
            f"{memory.rss_bytes / 2**20:,.0f} MiB for {size}, built in {memory.build_cpu_s:.1f} CPU-seconds"
        )


@app.command(epilog=_EXAMPLES)
def sim(as_json: AsJson = False) -> None:
    """Measure the simulated fleet itself: it must be faster than what is measured with it."""
    run_benchmark(measure, as_json=as_json)


def measure(note: Note) -> Result:
    note("serving GETBULK requests for 50 rows")
    speed = measure_speed(_walk_requests, _ROWS)
    gets = {}
    for names in _NAMES:
        note(f"serving GET requests for {names} values")
        gets[names] = measure_speed(_get_requests, names)
    note("building 250 OLTs of 4,000 ONUs")
    return Result(speed, gets, measure_memory())


def measure_speed(
    requests_of: Callable[[tuple[Address, ...], int, int], list[tuple[bytes, Address]]],
    values_in_answer: int,
    seconds: float = 5.0,
    *,
    olts: int = 10,
    onus: int = 4000,
) -> ServingSpeed:
    """Send requests from this process, several in flight; only the CPU of the fleet's process is counted."""
    with FleetProcess(FleetConfig(olts=olts, onus=onus), prebuilt=True) as fleet:
        requests = requests_of(fleet.addresses, onus, values_in_answer)
        before, started = fleet.report(), time.monotonic()
        _load(requests, seconds)
        wall = time.monotonic() - started
        after = fleet.report()
    answers = after.total.answers - before.total.answers
    varbinds = after.total.varbinds - before.total.varbinds
    return ServingSpeed(answers, varbinds, after.cpu_s - before.cpu_s, wall)


def measure_memory(olts: int = 250, onus: int = 4000) -> Footprint:
    """Measure resident memory after eight columns of every OLT have been asked for."""
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
    """Return every request of a walk of the columns, on every OLT, starting at the rows of a real walk."""
    starts = [b"", *map(_index, range(repetitions - 1, onus - repetitions, repetitions))]
    ids = iter(range(1, 0x7FFF_FFFF))
    return [
        (_request(next(ids), column + start, repetitions), address)
        for start in starts
        for column in HUAWEI_COLUMNS
        for address in addresses
    ]


def _get_requests(addresses: tuple[Address, ...], onus: int, names: int) -> list[tuple[bytes, Address]]:
    """Return requests for five columns of some ONUs each, for all ONUs of every OLT."""
    every = [column + _index(row) for row in range(onus) for column in _OPTICS]
    ids = iter(range(1, 0x7FFF_FFFF))
    return [
        (_message(encode_request(GET, next(ids), 0, 0, every[start : start + names])), address)
        for start in range(0, len(every) - names, names)
        for address in addresses
    ]


def _index(row: int) -> bytes:
    port, onu = divmod(row, FleetConfig().onus_per_port)
    return values.encode_arcs((0xFA00_0000 | _slot(port) << 13 | port % 16 << 8, onu))


def _slot(port: int) -> int:
    board = port // 16
    return board + 1 if board < 8 else board + 3


def _request(request_id: int, oid: bytes, repetitions: int) -> bytes:
    return _message(encode_request(GET_BULK, request_id, 0, repetitions, [oid]))


def _message(pdu: bytes) -> bytes:
    return values.encode_tlv(values.SEQUENCE, _HEADER + pdu)


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
