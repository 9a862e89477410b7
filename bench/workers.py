"""Measure executions through Celery: their cost, how soon the next one starts, how throughput grows.

The OLTs are far away, so that time and not our CPU is the limit: twice the pollers should then do twice as
much.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from bench.collect import COLUMNS, JOBS
from bench.harness import AsJson, MeasurementFailed, Note, run_benchmark, table_of_numbers
from bench.nodes import create_olts_and_jobs, delete_first_runs
from bench.private_system import facho_process, private_system, server_cpu_s
from bench.process_groups import cpu_s_of
from bench.scheduler import next_node_delays, runs_after
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario

if TYPE_CHECKING:
    from facho.config import Config

_PATIENCE_S: Final = 120.0
_LOOK_EVERY_S: Final = 0.02
# One round of these is quick, and has few of them.
_PROMPT_ROUNDS: Final = 5


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench workers --database-url postgresql://... --broker-url redis://...`  with 1, 2 and 4 workers here

`facho bench workers ... --json`  `values_per_cpu_second`, `next_node_ms_p95`, `growth`
"""


@dataclass(frozen=True, slots=True)
class Plan:
    workers: tuple[int, ...] = (1, 2, 4)
    # Of each worker.
    pollers: int = 4
    olts: int = 32
    onus: int = 64
    latency_s: float = 0.1
    rounds: int = 2
    # For what collecting costs: OLTs that are near, and large.
    large_olts: int = 10
    large_onus: int = 4096


@dataclass(frozen=True, slots=True)
class Growth:
    workers: int
    executions_per_second: float
    worker_cpu_s: float


@dataclass(frozen=True, slots=True)
class Promptness:
    """Milliseconds from the end of an execution to the next one of its OLT, with enough pollers for all."""

    ms_p50: float
    ms_p95: float


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one collection of everything, after the first."""

    values: int
    worker_cpu_s: float
    database_cpu_s: float | None
    seconds: float

    @property
    def values_per_cpu_second(self) -> float:
        return self.values / self.worker_cpu_s


@dataclass(frozen=True, slots=True)
class Result:
    plan: Plan
    growth: tuple[Growth, ...]
    next_node: Promptness
    cost: Cost

    def as_json(self) -> dict[str, Any]:
        return {
            "values_per_cpu_second": round(self.cost.values_per_cpu_second),
            "worker_cpu_s": round(self.cost.worker_cpu_s, 3),
            "database_cpu_s": self.cost.database_cpu_s,
            "collect_s": round(self.cost.seconds, 3),
            "next_node_ms_p50": round(self.next_node.ms_p50, 1),
            "next_node_ms_p95": round(self.next_node.ms_p95, 1),
            "growth": [
                {
                    "workers": each.workers,
                    "pollers": each.workers * self.plan.pollers,
                    "executions_per_second": round(each.executions_per_second, 1),
                    "to_one_worker": round(each.executions_per_second / self._alone, 2),
                    "worker_cpu_s": round(each.worker_cpu_s, 2),
                }
                for each in self.growth
            ],
        }

    def print(self) -> None:
        title = f"{self.plan.olts} far OLTs, {self.plan.pollers} pollers a worker, through Celery"
        table = table_of_numbers(title, "workers", "executions/s", "to one worker", "CPU-seconds")
        for each in self.growth:
            table.add_row(
                str(each.workers),
                f"{each.executions_per_second:.1f}",
                f"{each.executions_per_second / self._alone:.2f} x",
                f"{each.worker_cpu_s:.2f}",
            )
        console = Console()
        console.print(table)
        console.print(f"Next node of an OLT: p95 {self.next_node.ms_p95:.0f} ms with free pollers.")
        database = self.cost.database_cpu_s
        console.print(
            f"Large OLTs, one worker: {self.cost.values_per_cpu_second:,.0f} values per CPU-second of the "
            f"worker, {self.cost.worker_cpu_s:.2f} CPU-seconds"
            + (f"; PostgreSQL {database:.2f}." if database else ".")
        )

    @property
    def _alone(self) -> float:
        return self.growth[0].executions_per_second / self.growth[0].workers


@app.command(epilog=_EXAMPLES)
def workers(
    database_url: Annotated[str, typer.Option(metavar="URL", help="A PostgreSQL that may be filled.")],
    broker_url: Annotated[str, typer.Option(metavar="URL", help="A Redis that nobody else uses.")],
    most: Annotated[int, typer.Option(min=1, help="1, 2, 4 ... up to so many workers.")] = 4,
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is collected.")] = 2,
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs that are far away.")] = 32,
    large_olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs that are near and large.")] = 10,
    large_onus: Annotated[int, typer.Option(min=1, help="ONUs of each of those.")] = 4096,
    as_json: AsJson = False,
) -> None:
    """Collect through Celery with several workers: measure the cost, and how throughput grows."""
    counts = tuple(2**power for power in range(most.bit_length()))
    plan = Plan(counts, rounds=rounds, olts=olts, large_olts=large_olts, large_onus=large_onus)
    run_benchmark(lambda note: measure(plan, database_url, broker_url, note), as_json=as_json)


def measure(plan: Plan, database_url: str, broker_url: str, note: Note) -> Result:
    note("preparing the database")
    settings = {"broker_url": broker_url, "pollers": str(plan.pollers)}
    with private_system(database_url, **settings) as config, facho_process("beat"):
        growth = _measure_growth(plan, config, note)
        next_node = _measure_promptness(plan, config, note)
        cost = _measure_cost(plan, config, note)
    return Result(plan, growth, next_node, cost)


def _measure_growth(plan: Plan, config: Config, note: Note) -> tuple[Growth, ...]:
    with FleetProcess(FleetConfig(olts=plan.olts, onus=plan.onus), prebuilt=True) as fleet:
        fleet.set_scenario(Scenario(latency_s=plan.latency_s))
        create_olts_and_jobs(fleet.addresses, JOBS)
        delete_first_runs()
        found = []
        for count in plan.workers:
            note(f"{count} worker{'s' if count > 1 else ''} with {plan.pollers} pollers each")
            with _workers(count, config) as pids:
                _collect_all()
                found.append(_measure_count(count, pids, plan.rounds))
        _delete_olts()
    return tuple(found)


def _measure_count(count: int, pids: Sequence[int], rounds: int) -> Growth:
    cpu, rates = _cpu_s(pids), []
    for _ in range(rounds):
        executions, seconds = _collect_all()
        rates.append(executions / seconds)
    return Growth(count, statistics.median(rates), _cpu_s(pids) - cpu)


def _measure_promptness(plan: Plan, config: Config, note: Note) -> Promptness:
    note(f"{plan.pollers} OLTs, a poller for each")
    with FleetProcess(FleetConfig(olts=plan.pollers, onus=plan.onus), prebuilt=True) as fleet:
        create_olts_and_jobs(fleet.addresses, JOBS)
        delete_first_runs()
        with _workers(1, config):
            _collect_all()
            last = _last_execution()
            for _ in range(_PROMPT_ROUNDS * plan.rounds):
                _collect_all()
        delays = sorted(next_node_delays(runs_after(last)))
        _delete_olts()
    if not delays:
        raise MeasurementFailed("no execution waited for another one of its OLT")
    return Promptness(statistics.median(delays), delays[min(len(delays) - 1, int(len(delays) * 0.95))])


def _measure_cost(plan: Plan, config: Config, note: Note) -> Cost:
    note(f"{plan.large_olts} OLTs of {plan.large_onus:,} ONUs")
    with FleetProcess(FleetConfig(olts=plan.large_olts, onus=plan.large_onus), prebuilt=True) as fleet:
        create_olts_and_jobs(fleet.addresses, JOBS)
        delete_first_runs()
        with _workers(1, config) as pids:
            _collect_all()
            rounds = []
            for _ in range(plan.rounds):
                server, cpu = server_cpu_s(), _cpu_s(pids)
                _, seconds = _collect_all()
                spent = server_cpu_s()
                database = None if spent is None or server is None else round(spent - server, 3)
                rounds.append((_cpu_s(pids) - cpu, database, seconds))
    worker_cpu_s, database_cpu_s, seconds = sorted(rounds, key=lambda each: each[0])[len(rounds) // 2]
    values = plan.large_olts * plan.large_onus * len(COLUMNS)
    return Cost(values, worker_cpu_s, database_cpu_s, seconds)


def _delete_olts() -> None:
    """Delete all OLTs and jobs, so that nothing of this part is due in the next."""
    from facho.apps.hosts.models import Olt
    from facho.apps.snmp_jobs.models import SnmpJob

    Olt.objects.all().delete()
    SnmpJob.objects.all().delete()


def _collect_all() -> tuple[int, float]:
    """Make every node due; return the number of executions, and the seconds until all had ended."""
    from facho.apps.db.database import database_now
    from facho.apps.executions.models import Execution, State
    from facho.apps.snmp_jobs.models import SnmpJobHost

    last, nodes, began = _last_execution(), SnmpJobHost.objects.count(), time.monotonic()
    SnmpJobHost.objects.update(next_run_at=database_now())
    mine = Execution.objects.filter(id__gt=last)
    while (ended := mine.filter(state=State.SUCCESS).count()) < nodes:
        failed = mine.exclude(error="").values_list("error", flat=True).first()
        if failed or time.monotonic() - began > _PATIENCE_S:
            raise MeasurementFailed(failed or f"{ended} of {nodes} executions ended within {_PATIENCE_S:g} s")
        time.sleep(_LOOK_EVERY_S)
    return nodes, time.monotonic() - began


def _last_execution() -> int:
    from facho.apps.executions.models import Execution

    return Execution.objects.order_by("-id").values_list("id", flat=True).first() or 0


@contextmanager
def _workers(count: int, config: Config) -> Iterator[list[int]]:
    from facho.apps.zabbix_pollers.models import Worker

    with ExitStack() as stack:
        pids = [stack.enter_context(facho_process("worker")).pid for _ in range(count)]
        _wait(lambda: Worker.objects.count() == count, f"{count} workers are there")
        yield pids
    _wait(lambda: not Worker.objects.exists(), f"the workers are gone within {config.stop_within}")


def _wait(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not true():
        if time.monotonic() > until:
            raise MeasurementFailed(f"not within {_PATIENCE_S:g} s: {what}")
        time.sleep(_LOOK_EVERY_S)


def _cpu_s(pids: Sequence[int]) -> float:
    return sum(map(cpu_s_of, pids))
