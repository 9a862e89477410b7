"""Compare plans with what the engine then does, and measure what it costs to make very many of them.

Simulated OLTs with a slow CPU are collected from until the durations of all tasks are known. Then their next
minutes are planned, once, and what the engine does is compared with that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from bench.harness import (
    AsJson,
    DatabaseUrl,
    MeasurementFailed,
    Note,
    Spread,
    run_benchmark,
    table_of_numbers,
)
from bench.nodes import create_nodes, create_olts_and_jobs
from bench.private_system import private_system, running_engine
from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess

if TYPE_CHECKING:
    from facho.config import Config
    from facho.core.plan_data import Key

# Close together, so that they meet again and again; the first of a pair holds the other one up.
_JOBS: Final = (
    ("all-onus", "discovery", "45s", ()),
    ("optics", "get", "20s", ("onu_rx_dbm", "olt_rx_dbm")),
    ("states", "table", "15s", ("state", "down_cause")),
    ("names", "get", "30s", ("description",)),
)
_NEAR_S: Final = 10.0
_NOWHERE: Final = ("192.0.2.1", 161)


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench plan`  two minutes of six slow OLTs, planned once and then compared with what the engine did

`facho bench plan --json`  `near_pct`, `error_s_p95`, `unforeseen`; `make_ms_p50` for 100 OLTs of 10 nodes
"""


@dataclass(frozen=True, slots=True)
class Work:
    olts: int = 6
    onus: int = 1000
    warm_up: float = 150.0
    seconds: float = 120.0
    many_olts: int = 1000
    many_nodes: int = 10_000


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    planned: int
    # Seconds that runs began off their plan, of those that were planned and began.
    error_s: Spread
    near_pct: float
    # What was planned to be lost and was not, or the other way round.
    unforeseen: int
    waited: int
    make_ms: Spread

    def as_json(self) -> dict[str, Any]:
        return {
            "planned": self.planned,
            "compared": self.error_s.count,
            "near_pct": self.near_pct,
            "unforeseen": self.unforeseen,
            "waited": self.waited,
            **self.error_s.as_json("error_s", 2),
            **self.make_ms.as_json("make_ms", 1),
            "database": self.database,
            "olts": self.work.olts,
            "onus": self.work.onus,
            "seconds": self.work.seconds,
            "many_olts": self.work.many_olts,
            "many_nodes": self.work.many_nodes,
        }

    def print(self) -> None:
        work, error, make = self.work, self.error_s, self.make_ms
        title = f"{work.olts} slow OLTs, {work.seconds:g} s planned once, {self.database}"
        table = table_of_numbers(title, "what", "how many", "p50", "p95", "largest")
        starts = (f"{number:.2f} s" for number in (error.p50, error.p95, error.largest))
        table.add_row("runs that began off their plan by", f"{error.count:,}", *starts)
        makes = (f"{number:,.0f} ms" for number in (make.p50, make.p95, make.largest))
        table.add_row("plans of 100 OLTs made in", f"{make.count:,}", *makes)
        console = Console()
        console.print(table)
        console.print(
            f"{self.near_pct:g} % began within 10 s of their plan; {self.waited} had to wait for another, "
            f"{self.unforeseen} of {self.planned} were not foreseen, or did not come."
        )


@app.command(epilog=_EXAMPLES)
def plan(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs with a slow CPU.")] = 6,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of each.")] = 1000,
    warm_up: Annotated[float, typer.Option(min=1, help="Seconds to learn how long tasks take.")] = 150.0,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds to plan and to compare.")] = 120.0,
    many_olts: Annotated[int, typer.Option(min=1, help="OLTs whose plans are made at once.")] = 1000,
    many_nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of those.")] = 10_000,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Plan what simulated OLTs will do, and compare it with what the engine does."""
    work = Work(olts, onus, warm_up, seconds, many_olts, many_nodes)
    run_benchmark(lambda note: measure(work, database_url, note), as_json=as_json)


def measure(work: Work, database_url: str, note: Note) -> Result:
    note("preparing the database")
    with private_system(database_url, first_run_delay="2s", coordinator_step="2s") as config:
        scenario = PRESETS["slow"].scenario
        note(f"starting {work.olts} slow OLTs of {work.onus:,} ONUs")
        with FleetProcess(FleetConfig(olts=work.olts, onus=work.onus, scenario=scenario)) as fleet:
            create_olts_and_jobs(fleet.addresses, _JOBS)
            planned, began = _collect(work, config, note)
        note(f"planning {work.many_olts:,} OLTs")
        return _result(work, planned, began, _make_many(work, config))


@dataclass(frozen=True, slots=True)
class _Planned:
    starts: Mapping[Key, datetime]
    waited: int


def _collect(work: Work, config: Config, note: Note) -> tuple[_Planned, dict[Key, datetime]]:
    from facho.apps.db.database import database_now

    with running_engine(config):
        note(f"learning for {work.warm_up:g} s")
        time.sleep(work.warm_up)
        now = database_now()
        until = now + timedelta(seconds=work.seconds)
        planned = _plan(now, until, config)
        note(f"running for {work.seconds:g} s as planned, or not")
        time.sleep(work.seconds)
    return planned, _began(now, until)


def _plan(now: datetime, until: datetime, config: Config) -> _Planned:
    from facho.core.plan_data import key_of
    from facho.engine.coordinate.workloads import load_workloads

    works = load_workloads(None, now, until, config).values()
    if not all(task.sure for work in works for task in work.tasks):
        raise MeasurementFailed("the tasks are not known yet: more seconds to learn are needed")
    entries = [
        entry for work in works for entry in work.plan(now, until, config).entries if entry.start <= until
    ]
    starts = {key_of(entry.node_id, entry.slot): entry.start for entry in entries if entry.start > now}
    return _Planned(starts, sum(bool(entry.waits_for) for entry in entries))


def _began(now: datetime, until: datetime) -> dict[Key, datetime]:
    from facho.apps.executions.models import Execution
    from facho.core.plan_data import key_of

    rows = Execution.objects.filter(started_at__gt=now, started_at__lte=until, node__isnull=False)
    return {
        key_of(node_id, slot): started
        for node_id, slot, started in rows.values_list("node_id", "slot", "started_at")
        if started is not None
    }


def _make_many(work: Work, config: Config) -> Spread:
    """Make plans chunk by chunk, as the coordinator does when an hour begins."""
    from facho.apps.db.database import database_now
    from facho.apps.hosts.models import Olt
    from facho.apps.snmp_jobs.models import SnmpJobHost
    from facho.engine.coordinate.plans import make_missing_plans

    Olt.objects.update(enabled=False)
    _rename_olts()
    create_nodes(work.many_nodes, [_NOWHERE] * work.many_olts)
    SnmpJobHost.objects.filter(olt__enabled=True).update(next_run_at=database_now() + timedelta(seconds=30))
    took: list[float] = []
    while True:
        began = time.perf_counter()
        if not make_missing_plans(database_now(), config):
            return Spread.of(took)
        took.append((time.perf_counter() - began) * 1000)


def _rename_olts() -> None:
    """Rename the OLTs, so that their names are free for others."""
    from facho.apps.hosts.models import Olt

    for olt in Olt.objects.all():
        Olt.objects.filter(id=olt.id).update(name=f"slow-{olt.name}")


def _result(work: Work, planned: _Planned, began: Mapping[Key, datetime], make_ms: Spread) -> Result:
    from django.db import connection

    both = planned.starts.keys() & began.keys()
    errors = [abs((began[key] - planned.starts[key]).total_seconds()) for key in both]
    if not errors:
        raise MeasurementFailed("nothing was run as planned: more seconds are needed")
    return Result(
        work=work,
        database=connection.vendor,
        planned=len(planned.starts),
        error_s=Spread.of(errors),
        near_pct=round(100 * sum(error <= _NEAR_S for error in errors) / len(errors), 1),
        unforeseen=len(planned.starts.keys() ^ began.keys()),
        waited=planned.waited,
        make_ms=make_ms,
    )
