"""Measure how promptly the embedded engine starts due nodes, with many nodes and simulated OLTs.

The nodes of an OLT fall due in pairs, so that one of each pair waits for the other. The engine is whole and
in this process; only its loop is watched with a clock. The simulated OLTs have a process of their own.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from rich.console import Console

from bench.harness import (
    AsJson,
    DatabaseUrl,
    MeasurementFailed,
    Note,
    Pollers,
    Spread,
    run_benchmark,
    table_of_numbers,
)
from bench.nodes import create_nodes, spread_slots
from bench.private_system import private_system, running_engine
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess

if TYPE_CHECKING:
    from facho.config import Config

_ONUS: Final = 4
# Time for the engine to start before the first node is due.
_HEAD_START: Final = timedelta(seconds=3)
_ALL_DUE_ROUNDS: Final = 3
# Sockets are most of the files that a fleet has open; it has some others.
_OTHER_FILES: Final = 200


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench scheduler`  10,000 nodes on 1,000 simulated OLTs: how long a step takes, how late a node starts

`facho bench scheduler --json`  `step_ms_p95`, `start_delay_s_p99`, `next_node_ms_p95` and the others

`facho bench scheduler --olts 100 --nodes 1000 --seconds 10`  a small one
"""


@dataclass(frozen=True, slots=True)
class Load:
    olts: int = 1000
    nodes: int = 10_000
    seconds: float = 40.0
    pollers: int = 10


@dataclass(frozen=True, slots=True)
class AllDue:
    """The scheduler alone, when every node falls due at once. Medians, in milliseconds."""

    step_ms: float
    claim_ms: float


@dataclass(frozen=True, slots=True)
class Result:
    load: Load
    database: str
    executions: int
    step_ms: Spread
    claim_ms: Spread
    start_delay_s: Spread
    next_node_ms: Spread
    all_due: AllDue
    cpu_share: float

    def as_json(self) -> dict[str, Any]:
        return {
            **self.step_ms.as_json("step_ms", 1),
            **self.claim_ms.as_json("claim_ms", 1),
            **self.start_delay_s.as_json("start_delay_s", 3),
            **self.next_node_ms.as_json("next_node_ms", 1),
            "all_due_step_ms": round(self.all_due.step_ms, 1),
            "all_due_claim_ms": round(self.all_due.claim_ms, 1),
            "database": self.database,
            "olts": self.load.olts,
            "nodes": self.load.nodes,
            "seconds": self.load.seconds,
            "executions": self.executions,
            "steps": self.step_ms.count,
            "next_nodes": self.next_node_ms.count,
            "engine_cpu_share": round(self.cpu_share, 3),
        }

    def print(self) -> None:
        title = f"{self.load.nodes:,} nodes on {self.load.olts:,} OLTs, {self.database}"
        table = table_of_numbers(title, "what", "how many", "p50", "p95", "p99", "largest")
        for what, spread, unit in (
            ("a step and its claim", self.step_ms, "ms"),
            ("every claim", self.claim_ms, "ms"),
            ("from slot to start, OLT free", self.start_delay_s, "s"),
            ("next node of an OLT", self.next_node_ms, "ms"),
        ):
            numbers = (spread.p50, spread.p95, spread.p99, spread.largest)
            digits = 2 if unit == "s" else 1
            table.add_row(what, f"{spread.count:,}", *(f"{number:,.{digits}f} {unit}" for number in numbers))
        console = Console()
        console.print(table)
        console.print(
            f"{self.executions:,} executions, {self.cpu_share:.0%} of one CPU. All nodes due at once, "
            f"without SNMP: a step of {self.all_due.step_ms:,.0f} ms, "
            f"a claim of {self.all_due.claim_ms:,.0f} ms."
        )


@app.command(epilog=_EXAMPLES)
def scheduler(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs.")] = 1000,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of them, each due every 300 s.")] = 10_000,
    seconds: Annotated[float, typer.Option(min=1, max=300, help="How long to let it run.")] = 40.0,
    pollers: Pollers = 10,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Run the embedded engine with very many nodes, and measure how promptly it starts them."""
    load = Load(olts, nodes, seconds, pollers)
    run_benchmark(lambda note: measure(load, database_url, note), as_json=as_json)


def measure(load: Load, database_url: str, note: Note) -> Result:
    note("preparing the database")
    with private_system(database_url, pollers=str(load.pollers)) as config:
        note(f"starting {load.olts:,} OLTs")
        allow_files(load.olts + _OTHER_FILES)
        with FleetProcess(FleetConfig(olts=load.olts, onus=_ONUS), prebuilt=True) as fleet:
            note(f"making {load.nodes:,} nodes")
            create_nodes(load.nodes, fleet.addresses)
            return _measure(load, config, note)


def _measure(load: Load, config: Config, note: Note) -> Result:
    from django.db import connection

    from facho.apps.db.database import database_now
    from facho.engine.coordinate.coordinator import coordinator_step

    note("letting the coordinator see them")
    coordinator_step(database_now(), config)
    spread_slots(database_now() + _HEAD_START)
    with _timed_loop() as times, running_engine(config):
        note(f"running for {load.seconds:g} s")
        time.sleep(_HEAD_START.total_seconds())
        cpu, times.counting = time.process_time(), True
        time.sleep(load.seconds)
        cpu, times.counting = time.process_time() - cpu, False
    runs = runs_after()
    note("all nodes due at once")
    return Result(
        load=load,
        database=connection.vendor,
        executions=len(runs),
        step_ms=Spread.of(times.steps_ms),
        claim_ms=Spread.of(times.claims_ms),
        start_delay_s=Spread.of(start_delays(runs)),
        next_node_ms=Spread.of(next_node_delays(runs)),
        all_due=_all_due(config),
        cpu_share=cpu / load.seconds,
    )


def allow_files(files: int) -> None:
    """Raise the limit of open files, which the fleet inherits: it has a socket for each OLT."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, hard), hard))


class _Times:
    def __init__(self) -> None:
        self.counting = False
        self.steps_ms: list[float] = []
        self.claims_ms: list[float] = []


@contextmanager
def _timed_loop() -> Iterator[_Times]:
    """Measure the loop of the scheduler: each step with the claim that follows it, and each claim."""
    from unittest.mock import patch

    from facho.backends import embedded
    from facho.engine.schedule.scheduler import SchedulerLoop

    times = _Times()

    class TimedLoop(SchedulerLoop):
        _began: float | None = None

        def step(self) -> None:
            self._began = time.perf_counter()
            super().step()

        def assign(self) -> None:
            claimed = time.perf_counter()
            super().assign()
            ended = time.perf_counter()
            began, self._began = self._began, None
            if times.counting:
                times.claims_ms.append((ended - claimed) * 1000)
                if began is not None:
                    times.steps_ms.append((ended - began) * 1000)

    with patch.object(embedded, "SchedulerLoop", TimedLoop):
        yield times


class Run(NamedTuple):
    """The times of an execution."""

    olt_id: int
    slot: datetime
    queued_at: datetime
    started_at: datetime
    ended_at: datetime


def runs_after(last: int = 0) -> list[Run]:
    """Return the executions with higher ids, all of which must have succeeded."""
    from facho.apps.executions.models import Execution, State

    ended = Execution.objects.filter(id__gt=last, ended_at__isnull=False).order_by("started_at")
    wrong = ended.exclude(state=State.SUCCESS).values_list("state", "error").first()
    if wrong is not None:
        raise MeasurementFailed(f"{wrong[0]}: {wrong[1]}")
    fields = ("olt_id", "slot", "queued_at", "started_at", "ended_at")
    runs = [Run(*row) for row in ended.values_list(*fields)]
    if not runs:
        raise MeasurementFailed("nothing was run: more seconds are needed")
    return runs


def _group_by_olt(runs: Sequence[Run]) -> Iterator[list[Run]]:
    by_olt: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        by_olt[run.olt_id].append(run)
    yield from by_olt.values()


def start_delays(runs: Sequence[Run]) -> Iterator[float]:
    """Yield the seconds from slot to start, of runs whose OLT was free all that time."""
    for olt_runs in _group_by_olt(runs):
        for before, run in zip([None, *olt_runs], olt_runs, strict=False):
            if before is None or before.ended_at <= run.slot:
                yield (run.started_at - run.slot).total_seconds()


def next_node_delays(runs: Sequence[Run]) -> Iterator[float]:
    """Yield the milliseconds from the end of an execution to the start of one that waited for its OLT."""
    for olt_runs in _group_by_olt(runs):
        for before, run in pairwise(olt_runs):
            if run.queued_at <= before.ended_at:
                yield (run.started_at - before.ended_at) / timedelta(milliseconds=1)


def _all_due(config: Config) -> AllDue:
    """Measure a step and a claim when all nodes are due, without asking any OLT."""
    from facho.apps.db.database import database_now
    from facho.apps.zabbix_pollers.store import register_worker, unregister_worker
    from facho.engine.schedule.assign import claim_executions
    from facho.engine.schedule.scheduler import scheduler_step

    steps, claims = [], []
    for _ in range(_ALL_DUE_ROUNDS):
        _make_all_due()
        register_worker("bench", config.pollers, database_now())
        began = time.perf_counter()
        scheduler_step(database_now(), config)
        stepped = time.perf_counter()
        claim_executions(database_now(), config)
        ended = time.perf_counter()
        steps.append((stepped - began) * 1000)
        claims.append((ended - stepped) * 1000)
    unregister_worker("bench")
    return AllDue(statistics.median(steps), statistics.median(claims))


def _make_all_due() -> None:
    from facho.apps.db.database import database_now
    from facho.apps.executions.models import OPEN, Execution
    from facho.apps.snmp_jobs.models import SnmpJobHost

    Execution.objects.filter(state__in=OPEN).delete()
    SnmpJobHost.objects.update(next_run_at=database_now())
