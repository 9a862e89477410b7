"""How long a step of the coordinator takes, with many nodes: the quiet one, and those with much to do.

Nothing is asked of anybody, and the time is an argument: an hour takes as long as its steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from facho.bench.many_nodes import INTERVAL, fill, plan
from facho.bench.own_system import CannotMeasure, own_system
from facho.bench.scheduler import Spread

if TYPE_CHECKING:
    from facho.config import Config
    from facho.core.quota import Hour

_ADDRESS: Final = ("192.0.2.1", 161)
_STEP: Final = timedelta(seconds=5)
_WRITES_EVERY_S: Final = 0.01
# Why the slots of those that get a violation were lost.
_LOST: Final = ({"why": "olt_busy", "what": "job-1", "count": 12, "lost_s": 3600},)

Note = Callable[[str], None]


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
    # How long somebody else waited who wrote a row, while hours began and were closed.
    writer_ms: Spread
    violations: int

    def costs(self) -> dict[str, Cost]:
        names = ("first", "quiet", "changed", "new_hour", "closing", "state")
        return {name: getattr(self, name) for name in names}

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for name, cost in self.costs().items():
            told |= cost.ms.as_json(f"{name}_ms", 1) | {f"{name}_queries": cost.queries}
        told |= self.writer_ms.as_json("writer_ms", 1)
        load = self.load
        more = {"olts": load.olts, "nodes": load.nodes, "violations": self.violations}
        return told | {"database": self.database} | more


def measure(load: Load, database_url: str, note: Note) -> Result:
    note("preparing the database")
    with own_system(database_url) as config:
        note(f"making {load.nodes:,} nodes")
        fill(load.nodes, [_ADDRESS] * load.olts)
        return _measure(load, config, note)


def _measure(load: Load, config: Config, note: Note) -> Result:
    from django.db import connection

    from facho.apps.db.clock import database_now
    from facho.apps.execution_coordinator.models import QuotaViolation
    from facho.engine.coordinate.plans import make_missing
    from facho.engine.upkeep.system_status import coordinator_state

    bench = _Bench(load, config, database_now())
    note("the first look at every OLT")
    first = Cost.of([bench.step()])
    note("planning the hour")
    while make_missing(bench.now, config):
        pass
    note("nothing changed")
    quiet = Cost.of(bench.step() for _ in range(load.quiet_steps))
    note(f"{load.changed} OLTs changed")
    changed = Cost.of(bench.changed_step() for _ in range(load.rounds))
    state = Cost.of(timed(lambda: coordinator_state(bench.now, config)) for _ in range(load.rounds))
    note(f"{load.hours} hours end")
    with _another_writer() as waits:
        begun, closed = zip(*(bench.end_hour() for _ in range(load.hours)), strict=True)
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


class _Bench:
    """Steps on a clock of its own."""

    def __init__(self, load: Load, config: Config, now: datetime) -> None:
        from facho.core.quota import hour_of

        self._load, self._config = load, config
        self.hour: Hour = hour_of(now, config.time_zone)
        self.now = self.hour.start + INTERVAL
        self._intervals = count(301)
        plan(self.now + INTERVAL)

    def step(self) -> tuple[float, int]:
        from facho.engine.coordinate.coordinator import coordinator_step

        self.now += _STEP
        return timed(lambda: coordinator_step(self.now, self._config))

    def changed_step(self) -> tuple[float, int]:
        """By SQL, one node of each: its interval is another one."""
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
        """The step in which the next one begins; and, once the last slots were run, that which closes it."""
        from facho.core.quota import hour_of

        plan(self.hour.end - INTERVAL)
        self.now = self.hour.end
        begun = self.step()
        plan(self.hour.end + INTERVAL)
        self._run_slots()
        closed = self.step()
        self._check_closed()
        self.hour = hour_of(self.now, self._config.time_zone)
        return begun, closed

    def _run_slots(self) -> None:
        """All with success, but those of some OLTs."""
        from django.db.models import F

        from facho.apps.execution_coordinator.models import QuotaTracker

        trackers = QuotaTracker.objects.filter(period_start=self.hour.start)
        bad = trackers.filter(olt__in=self._bad())
        trackers.exclude(olt__in=self._bad()).update(quota_completed=F("quota_required"), quota_pending=0)
        bad.update(quota_failed=F("quota_required"), quota_pending=0, reasons=list(_LOST))

    def _bad(self) -> list[int]:
        from facho.apps.hosts.models import Olt

        ids = Olt.objects.order_by("id").values_list("id", flat=True)
        return list(ids[: round(self._load.olts * self._load.violated)])

    def _check_closed(self) -> None:
        from facho.apps.execution_coordinator.models import QuotaTracker

        trackers = QuotaTracker.objects.filter(period_start=self.hour.start)
        if not trackers.exists() or trackers.filter(closed_at=None).exists():
            raise CannotMeasure("an hour that is over was not closed")


@contextmanager
def _another_writer() -> Iterator[list[float]]:
    """Milliseconds that each of its rows took to be committed."""
    from django.db import connection

    from facho.apps.db import sql
    from facho.apps.db.clock import database_now
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
    """Milliseconds, and how many statements."""
    from django.db import connection

    counted = count()

    def watch(execute: Any, *arguments: Any) -> Any:
        next(counted)
        return execute(*arguments)

    with connection.execute_wrapper(watch):
        began = time.perf_counter()
        step()
        return (time.perf_counter() - began) * 1000, next(counted)
