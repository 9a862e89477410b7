"""Measure a whole system under the load of very many ONUs, each with eight values in every interval.

Everything that an operator has is running, in processes of its own: the simulated OLTs, the scheduler, the
workers, the database, the broker, and the web, whose dashboard a person watches. One job walks state, cause
and distance; another reads five optical values by GET. Values change from one interval to the next as they
do in a network: the optics of many ONUs by a few hundredths of a dB, the state of a few.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Annotated, Any, Final

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
from bench.nodes import create_olts
from bench.private_system import facho_process, private_system
from bench.process_groups import ProcessGroups, children_running, machine_cpu_s, parent_of
from bench.scheduler import allow_files
from bench.served_values import (
    OPTICS,
    STATES,
    Comparison,
    FleetReader,
    Reading,
    StoredOlt,
    choose_rows,
    compare_olt,
)
from bench.web import HOST, free_port, http_get, log_in, wait_for_web
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.report import OltReport, total
from facho.sim.scenario import Scenario

_GROUPS: Final = ("workers", "beat", "web", "database", "broker", "fleet")
_DASHBOARD: Final = "/coordinator/dashboard/"
_WALK_JOB, _GET_JOB, _DISCOVERY = "states", "optics", "discovery"
_WALKED: Final = [column.fact for column in STATES]
_READ: Final = [column.fact for column in OPTICS]
_ON_TIME_S: Final = 2.0
_DISCOVERY_PATIENCE_S: Final = 3600.0
_LOOK_EVERY_S: Final = 0.5
_OTHER_FILES: Final = 200
# Patterns of ONUs in the fleet: few, so that the fleet itself costs little when values change.
_TEMPLATES: Final = 16
_FLAP_PERIOD_S: Final = 1200.0
_FLAP_DOWN_S: Final = 180.0
# OLTs whose history is merged as it will be when its hour is closed.
_MERGED_OLTS: Final = 10
_DAY: Final = timedelta(days=1)

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench million --onus 10000 --olts 10 --minutes 2`  embedded, `facho up` on SQLite

`facho bench million --database-url postgresql://... --broker-url redis://...`  the whole million

`facho bench million --onus 640000 --olts 10000 ...`  many small OLTs

`facho bench million ... --json`  `values_per_second`, `cores`, `stored_equals_served` and others
"""


@dataclass(frozen=True, slots=True)
class Work:
    onus: int = 1_000_000
    olts: int = 250
    interval_s: int = 60
    minutes: float = 10.0
    # Processes of `facho worker`; without a broker, `facho up` decides.
    workers: int = 2
    pollers: int = 10
    fleets: int = 1
    # The fraction of ONUs whose optics are off their usual values, and of ONUs that come and go.
    jitter: float = 0.3
    flapping: float = 0.005
    # ONUs that are compared with what was served.
    sample: int = 400

    @property
    def onus_of_olt(self) -> int:
        return -(-self.onus // self.olts)

    @property
    def all_onus(self) -> int:
        return self.onus_of_olt * self.olts

    @property
    def scenario(self) -> Scenario:
        return Scenario(
            jitter=self.jitter,
            flapping=self.flapping,
            flap_period_s=_FLAP_PERIOD_S,
            flap_down_s=_FLAP_DOWN_S,
            refresh_s=float(self.interval_s),
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """What became of the slots of the measured window."""

    due: int
    on_time: int
    skipped: int
    # Due, and neither begun nor counted as skipped.
    missing: int
    failed: int
    delay_s: Spread
    duration_s: Mapping[str, Spread]
    values: int
    why_late: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quotas:
    statuses: Mapping[str, int]
    required: int
    completed: int
    failed: int
    skipped: int
    violations: int


@dataclass(frozen=True, slots=True)
class Storage:
    bytes_per_onu_day: float
    history_bytes_per_sample: float
    frame_bytes_per_sample: float
    rows_bytes_per_onu_day: float


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    seconds: float
    runs: Runs
    cpu_s: Mapping[str, float]
    memory_mib: Mapping[str, float]
    worker_peak_mib: float
    bench_cpu_s: float
    machine_cpu_s: float
    quotas: Quotas
    storage: Storage
    page_ms: Spread
    page_errors: int
    served: OltReport
    changed_values: float
    changed_onus: float
    comparison: Comparison
    database_counts: Mapping[str, int]
    discovery_s: float

    @property
    def values_per_second(self) -> float:
        return self.runs.values / self.seconds

    @property
    def cores(self) -> dict[str, float]:
        return {name: self.cpu_s.get(name, 0.0) / self.seconds for name in _GROUPS}

    def _us_per_value(self, seconds: float) -> float:
        return seconds / max(1, self.runs.values) * 1e6

    def as_json(self) -> dict[str, Any]:
        work, runs, served = self.work, self.runs, self.served
        return {
            "values_per_second": round(self.values_per_second),
            "runs_due": runs.due,
            "runs_on_time": runs.on_time,
            "skipped": runs.skipped,
            "delay_s_p50": round(runs.delay_s.p50, 3),
            "delay_s_p99": round(runs.delay_s.p99, 3),
            "cores": {name: round(cores, 4) for name, cores in self.cores.items()},
            "memory_mib": {name: round(self.memory_mib.get(name, 0.0), 1) for name in _GROUPS},
            "bytes_per_onu_day": round(self.storage.bytes_per_onu_day),
            "page_ms_p95": round(self.page_ms.p95, 1),
            "stored_equals_served": self.comparison.equal,
            "quotas": {
                **dict(self.quotas.statuses),
                "required": self.quotas.required,
                "completed": self.quotas.completed,
                "failed": self.quotas.failed,
                "skipped": self.quotas.skipped,
                "violations": self.quotas.violations,
            },
            "cpu_us_per_value": {
                **{name: round(self._us_per_value(self.cpu_s.get(name, 0.0)), 3) for name in _GROUPS},
                "all": round(self._us_per_value(sum(self.cpu_s.values())), 3),
            },
            "cpu_s_per_30_s": {name: round(30 * cores, 2) for name, cores in self.cores.items()},
            "history_bytes_per_sample": round(self.storage.history_bytes_per_sample, 3),
            "history_frame_bytes_per_sample": round(self.storage.frame_bytes_per_sample, 3),
            "rows_bytes_per_onu_day": round(self.storage.rows_bytes_per_onu_day),
            "missing": runs.missing,
            "failed": runs.failed,
            "delay_s_max": round(runs.delay_s.largest, 3),
            "why_late": dict(runs.why_late),
            "duration_s": {
                name: {"p50": round(spread.p50, 3), "p95": round(spread.p95, 3)}
                for name, spread in runs.duration_s.items()
            },
            "worker_peak_rss_mib": round(self.worker_peak_mib, 1),
            "page_ms_p50": round(self.page_ms.p50, 1),
            "pages": self.page_ms.count,
            "page_errors": self.page_errors,
            "requests": served.requests,
            "get_requests": served.get,
            "walk_requests": served.get_bulk,
            "values_served": served.varbinds,
            "retransmissions": served.retransmissions,
            "overlaps": served.overlaps,
            "changed_values_share": round(self.changed_values, 3),
            "changed_onus_share": round(self.changed_onus, 3),
            "compared_onus": self.comparison.onus,
            "compared_values": self.comparison.values,
            "differences": list(self.comparison.differences),
            "database_counts": dict(self.database_counts),
            "machine_cores": round(self.machine_cpu_s / self.seconds, 3),
            "bench_cores": round(self.bench_cpu_s / self.seconds, 3),
            "database": self.database,
            "olts": work.olts,
            "onus": work.all_onus,
            "interval_s": work.interval_s,
            "seconds": round(self.seconds, 1),
            "workers": work.workers,
            "pollers": work.pollers,
            "discovery_s": round(self.discovery_s, 1),
        }

    def print(self) -> None:
        console = Console()
        console.print(self._cost_table())
        runs, quotas, storage, compared = self.runs, self.quotas, self.storage, self.comparison
        ontime = f"{runs.on_time:,} within {_ON_TIME_S:g} s" if runs.due else "none"
        statuses = ", ".join(f"{count:,} {name}" for name, count in sorted(quotas.statuses.items()))
        for line in (
            f"{self.values_per_second:,.0f} values per second; {self.changed_values:.0%} of the values, of "
            f"{self.changed_onus:.0%} of the ONUs, differ from those of the interval before.",
            f"{runs.due:,} runs due, {ontime}; {runs.skipped:,} skipped, {runs.missing:,} not begun, "
            f"{runs.failed:,} failed. Delay: p50 {runs.delay_s.p50:.2f} s, p99 {runs.delay_s.p99:.2f} s, "
            f"at most {runs.delay_s.largest:.2f} s.",
            f"Quotas: {statuses}; {quotas.completed:,} of {quotas.required:,} slots completed so far, "
            f"{quotas.failed:,} failed, {quotas.skipped:,} skipped; {quotas.violations:,} violations.",
            f"{storage.bytes_per_onu_day:,.0f} bytes per ONU and day: "
            f"{storage.history_bytes_per_sample:.2f} for a sample in a closed hour of history "
            f"({storage.frame_bytes_per_sample:.2f} in an open one), "
            f"{storage.rows_bytes_per_onu_day:,.0f} for executions and events, without indexes.",
            f"Dashboard, once a second: p95 {self.page_ms.p95:,.0f} ms of {self.page_ms.count:,}, "
            f"{self.page_errors} errors.",
            f"{self.served.requests:,} requests for {self.served.varbinds:,} values, "
            f"{self.served.retransmissions:,} of them repeated.",
            f"Stored and served: {compared.values:,} values of {compared.onus:,} ONUs compared, "
            + ("all equal." if compared.equal else "; ".join(("DIFFERENT", *compared.differences))),
        ):
            console.print(line)

    def _cost_table(self) -> Any:
        work = self.work
        table = table_of_numbers(
            f"{work.all_onus:,} ONUs of {work.olts:,} OLTs, 8 values every {work.interval_s} s, "
            f"{self.database}, {self.seconds:.0f} s",
            "part",
            "cores",
            "CPU-seconds in 30 s",
            "us per value",
            "memory (PSS)",
        )
        rows = [(name, self.cpu_s.get(name, 0.0)) for name in _GROUPS]
        for name, cpu_s in (*rows, ("all", sum(self.cpu_s.values()))):
            memory = self.memory_mib.get(name, 0.0) if name != "all" else sum(self.memory_mib.values())
            table.add_row(
                name,
                f"{cpu_s / self.seconds:.3f}",
                f"{30 * cpu_s / self.seconds:.2f}",
                f"{self._us_per_value(cpu_s):.2f}",
                f"{memory:,.0f} MiB",
            )
        return table


BrokerUrl = Annotated[
    str, typer.Option(metavar="URL", help="A Redis that nobody else uses; embedded if not given.")
]


@app.command(epilog=_EXAMPLES)
def million(
    onus: Annotated[int, typer.Option(min=1, help="ONUs of all OLTs.")] = 1_000_000,
    olts: Annotated[int, typer.Option(min=1, max=10_000, help="Simulated OLTs.")] = 250,
    interval: Annotated[int, typer.Option(min=1, help="Seconds between two runs of each job.")] = 60,
    minutes: Annotated[float, typer.Option(min=0.05, help="How long to measure.")] = 10.0,
    workers: Annotated[int, typer.Option(min=1, help="Processes of pollers, with a broker.")] = 2,
    pollers: Annotated[int, typer.Option(min=1, help="Executions at once in a process.")] = 10,
    fleets: Annotated[int, typer.Option(min=1, help="Processes of simulated OLTs.")] = 1,
    jitter: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of ONUs whose optics are off their usual values.")
    ] = 0.3,
    flapping: Annotated[float, typer.Option(min=0, max=1, help="Fraction of ONUs that come and go.")] = 0.005,
    sample: Annotated[int, typer.Option(min=1, help="ONUs that are compared with what was served.")] = 400,
    database_url: DatabaseUrl = "",
    broker_url: BrokerUrl = "",
    as_json: AsJson = False,
) -> None:
    """Run a whole system with very many ONUs, and measure what it does and what each part costs.

    Without a database and a broker that is `facho up` on SQLite; with both, beat, workers and web.
    """
    work = Work(onus, olts, interval, minutes, workers, pollers, min(fleets, olts), jitter, flapping, sample)
    run_benchmark(lambda note: measure(work, database_url, broker_url, note), as_json=as_json)


def measure(work: Work, database_url: str, broker_url: str, note: Note) -> Result:
    if bool(broker_url) and not database_url:
        raise MeasurementFailed("workers need a PostgreSQL: give --database-url too, or no --broker-url")
    note("preparing the database")
    limits = ("page_requests_a_minute", "address_requests_a_minute")
    settings = {
        "broker_url": broker_url,
        "pollers": str(work.pollers),
        "first_run_delay": "2s",
        **dict.fromkeys(limits, "1000000"),
    }
    with private_system(database_url, **settings) as config, ExitStack() as stack:
        note(f"starting {work.olts:,} OLTs with {work.all_onus:,} ONUs")
        fleets = _start_fleets(work, stack)
        names = create_olts([address for fleet in fleets for address in fleet.addresses])
        headers = log_in(config.time_zone.key)["/"]
        with _running_system(work, fleets, config.broker_url != "") as (groups, port):
            discovery_s = _discover(work, names, note)
            _start_jobs(work, names, note)
            with _Viewer(port, headers) as viewer:
                window = _measure_window(work, groups, fleets, note)
        note("comparing what is stored with what was served")
        return _result(work, fleets, window, viewer, discovery_s)


def _start_fleets(work: Work, stack: ExitStack) -> list[FleetProcess]:
    allow_files(work.olts + _OTHER_FILES)
    cuts = [work.olts * number // work.fleets for number in range(work.fleets + 1)]
    return [
        stack.enter_context(
            FleetProcess(
                FleetConfig(
                    olts=end - start,
                    first=start,
                    onus=work.onus_of_olt,
                    templates=_TEMPLATES,
                    addresses=True,
                    scenario=work.scenario,
                )
            )
        )
        for start, end in pairwise(cuts)
    ]


@contextmanager
def _running_system(
    work: Work, fleets: Sequence[FleetProcess], with_broker: bool
) -> Iterator[tuple[ProcessGroups, int]]:
    """Start the processes of facho; yield all groups of processes, and the port of the web."""
    port = free_port()
    address = ("--address", f"{HOST}:{port}")
    roots: dict[str, Sequence[int]] = {"fleet": [fleet.pid for fleet in fleets], **_server_roots(with_broker)}
    with ExitStack() as stack:
        if with_broker:
            web = stack.enter_context(facho_process("web", *address))
            beat = stack.enter_context(facho_process("beat"))
            workers = [stack.enter_context(facho_process("worker")) for _ in range(work.workers)]
            wait_for_web(port, web)
            roots |= {"web": [web.pid], "beat": [beat.pid], "workers": [each.pid for each in workers]}
        else:
            up = stack.enter_context(facho_process("up", *address))
            wait_for_web(port, up)
            roots |= {"web": children_running(up.pid, "web"), "workers": [up.pid]}
        _wait_for_pollers(work.workers if with_broker else 1)
        yield ProcessGroups(roots), port


def _server_roots(with_broker: bool) -> dict[str, list[int]]:
    """Return the processes of the servers on this machine."""
    from django.db import connection

    from facho.config import current

    roots: dict[str, list[int]] = {}
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            roots["database"] = [parent_of(cursor.fetchone()[0])]
    if with_broker:
        from redis import Redis

        with Redis.from_url(current().redis) as broker:
            roots["broker"] = [int(broker.info("server")["process_id"])]
    return roots


def _wait_for_pollers(count: int) -> None:
    from facho.apps.zabbix_pollers.models import Worker

    _wait(lambda: Worker.objects.count() >= count, 120, f"{count} processes of pollers have started")


def _wait(is_true: Callable[[], bool], patience_s: float, what: str) -> None:
    until = time.monotonic() + patience_s
    while not is_true():
        if time.monotonic() > until:
            raise MeasurementFailed(f"not within {patience_s:,.0f} s: {what}{_first_error()}")
        time.sleep(_LOOK_EVERY_S)


def _first_error() -> str:
    from facho.apps.executions.models import Execution

    error = Execution.objects.exclude(error="").values_list("error", flat=True).first()
    return f"; an execution failed: {error}" if error else ""


def _discover(work: Work, names: Sequence[str], note: Note) -> float:
    """Discover all ONUs once, as soon as there are pollers for it. Return how long it took."""
    from facho.apps.db.database import database_now
    from facho.apps.snmp_jobs.models import SnmpJobHost
    from facho.engine.commands.jobs import NewJob, create_job, disable_jobs

    note(f"attaching the discovery to {work.olts:,} OLTs")
    facts = ["serial", "description"]
    create_job(NewJob(_DISCOVERY, "huawei", "discovery", "24h", facts, olts=names), database_now())
    began = time.monotonic()
    SnmpJobHost.objects.update(next_run_at=database_now())
    _wait_for_cycle(work, (_DISCOVERY,), _DISCOVERY_PATIENCE_S, note, "discovered")
    took = time.monotonic() - began
    disable_jobs([_DISCOVERY], database_now())
    _analyze()
    return took


def _analyze() -> None:
    """Autovacuum would do it within a minute."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def _start_jobs(work: Work, names: Sequence[str], note: Note) -> None:
    """Attach both jobs, half an interval apart, and wait until each has run once on every OLT."""
    from facho.apps.db.database import database_now
    from facho.engine.commands.jobs import NewJob, create_job

    interval = timedelta(seconds=work.interval_s)
    jobs = ((_WALK_JOB, "table", _WALKED), (_GET_JOB, "get", _READ))
    began = time.monotonic()
    for number, (name, kind, facts) in enumerate(jobs):
        note(f"attaching the job '{name}' to {work.olts:,} OLTs")
        time.sleep(max(0.0, began + number * work.interval_s / 2 - time.monotonic()))
        create_job(NewJob(name, "huawei", kind, interval, facts, olts=names), database_now())
    patience = max(300.0, 20.0 * work.interval_s)
    _wait_for_cycle(work, (_WALK_JOB, _GET_JOB), patience, note, "in their first cycle")


def _wait_for_cycle(work: Work, jobs: Sequence[str], patience_s: float, note: Note, what: str) -> None:
    """Wait until every node of these jobs has had a success."""
    from facho.apps.executions.models import Execution, State

    nodes = work.olts * len(jobs)

    def is_complete() -> bool:
        done = Execution.objects.filter(node__job__name__in=jobs, state=State.SUCCESS)
        ended = done.order_by().values("node").distinct().count()
        note(f"{ended:,} of {nodes:,} nodes {what}")
        return ended >= nodes

    _wait(is_complete, patience_s, f"{nodes:,} nodes {what}")


class _Viewer:
    """A person with the dashboard open, which is requested once a second."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._get = http_get(port, {"/": dict(headers)})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="viewer")
        # When each request began, and how long it took.
        self.requests: list[tuple[float, float]] = []
        self.errors: list[tuple[float, str]] = []

    def __enter__(self) -> _Viewer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        due = time.monotonic()
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1.0, time.monotonic())
            began = time.monotonic()
            try:
                status, _body = self._get(_DASHBOARD)
            except OSError as error:
                self.errors.append((began, str(error)))
                continue
            if status == 200:
                self.requests.append((began, (time.monotonic() - began) * 1000))
            else:
                self.errors.append((began, f"status {status}"))


@dataclass(frozen=True, slots=True)
class _Window:
    began: datetime
    ended: datetime
    # By the clock of this process.
    since: float
    until: float
    cpu_s: Mapping[str, float]
    memory_mib: Mapping[str, float]
    worker_peak_mib: float
    bench_cpu_s: float
    machine_cpu_s: float
    served: OltReport
    database_counts: Mapping[str, int]

    @property
    def seconds(self) -> float:
        return self.until - self.since


def _measure_window(work: Work, groups: ProcessGroups, fleets: Sequence[FleetProcess], note: Note) -> _Window:
    from facho.apps.db.database import database_now

    counts, served = _database_counts(), _served(fleets)
    began, since = database_now(), time.monotonic()
    cpu, own, machine = groups.cpu_s(), time.process_time(), machine_cpu_s()
    until = since + 60 * work.minutes
    while (left := until - time.monotonic()) > 0:
        note(f"measuring, {left:,.0f} s to go")
        time.sleep(min(left, 5.0))
    spent = {name: seconds - cpu[name] for name, seconds in groups.cpu_s().items()}
    own, machine = time.process_time() - own, machine_cpu_s() - machine
    ended, until = database_now(), time.monotonic()
    after = _database_counts()
    window = _Window(
        began,
        ended,
        since,
        until,
        spent,
        groups.memory_mib(),
        groups.peak_memory_mib("workers"),
        own,
        machine,
        _difference(_served(fleets), served),
        {name: number - counts[name] for name, number in after.items()},
    )
    note("letting the last slots begin")
    _wait_for_last_slots(work, window)
    return window


def _served(fleets: Sequence[FleetProcess]) -> OltReport:
    return total(report for fleet in fleets for report in fleet.report().olts)


def _difference(after: OltReport, before: OltReport) -> OltReport:
    names = (
        "requests", "get", "get_next", "get_bulk", "retransmissions", "answers", "varbinds", "bytes_in",
        "bytes_out", "overlaps",
    )  # fmt: skip
    return OltReport(**{name: getattr(after, name) - getattr(before, name) for name in names})


def _database_counts() -> dict[str, int]:
    """Return counters of a PostgreSQL that explain its costs."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xact_commit + xact_rollback, tup_inserted, tup_updated, tup_deleted,"
            " pg_current_wal_lsn() - '0/0'::pg_lsn"
            " FROM pg_stat_database WHERE datname = current_database()"
        )
        row = cursor.fetchone()
    names = ("transactions", "rows_inserted", "rows_updated", "rows_deleted", "wal_bytes")
    return {name: int(number) for name, number in zip(names, row, strict=True)}


def _slots(window: _Window) -> Any:
    from facho.apps.executions.models import Execution, Trigger

    return Execution.objects.filter(
        slot__gt=window.began, slot__lte=window.ended, node__job__name__in=(_WALK_JOB, _GET_JOB)
    ).exclude(trigger=Trigger.RUN_NOW)


def _wait_for_last_slots(work: Work, window: _Window) -> None:
    """Wait until all runs of the window have begun and ended, but no longer than it makes sense."""
    from facho.apps.executions.models import OPEN

    until = time.monotonic() + max(10.0, 2.0 * work.interval_s)
    while time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
        if time.monotonic() - window.until > 2 and not _slots(window).filter(state__in=OPEN).exists():
            return


def _result(
    work: Work, fleets: Sequence[FleetProcess], window: _Window, viewer: _Viewer, discovery_s: float
) -> Result:
    from django.db import connection

    reader = FleetReader(fleets)
    pages = [ms for at, ms in viewer.requests if window.since <= at <= window.until]
    now = window.began.timestamp()
    rows = range(min(work.onus_of_olt, 1000))
    values, onus = reader.changed_share(0, rows, now, now + work.interval_s)
    return Result(
        work=work,
        database=connection.vendor,
        seconds=window.seconds,
        runs=_read_runs(window),
        cpu_s=window.cpu_s,
        memory_mib=window.memory_mib,
        worker_peak_mib=window.worker_peak_mib,
        bench_cpu_s=window.bench_cpu_s,
        machine_cpu_s=window.machine_cpu_s,
        quotas=_read_quotas(window),
        storage=_measure_storage(work, window),
        page_ms=Spread.of(pages),
        page_errors=sum(window.since <= at <= window.until for at, _ in viewer.errors),
        served=window.served,
        changed_values=values,
        changed_onus=onus,
        comparison=_compare(work, reader),
        database_counts=window.database_counts,
        discovery_s=discovery_s,
    )


def _read_runs(window: _Window) -> Runs:
    from facho.apps.executions.models import SkippedSlots, State
    from facho.apps.snmp_jobs.models import SnmpJobHost

    due = 0
    for slot, interval_s in SnmpJobHost.objects.filter(next_run_at__isnull=False).values_list(
        "next_run_at", "job__interval_s"
    ):
        assert slot is not None
        due += _slots_between(slot, timedelta(seconds=interval_s), window.began, window.ended)
    fields = ("node__job__name", "slot", "started_at", "ended_at", "state", "why_late", "load")
    runs = list(_slots(window).values_list(*fields))
    begun = [(start - slot).total_seconds() for _, slot, start, *_ in runs if start is not None]
    ended = [run for run in runs if run[4] == State.SUCCESS]
    spans = SkippedSlots.objects.filter(last_slot__gt=window.began, first_slot__lte=window.ended)
    skipped = sum(
        _slots_between(
            last, timedelta(seconds=interval_s), max(window.began, first - _TICK), min(window.ended, last)
        )
        for first, last, interval_s in spans.values_list("first_slot", "last_slot", "node__job__interval_s")
    )
    return Runs(
        due=due,
        on_time=sum(delay <= _ON_TIME_S for delay in begun),
        skipped=skipped,
        missing=max(0, due - skipped - len(begun)),
        failed=sum(run[4] in (State.FAILED, State.ABORTED) for run in runs),
        delay_s=Spread.of(begun),
        duration_s={
            job: Spread.of((end - start).total_seconds() for name, _, start, end, *_ in ended if name == job)
            for job in (_WALK_JOB, _GET_JOB)
        },
        values=_count_values(window),
        why_late=Counter(run[5] for run in runs if run[5]),
    )


_TICK: Final = timedelta(microseconds=1)


def _slots_between(slot: datetime, interval: timedelta, after: datetime, until: datetime) -> int:
    """Count the slots in (after, until] of a grid that has this slot."""
    return max(0, (until - slot) // interval - (after - slot) // interval)


def _count_values(window: _Window) -> int:
    """Count the values that were stored within the window: those of ONUs, and nothing else that was asked."""
    from facho.apps.executions.models import Execution, State

    ended = Execution.objects.filter(
        state=State.SUCCESS, ended_at__gt=window.began, ended_at__lte=window.ended
    )
    facts = {_WALK_JOB: len(_WALKED), _GET_JOB: len(_READ)}
    jobs = ended.filter(node__job__name__in=facts).values_list("node__job__name", "counts")
    return sum(facts[job] * counts["rows"] for job, counts in jobs)


def _read_quotas(window: _Window) -> Quotas:
    from django.db.models import Count, Sum

    from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation

    trackers = QuotaTracker.objects.filter(period_end__gt=window.began)
    statuses = trackers.order_by().values("status").annotate(count=Count("id"))
    sums = trackers.aggregate(
        required=Sum("quota_required", default=0),
        completed=Sum("quota_completed", default=0),
        failed=Sum("quota_failed", default=0),
        skipped=Sum("quota_skipped", default=0),
    )
    return Quotas(
        {each["status"]: each["count"] for each in statuses},
        **sums,
        violations=QuotaViolation.objects.filter(period_end__gt=window.began).count(),
    )


def _measure_storage(work: Work, window: _Window) -> Storage:
    from facho.apps.history.models import HistoryFrame, Subject
    from facho.apps.history.store import places_of_olt
    from facho.core.frames import read_sheet
    from facho.core.hours import merge_by_place

    frames = HistoryFrame.objects.filter(
        subject=Subject.ONU, at__gt=window.began, at__lte=window.ended
    ).order_by("at", "id")
    olts = list(frames.order_by().values_list("olt_id", flat=True).distinct()[:_MERGED_OLTS])
    samples = open_bytes = closed_bytes = 0
    for olt_id in olts:
        data = [bytes(each) for each in frames.filter(olt_id=olt_id).values_list("data", flat=True)]
        sheets = [read_sheet(each) for each in data]
        samples += sum(
            value is not None for sheet in sheets for fact in sheet.facts for value in sheet.first(fact)
        )
        open_bytes += sum(map(len, data))
        closed_bytes += sum(len(sheet) for _, sheet in merge_by_place(sheets, places_of_olt(olt_id)))
    days = window.seconds / _DAY.total_seconds()
    rows = _row_bytes(window) / work.all_onus / days
    onus = max(1, len(olts)) * work.onus_of_olt
    return Storage(
        closed_bytes / onus / days + rows, closed_bytes / max(1, samples), open_bytes / max(1, samples), rows
    )


def _row_bytes(window: _Window) -> float:
    """Return the size of the rows that the window added to tables that grow, without their indexes."""
    from django.db import connection, models

    from facho.apps.discovery.models import OnuEvent
    from facho.apps.executions.models import Attempt, Execution

    size = 0.0
    grown: tuple[tuple[type[models.Model], str], ...] = (
        (Execution, "queued_at"), (Attempt, "started_at"), (OnuEvent, "at"),
    )  # fmt: skip
    for model, column in grown:
        if connection.vendor == "postgresql":
            each = "pg_column_size(t.*)"
        else:
            names = [field.column for field in model._meta.concrete_fields]
            each = " + ".join(f'COALESCE(LENGTH(CAST(t."{name}" AS BLOB)), 0)' for name in names)
        with connection.cursor() as cursor:
            cursor.execute(
                f'SELECT COALESCE(SUM({each}), 0) FROM "{model._meta.db_table}" t'  # noqa: S608
                f' WHERE t."{column}" > %s AND t."{column}" <= %s',
                [_db_time(window.began), _db_time(window.ended)],
            )
            size += float(cursor.fetchone()[0])
    return size


def _db_time(at: datetime) -> Any:
    from facho.apps.db import sql

    return sql.db_time(at)


def _compare(work: Work, reader: FleetReader) -> Comparison:
    compared = Comparison()
    for olt, rows in choose_rows(Random(), work.olts, work.onus_of_olt, work.sample).items():
        compared += compare_olt(reader, olt, rows, _read_stored(f"olt-{olt:05d}"))
    return compared


def _read_stored(name: str) -> StoredOlt:
    from facho.apps.discovery.models import Onu
    from facho.apps.executions.models import Execution, State
    from facho.apps.history.models import HistoryFrame, Subject
    from facho.apps.hosts.models import Olt
    from facho.core.frames import read_sheet

    olt_id = Olt.objects.values_list("id", flat=True).get(name=name)
    done = Execution.objects.filter(olt_id=olt_id, state=State.SUCCESS).order_by("-started_at")

    def last(job: str, before: datetime | None = None) -> Reading:
        runs = done.filter(node__job__name=job)
        found = (runs if before is None else runs.filter(started_at__lt=before)).first()
        if found is None or found.started_at is None or found.ended_at is None:
            raise MeasurementFailed(f"{name} has no execution of the job '{job}' to compare")
        return Reading(found.started_at, found.ended_at)

    optics = last(_GET_JOB)
    frames = HistoryFrame.objects.filter(olt_id=olt_id, subject=Subject.ONU, at__gte=optics.began)
    voltages: dict[int, float | None] = {}
    for data in frames.order_by("at", "id").values_list("data", flat=True):
        sheet = read_sheet(bytes(data))
        if _VOLTAGE in sheet.facts:
            voltages = dict(zip(sheet.ids, sheet.first(_VOLTAGE), strict=True))
    fields = [column.fact for column in (*STATES, *OPTICS) if column.fact != _VOLTAGE]
    onus = {}
    for pk, index, *values in Onu.objects.filter(olt_id=olt_id).values_list("id", "raw_index", *fields):
        # The voltage has no column of its own: it is in the history alone.
        onus[index] = {**dict(zip(fields, values, strict=True)), _VOLTAGE: voltages.get(pk)}
    return StoredOlt(onus, last(_WALK_JOB), optics, last(_WALK_JOB, before=optics.began))


_VOLTAGE: Final = "voltage_v"
