"""Measure how long steps of the coordinator take with many nodes: quiet ones, and those with much to do.

No OLT is asked anything, and the time is an argument: an hour takes as long as its steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
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
from bench.nodes import INTERVAL, create_nodes, spread_slots
from bench.private_system import private_system

if TYPE_CHECKING:
    from facho.config import Config
    from facho.core.quota import Hour

_ADDRESS: Final = ("192.0.2.1", 161)
_STEP: Final = timedelta(seconds=5)
_WRITES_EVERY_S: Final = 0.01
# Why the slots of the violated OLTs were lost.
_LOST: Final = ({"why": "olt_busy", "what": "job-1", "count": 12, "lost_s": 3600},)


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench coordinator`  10,000 nodes on 1,000 OLTs: a step with nothing to do, and those with much to do

`facho bench coordinator --json`  `quiet_ms_p95`, `quiet_queries`; also for `changed`, `new_hour`, `closing`
"""
_LABELS: Final = {
    "quiet": "nothing changed",
    "changed": "some OLTs changed by SQL",
    "new_hour": "an hour begins",
    "closing": "an hour is closed",
    "first": "the first look at all OLTs",
    "state": "facho coordinator state",
}


@dataclass(frozen=True, slots=True)
class Load:
    olts: int = 1000
    nodes: int = 10_000
    quiet_steps: int = 40
    rounds: int = 10
    hours: int = 3
    changed: int = 10
    violated: float = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    ms: Spread
    # Of the one that needed the most.
    queries: int

    @classmethod
    def of(cls, measured: Iterable[tuple[float, int]]) -> Cost:
        times, queries = zip(*measured, strict=True)
        return cls(Spread.of(times), max(queries))


@dataclass(frozen=True, slots=True)
class Result:
    load: Load
    database: str
    first: Cost
    quiet: Cost
    changed: Cost
    new_hour: Cost
    closing: Cost
    state: Cost
    # How long another writer waited while hours began and were closed.
    writer_ms: Spread
    violations: int

    def costs(self) -> dict[str, Cost]:
        names = ("first", "quiet", "changed", "new_hour", "closing", "state")
        return {name: getattr(self, name) for name in names}

    def as_json(self) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        for name, cost in self.costs().items():
            numbers |= cost.ms.as_json(f"{name}_ms", 1) | {f"{name}_queries": cost.queries}
        return {
            **numbers,
            **self.writer_ms.as_json("writer_ms", 1),
            "database": self.database,
            "olts": self.load.olts,
            "nodes": self.load.nodes,
            "violations": self.violations,
        }

    def print(self) -> None:
        load = self.load
        title = f"{load.nodes:,} nodes on {load.olts:,} OLTs, {self.database}"
        table = table_of_numbers(title, "what", "how many", "p50", "p95", "largest", "queries")
        costs = self.costs()
        for name, what in _LABELS.items():
            ms = costs[name].ms
            numbers = (f"{number:,.0f} ms" for number in (ms.p50, ms.p95, ms.largest))
            table.add_row(what, f"{ms.count:,}", *numbers, f"{costs[name].queries:,}")
        console = Console()
        console.print(table)
        console.print(
            f"{load.changed} OLTs were changed at a time; {self.violations:,} violations were found. While "
            f"hours began and were closed, another writer's row took {self.writer_ms.p95:,.0f} ms at p95 and "
            f"{self.writer_ms.largest:,.0f} ms at most."
        )


@app.command(epilog=_EXAMPLES)
def coordinator(
    olts: Annotated[int, typer.Option(min=1, help="OLTs; none of them is asked anything.")] = 1000,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of them.")] = 10_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps with nothing to do.")] = 40,
    changed: Annotated[int, typer.Option(min=1, help="OLTs of which something is changed.")] = 10,
    hours: Annotated[int, typer.Option(min=1, help="Hours that end, 20 % of the OLTs violated.")] = 3,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Step the coordinator with very many nodes, and measure how long it takes."""
    load = Load(olts, nodes, quiet_steps=steps, changed=changed, hours=hours)
    run_benchmark(lambda note: measure(load, database_url, note), as_json=as_json)


def measure(load: Load, database_url: str, note: Note) -> Result:
    note("preparing the database")
    with private_system(database_url) as config:
        note(f"making {load.nodes:,} nodes")
        create_nodes(load.nodes, [_ADDRESS] * load.olts)
        return _measure(load, config, note)


def _measure(load: Load, config: Config, note: Note) -> Result:
    from django.db import connection

    from facho.apps.db.database import database_now
    from facho.apps.execution_coordinator.models import QuotaViolation
    from facho.engine.coordinate.plans import make_missing_plans
    from facho.engine.upkeep.system_status import read_system_status

    steps = _Steps(load, config, database_now())
    note("the first look at every OLT")
    first = Cost.of([steps.step()])
    note("planning the hour")
    while make_missing_plans(steps.now, config):
        pass
    note("nothing changed")
    quiet = Cost.of(steps.step() for _ in range(load.quiet_steps))
    note(f"{load.changed} OLTs changed")
    changed = Cost.of(steps.changed_step() for _ in range(load.rounds))
    state = Cost.of(timed(lambda: read_system_status(steps.now, config)) for _ in range(load.rounds))
    note(f"{load.hours} hours end")
    with _another_writer() as waits:
        begun, closed = zip(*(steps.end_hour() for _ in range(load.hours)), strict=True)
    return Result(
        load=load,
        database=connection.vendor,
        first=first,
        quiet=quiet,
        changed=changed,
        new_hour=Cost.of(begun),
        closing=Cost.of(closed),
        state=state,
        writer_ms=Spread.of(waits),
        violations=QuotaViolation.objects.count(),
    )


class _Steps:
    """Steps of the coordinator on a simulated clock."""

    def __init__(self, load: Load, config: Config, now: datetime) -> None:
        from facho.core.quota import hour_of

        self._load, self._config = load, config
        self.hour: Hour = hour_of(now, config.time_zone)
        self.now = self.hour.start + INTERVAL
        self._intervals = count(301)
        spread_slots(self.now + INTERVAL)

    def step(self) -> tuple[float, int]:
        from facho.engine.coordinate.coordinator import coordinator_step

        self.now += _STEP
        return timed(lambda: coordinator_step(self.now, self._config))

    def changed_step(self) -> tuple[float, int]:
        """Change the interval of one node of each of some OLTs by SQL, then step."""
        from facho.apps.db import sql

        sql.execute(
            "UPDATE snmp_job_hosts SET interval_s = %s WHERE id IN"
            " (SELECT max(id) FROM snmp_job_hosts WHERE olt_id <= %s GROUP BY olt_id)",
            [next(self._intervals), self._last_changed()],
        )
        return self.step()

    def _last_changed(self) -> int:
        from facho.apps.hosts.models import Olt

        ids = Olt.objects.order_by("id").values_list("id", flat=True)
        return ids[min(self._load.changed, self._load.olts) - 1]

    def end_hour(self) -> tuple[tuple[float, int], tuple[float, int]]:
        """Measure the step in which the next hour begins, and the one that closes the ended hour."""
        from facho.core.quota import hour_of

        spread_slots(self.hour.end - INTERVAL)
        self.now = self.hour.end
        begun = self.step()
        spread_slots(self.hour.end + INTERVAL)
        self._run_slots()
        closed = self.step()
        self._check_closed()
        self.hour = hour_of(self.now, self._config.time_zone)
        return begun, closed

    def _run_slots(self) -> None:
        """Count all slots of the hour as completed, but those of some OLTs as failed."""
        from django.db.models import F

        from facho.apps.execution_coordinator.models import QuotaTracker

        trackers = QuotaTracker.objects.filter(period_start=self.hour.start)
        bad = trackers.filter(olt__in=self._violated_olts())
        trackers.exclude(olt__in=self._violated_olts()).update(
            quota_completed=F("quota_required"), quota_pending=0
        )
        bad.update(quota_failed=F("quota_required"), quota_pending=0, reasons=list(_LOST))

    def _violated_olts(self) -> list[int]:
        from facho.apps.hosts.models import Olt

        ids = Olt.objects.order_by("id").values_list("id", flat=True)
        return list(ids[: round(self._load.olts * self._load.violated)])

    def _check_closed(self) -> None:
        from facho.apps.execution_coordinator.models import QuotaTracker

        trackers = QuotaTracker.objects.filter(period_start=self.hour.start)
        if not trackers.exists() or trackers.filter(closed_at=None).exists():
            raise MeasurementFailed("an hour that is over was not closed")


@contextmanager
def _another_writer() -> Iterator[list[float]]:
    """Write rows in another thread; yield the milliseconds that each took to be committed."""
    from django.db import connection

    from facho.apps.db import sql
    from facho.apps.db.database import database_now
    from facho.apps.execution_coordinator.models import CoordinatorState

    waits: list[float] = []
    stopping = threading.Event()

    def write() -> None:
        with sql.write_transaction():
            CoordinatorState.objects.update_or_create(name="bench", defaults={"updated_at": database_now()})

    def run() -> None:
        while not stopping.wait(_WRITES_EVERY_S):
            waits.append(timed(write)[0])
        connection.close()

    thread = threading.Thread(target=run, name="another-writer")
    thread.start()
    try:
        yield waits
    finally:
        stopping.set()
        thread.join()


def timed(step: Callable[[], object]) -> tuple[float, int]:
    """Return the milliseconds that a step took, and the number of its statements."""
    from django.db import connection

    counted = count()

    def watch(execute: Any, *arguments: Any) -> Any:
        next(counted)
        return execute(*arguments)

    with connection.execute_wrapper(watch):
        began = time.perf_counter()
        step()
        return (time.perf_counter() - began) * 1000, next(counted)
