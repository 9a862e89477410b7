"""Compare SNMP clients: the same simulated OLTs and columns, alternating rounds, values per CPU-second.

CPU time is compared and not wall time: it is what limits how many OLTs one machine can collect from, and it
does not count the simulated agents.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from bench.exporter import PROGRAM, running_exporter
from bench.harness import AsJson, MeasurementFailed, Note, run_benchmark, table_of_numbers
from bench.walker import COMMUNITY, USER, Cost, Job
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.usm import AUTH_PASSWORD, PRIV_PASSWORD

Addresses = Sequence[tuple[str, int]]

OLTS: Final = 10
ONUS: Final = 4096
# Serial, description, state, distance and received power: text, octets and numbers, as a collection has them.
COLUMNS: Final = tuple(
    f"1.3.6.1.4.1.2011.6.128.1.1.2.{column}"
    for column in ("43.1.3", "43.1.9", "46.1.15", "46.1.20", "51.1.4")
)

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench snmp`  a table: values per CPU-second of every client that is installed

`facho bench snmp --json`  `values_per_cpu_second` and `ratios`, null for what is not installed; `v3` the same

CPU time counts, wall time does not. Every client walks the same simulated OLTs in turns, at its best setting.
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A client to compare with."""

    name: str
    installed: Callable[[], bool]
    walk: Callable[[Addresses, int], Cost]
    repetitions: tuple[int, ...]
    # How many of the agents it walks in a round; slow clients need not walk them all to show their speed.
    olts: int = OLTS


@dataclass(frozen=True, slots=True)
class Line:
    """One client's result: the setting that was best for it, and its rounds in values per CPU-second."""

    name: str
    repetitions: int
    rounds: tuple[float, ...]

    @property
    def values_per_cpu_second(self) -> float:
        return statistics.median(self.rounds)


@dataclass(frozen=True, slots=True)
class Comparison:
    lines: tuple[Line, ...]
    missing: tuple[str, ...]

    def ratios(self) -> dict[str, float]:
        ours = self.lines[0].values_per_cpu_second
        return {line.name: ours / line.values_per_cpu_second for line in self.lines}

    def as_json(self) -> dict[str, Any]:
        absent: dict[str, float | None] = dict.fromkeys(self.missing)
        return {
            "values_per_cpu_second": {line.name: round(line.values_per_cpu_second) for line in self.lines}
            | absent,
            "ratios": {name: round(ratio, 2) for name, ratio in self.ratios().items()} | absent,
            "repetitions": {line.name: line.repetitions for line in self.lines},
            "rounds": {line.name: [round(speed) for speed in line.rounds] for line in self.lines},
        }

    def print(self, title: str) -> None:
        table = table_of_numbers(
            title, "client", "repetitions", "values per CPU-second", "lowest", "highest", "facho is"
        )
        ratios = self.ratios()
        for line in self.lines:
            numbers = (line.values_per_cpu_second, min(line.rounds), max(line.rounds))
            speeds = (f"{number:,.0f}" for number in numbers)
            table.add_row(line.name, str(line.repetitions), *speeds, f"{ratios[line.name]:.2f} x")
        for name in self.missing:
            table.add_row(name, "", "not installed")
        Console().print(table)


@dataclass(frozen=True, slots=True)
class Result:
    rounds: int
    v2c: Comparison
    v3: Comparison

    def as_json(self) -> dict[str, Any]:
        return self.v2c.as_json() | {"v3": self.v3.as_json()}

    def print(self) -> None:
        work = f"{OLTS} OLTs, {len(COLUMNS)} columns of {ONUS:,} ONUs, {self.rounds} rounds"
        self.v2c.print(f"SNMPv2c: {work}")
        self.v3.print(f"SNMPv3, SHA-256 and AES-128: {work}")


@app.command(epilog=_EXAMPLES)
def snmp(
    rounds: Annotated[int, typer.Option(min=1, help="How often each client walks all OLTs.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Walk ten simulated OLTs with facho and with other SNMP clients, in v2c and in v3."""

    def measure(note: Note) -> Result:
        return Result(rounds, compare(PEERS, rounds, note), compare(V3_PEERS, rounds, note))

    run_benchmark(measure, as_json=as_json)


def compare(peers: Sequence[Peer], rounds: int, note: Note) -> Comparison:
    """Find each peer's best setting, then let them walk in turns."""
    present = [peer for peer in peers if peer.installed()]
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS), prebuilt=True) as fleet:
        best = {peer.name: _best_repetitions(peer, fleet.addresses, note) for peer in present}
        speeds: dict[str, list[float]] = {peer.name: [] for peer in present}
        for number in range(rounds):
            for peer in present:
                note(f"round {number + 1} of {rounds}: {peer.name}")
                speeds[peer.name].append(_speed(peer, fleet.addresses, best[peer.name]))
    lines = tuple(Line(peer.name, best[peer.name], tuple(speeds[peer.name])) for peer in present)
    return Comparison(lines, tuple(peer.name for peer in peers if peer not in present))


def _best_repetitions(peer: Peer, addresses: Addresses, note: Note) -> int:
    found: dict[int, float] = {}
    for repetitions in peer.repetitions:
        note(f"looking for the best setting of {peer.name}: {repetitions} repetitions")
        # Some fail at large answers; that setting is then not their best.
        with contextlib.suppress(WalkFailed):
            found[repetitions] = _speed(peer, addresses, repetitions)
    if not found:
        raise WalkFailed(f"{peer.name} fails at every setting")
    return max(found, key=lambda repetitions: found[repetitions])


def _speed(peer: Peer, addresses: Addresses, repetitions: int) -> float:
    some = addresses[: peer.olts]
    cost = peer.walk(some, repetitions)
    expected = len(some) * len(COLUMNS) * ONUS
    if not expected <= cost.values <= expected * 1.01:
        raise WalkFailed(f"{peer.name} got {cost.values} of {expected} values")
    return cost.values / cost.cpu_s


class WalkFailed(MeasurementFailed):
    """A client did not return the whole table."""


def _with_python(client: str, *, v3: bool = False) -> Callable[[Addresses, int], Cost]:
    def walk(addresses: Addresses, repetitions: int) -> Cost:
        job = Job(client, list(addresses), list(COLUMNS), repetitions, v3)
        done = subprocess.run(
            [sys.executable, "-m", "bench.walker"],
            cwd=Path(__file__).parents[1],
            input=json.dumps(asdict(job)),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise WalkFailed(f"{client}: {done.stderr.strip().rpartition(chr(10))[2]}")
        return Cost(**json.loads(done.stdout))

    return walk


def _with_snmpbulkwalk(*who: str) -> Callable[[Addresses, int], Cost]:
    """Walk with one process for each column of an agent, all at once, without MIBs and without output."""

    def walk(addresses: Addresses, repetitions: int) -> Cost:
        command = ("snmpbulkwalk", *who, "-m", "", "-M", "", "-Onq", f"-Cr{repetitions}", "-t", "10")
        _check_column(command, addresses[0])
        cpu_s = bulkwalk_cpu_s(command, addresses, COLUMNS)
        return Cost(len(addresses) * len(COLUMNS) * ONUS, cpu_s)

    return walk


def bulkwalk_cpu_s(command: Sequence[str], addresses: Addresses, columns: Sequence[str]) -> float:
    """Return the CPU time of `command` for these columns of these agents, one agent after the other."""
    before = _children_cpu_s()
    for host, port in addresses:
        running = [
            subprocess.Popen([*command, f"{host}:{port}", column], stdout=subprocess.DEVNULL)
            for column in columns
        ]
        if max(process.wait() for process in running):
            raise WalkFailed("snmpbulkwalk failed")
    return _children_cpu_s() - before


def _check_column(command: Sequence[str], address: tuple[str, int]) -> None:
    """Check once that the command returns a whole column at this setting; measured runs have no output."""
    host, port = address
    shown = subprocess.run([*command, f"{host}:{port}", COLUMNS[0]], capture_output=True, check=False).stdout
    # A serial may have octets that end a line, so lines are counted by the name that they start with.
    name = f".{COLUMNS[0]}.".encode()
    if sum(line.startswith(name) for line in shown.split(b"\n")) != ONUS:
        raise WalkFailed("snmpbulkwalk did not return the whole column")


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _with_exporter(addresses: Addresses, repetitions: int) -> Cost:
    with running_exporter(COLUMNS, repetitions) as exporter:
        exporter.measure(addresses[:1])
        return exporter.measure(addresses)


def _has_module(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _has_program(name: str) -> Callable[[], bool]:
    return lambda: has_program(name)


def has_program(name: str) -> bool:
    return shutil.which(name) is not None


_BULKWALK_V2C: Final = ("-v2c", "-c", COMMUNITY)
_BULKWALK_V3: Final = (
    "-v3", "-u", USER, "-l", "authPriv",
    "-a", "SHA-256", "-A", AUTH_PASSWORD, "-x", "AES", "-X", PRIV_PASSWORD,
)  # fmt: skip

PEERS: Final = (
    Peer("facho", lambda: True, _with_python("facho"), (100, 200, 300, 400)),
    Peer(
        "snmpbulkwalk", _has_program("snmpbulkwalk"), _with_snmpbulkwalk(*_BULKWALK_V2C), (50, 100, 150, 200)
    ),
    Peer("gufo_snmp", _has_module("gufo"), _with_python("gufo_snmp"), (50, 65, 80, 100)),
    Peer("pysnmp", _has_module("pysnmp"), _with_python("pysnmp"), (50, 100), olts=1),
    Peer("snmp_exporter", _has_program(PROGRAM), _with_exporter, (50, 100, 200)),
    Peer("gufo_snmp_sync", _has_module("gufo"), _with_python("gufo_snmp_sync"), (50, 65, 80, 100)),
)
# Signed with SHA-256 and encrypted with AES-128.
V3_PEERS: Final = (
    Peer("facho", lambda: True, _with_python("facho", v3=True), (200, 300, 400)),
    Peer("snmpbulkwalk", _has_program("snmpbulkwalk"), _with_snmpbulkwalk(*_BULKWALK_V3), (50, 100, 200)),
    Peer("gufo_snmp", _has_module("gufo"), _with_python("gufo_snmp", v3=True), (50, 65, 75)),
)
