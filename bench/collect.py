"""Measure the whole engine, from the request to the committed row, beside only asking.

The engine is the embedded one, with its scheduler, its pollers, its leases and its SNMP loop, in this
process, whose CPU time is counted with all its threads. The simulated OLTs have a process of their own. The
peer is `snmpbulkwalk`, which brings the same columns of the same OLTs and writes them nowhere.
"""

from __future__ import annotations

import logging
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from bench.harness import (
    AsJson,
    DatabaseUrl,
    MeasurementFailed,
    Note,
    Pollers,
    round_or_none,
    run_benchmark,
    table_of_numbers,
)
from bench.nodes import create_olts_and_jobs, delete_first_runs
from bench.private_system import private_system, running_engine, server_cpu_s
from bench.snmp import bulkwalk_cpu_s, has_program
from bench.walker import COMMUNITY
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess

if TYPE_CHECKING:
    from facho.config import Config

PEER: Final = "snmpbulkwalk"
PEER_COMMAND: Final = (PEER, "-v2c", "-c", COMMUNITY, "-m", "", "-M", "", "-OQn", "-t", "10")
# As facho asks for them: serial, description and state to discover; then state, cause and distance.
COLUMNS: Final = tuple(
    f"1.3.6.1.4.1.2011.6.128.1.1.2.{column}"
    for column in ("43.1.3", "43.1.9", "46.1.15", "46.1.15", "46.1.24", "46.1.20")
)
# What facho asks an OLT for that bears it, by default.
DEFAULT_REPETITIONS: Final = 200
# Never due by itself during a benchmark.
_INTERVAL: Final = "24h"
JOBS: Final = (
    ("discovery", "discovery", _INTERVAL, ["serial", "description"]),
    ("states", "table", _INTERVAL, ["state", "down_cause", "distance_m"]),
)
# The octet counters of all ONUs, in rounds of their own.
TRAFFIC_JOBS: Final = (("traffic", "table", _INTERVAL, ["up_octets", "down_octets"]),)
TRAFFIC_COLUMNS: Final = tuple(f"1.3.6.1.4.1.2011.6.128.1.1.4.23.1.{column}" for column in (3, 4))
# Sooner there is no rate.
_BETWEEN_COUNTERS_S: Final = 31.0
_PATIENCE_S: Final = 600.0


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench collect`  collects from ten simulated OLTs, on SQLite, beside snmpbulkwalk

`facho bench collect --json`  `values_per_cpu_second` and `ratio_to_snmpbulkwalk`, once all ONUs are known

`facho bench collect --database-url postgresql://me@/bench?host=/run/postgresql`  on PostgreSQL

CPU time is that of the engine's process, with all its threads. That of a PostgreSQL is shown apart.
"""


@dataclass(frozen=True, slots=True)
class Work:
    olts: int = 10
    onus: int = 4096
    rounds: int = 5
    pollers: int = 10
    # Rows of a request, of facho and of the peer.
    repetitions: int = DEFAULT_REPETITIONS
    traffic: bool = True

    @property
    def columns(self) -> int:
        return len(COLUMNS)

    @property
    def values(self) -> int:
        return self.olts * self.onus * self.columns

    @property
    def counters(self) -> int:
        return self.olts * self.onus * len(TRAFFIC_COLUMNS)


@dataclass(frozen=True, slots=True)
class Round:
    """The cost of collecting everything once."""

    cpu_s: float
    wall_s: float
    # Of a PostgreSQL on this machine.
    server_cpu_s: float | None


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    first: Round
    repeated: tuple[Round, ...]
    # None where there is no snmpbulkwalk.
    peer_cpu_s: tuple[float, ...] | None
    # Rounds of counters, with their rates, and of the peer; none without traffic.
    traffic: tuple[Round, ...] = ()
    traffic_peer_cpu_s: tuple[float, ...] | None = None

    @property
    def values_per_cpu_second(self) -> float:
        return self.work.values / statistics.median(each.cpu_s for each in self.repeated)

    @property
    def first_values_per_cpu_second(self) -> float:
        return self.work.values / self.first.cpu_s

    @property
    def peer_values_per_cpu_second(self) -> float | None:
        return None if self.peer_cpu_s is None else self.work.values / statistics.median(self.peer_cpu_s)

    @property
    def counters_per_cpu_second(self) -> float | None:
        if not self.traffic:
            return None
        return self.work.counters / statistics.median(each.cpu_s for each in self.traffic)

    @property
    def traffic_ratio(self) -> float | None:
        ours, peer = self.counters_per_cpu_second, self.traffic_peer_cpu_s
        return None if ours is None or not peer else ours * statistics.median(peer) / self.work.counters

    def ratio(self, ours: float) -> float | None:
        peer = self.peer_values_per_cpu_second
        return None if peer is None else ours / peer

    def as_json(self) -> dict[str, Any]:
        peer = self.peer_values_per_cpu_second
        ours, first = self.values_per_cpu_second, self.first_values_per_cpu_second
        return {
            "values_per_cpu_second": round(ours),
            "ratio_to_snmpbulkwalk": round_or_none(self.ratio(ours), 2),
            "first_values_per_cpu_second": round(first),
            "first_ratio_to_snmpbulkwalk": round_or_none(self.ratio(first), 2),
            "snmpbulkwalk_values_per_cpu_second": None if peer is None else round(peer),
            "database": self.database,
            "olts": self.work.olts,
            "onus": self.work.onus,
            "repetitions": self.work.repetitions,
            "values": self.work.values,
            "cpu_s": [round(each.cpu_s, 3) for each in (self.first, *self.repeated)],
            "wall_s": [round(each.wall_s, 3) for each in (self.first, *self.repeated)],
            "database_cpu_s": [round_or_none(each.server_cpu_s, 3) for each in (self.first, *self.repeated)],
            "counters_per_cpu_second": round_or_none(self.counters_per_cpu_second, 0),
            "counters_ratio_to_snmpbulkwalk": round_or_none(self.traffic_ratio, 2),
            "counters_cpu_s": [round(each.cpu_s, 3) for each in self.traffic],
            "snmpbulkwalk_cpu_s": self.peer_cpu_s and [round(each, 3) for each in self.peer_cpu_s],
        }

    def print(self) -> None:
        work = self.work
        table = table_of_numbers(
            f"{work.olts} OLTs, {work.columns} columns of {work.onus:,} ONUs, {work.rounds} rounds, "
            f"{work.repetitions} rows a request, {self.database}",
            "what",
            "values per CPU-second",
            "CPU-seconds",
            "of the database",
            "seconds",
            "to snmpbulkwalk",
        )
        kinds = [
            ("first collection", (self.first,), work.values, self.ratio(self.first_values_per_cpu_second)),
            ("further collections", self.repeated, work.values, self.ratio(self.values_per_cpu_second)),
        ]
        if self.traffic:
            kinds.append(("counters and their rates", self.traffic, work.counters, self.traffic_ratio))
        for what, rounds, values, ratio in kinds:
            cpu_s = statistics.median(each.cpu_s for each in rounds)
            server = [each.server_cpu_s for each in rounds if each.server_cpu_s is not None]
            table.add_row(
                what,
                f"{values / cpu_s:,.0f}",
                f"{cpu_s:.2f}",
                f"{statistics.median(server):.2f}" if server else "",
                f"{statistics.median(each.wall_s for each in rounds):.2f}",
                "" if ratio is None else f"{ratio:.2f} x",
            )
        if self.peer_cpu_s is None:
            table.add_row("snmpbulkwalk", "not installed")
        else:
            cpu_s = statistics.median(self.peer_cpu_s)
            table.add_row("snmpbulkwalk > /dev/null", f"{work.values / cpu_s:,.0f}", f"{cpu_s:.2f}")
        Console().print(table)


@app.command(epilog=_EXAMPLES)
def collect(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs.")] = 10,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of each.")] = 4096,
    rounds: Annotated[int, typer.Option(min=1, help="Collections after the first.")] = 5,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Rows of a request, of facho and of snmpbulkwalk.")
    ] = DEFAULT_REPETITIONS,
    pollers: Pollers = 10,
    traffic: Annotated[
        bool, typer.Option(help="Measure the counters of traffic too, in rounds of their own.")
    ] = True,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Collect with the whole engine, from the request to the committed row, beside snmpbulkwalk."""
    work = Work(olts, onus, rounds, pollers, repetitions, traffic)
    run_benchmark(lambda note: measure(work, database_url, note), as_json=as_json)


def measure(work: Work, database_url: str, note: Note) -> Result:
    note("preparing the database")
    rows = str(work.repetitions)
    settings = {"pollers": str(work.pollers), "walk_repetitions": rows, "most_varbinds": rows}
    with private_system(database_url, **settings) as config:
        note(f"building {work.olts} OLTs of {work.onus:,} ONUs")
        with FleetProcess(FleetConfig(olts=work.olts, onus=work.onus), prebuilt=True) as fleet:
            create_olts_and_jobs(fleet.addresses, (*JOBS, *(TRAFFIC_JOBS if work.traffic else ())))
            delete_first_runs()
            return _measure(work, config, fleet, note)


def _measure(work: Work, config: Config, fleet: FleetProcess, note: Note) -> Result:
    from django.db import connection

    peers: list[float] | None = [] if has_program(PEER) else None
    repeated = []
    with running_engine(config):
        collector = _Collector(work, JOBS)
        note("the first collection")
        first = collector.collect_all()
        for number in range(work.rounds):
            note(f"round {number + 1} of {work.rounds}: {PEER}")
            if peers is not None:
                command = (*PEER_COMMAND, f"-Cr{work.repetitions}")
                peers.append(bulkwalk_cpu_s(command, fleet.addresses, COLUMNS))
            _change_a_port(fleet, number)
            note(f"round {number + 1} of {work.rounds}: facho")
            repeated.append(collector.collect_all())
        _check_stored(work)
        traffic, traffic_peers = _measure_traffic(work, fleet, note) if work.traffic else ((), None)
    usual_peers = None if peers is None else tuple(peers)
    return Result(work, connection.vendor, first, tuple(repeated), usual_peers, traffic, traffic_peers)


def _measure_traffic(
    work: Work, fleet: FleetProcess, note: Note
) -> tuple[tuple[Round, ...], tuple[float, ...] | None]:
    """Collect the counters of all ONUs again and again; the first time has no rates, and is not counted."""
    from facho.apps.traffic.models import OltTraffic

    collector = _Collector(work, TRAFFIC_JOBS)
    rounds, peers = [], []
    for number in range(work.rounds + 1):
        note(f"traffic, round {number} of {work.rounds}")
        rounds.append(collector.collect_all())
        if number < work.rounds:
            time.sleep(_BETWEEN_COUNTERS_S)
        if number and has_program(PEER):
            command = (*PEER_COMMAND, f"-Cr{work.repetitions}")
            peers.append(bulkwalk_cpu_s(command, fleet.addresses, TRAFFIC_COLUMNS))
    if OltTraffic.objects.filter(subject="onu", out_bps__gt=0).count() != work.olts:
        raise MeasurementFailed("not all OLTs have traffic")
    return tuple(rounds[1:]), tuple(peers) or None


def _change_a_port(fleet: FleetProcess, number: int) -> None:
    """Cut the power of one port's customers, or restore it in the next round."""
    method = "restore" if number % 2 else "cut_power"
    for olt in range(len(fleet.addresses)):
        fleet.call(olt, method, 0)


class _Collector:
    """Makes all nodes due, and waits until they have run."""

    def __init__(self, work: Work, jobs: Sequence[tuple[str, str, str, list[str]]]) -> None:
        self._jobs = [name for name, *_ in jobs]
        self._nodes = work.olts * len(jobs)
        self._ended = _EndedExecutions()

    def collect_all(self) -> Round:
        from facho.apps.db.database import database_now
        from facho.apps.executions.models import Execution
        from facho.apps.snmp_jobs.models import SnmpJobHost

        last = Execution.objects.order_by("-id").values_list("id", flat=True).first() or 0
        server, started, cpu = server_cpu_s(), time.monotonic(), time.process_time()
        self._ended.count = 0
        SnmpJobHost.objects.filter(job__name__in=self._jobs).update(next_run_at=database_now())
        self._ended.wait(self._nodes)
        spent = Round(time.process_time() - cpu, time.monotonic() - started, _since(server, server_cpu_s()))
        _check_succeeded(last, self._nodes)
        return spent


def _since(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


class _EndedExecutions(logging.Handler):
    """Counts executions as they end, from the log, which costs next to nothing."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.count = 0
        self._changed = threading.Condition()
        recorder = logging.getLogger("facho.engine.record.recorder")
        recorder.setLevel(logging.INFO)
        recorder.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", "") == "execution_ended":
            with self._changed:
                self.count += 1
                self._changed.notify_all()

    def wait(self, count: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self.count >= count, _PATIENCE_S):
                raise MeasurementFailed(f"{self.count} of {count} executions ended within {_PATIENCE_S:g} s")


def _check_succeeded(after: int, count: int) -> None:
    from facho.apps.executions.models import Execution, State

    run = list(Execution.objects.filter(id__gt=after).values_list("state", "error"))
    wrong = [f"{state}: {error}" for state, error in run if state != State.SUCCESS]
    if wrong or len(run) != count:
        raise MeasurementFailed(wrong[0] if wrong else f"{len(run)} of {count} executions were run")


def _check_stored(work: Work) -> None:
    from facho.apps.discovery.models import Onu

    full = Onu.objects.exclude(serial="").exclude(description="").exclude(state="").count()
    if full != work.olts * work.onus:
        raise MeasurementFailed(f"{full:,} of {work.olts * work.onus:,} ONUs are stored")
