"""Measure a whole system under the load of very many ONUs, each with eight values in every interval.

Everything that an operator has is running, in processes of its own: the simulated OLTs, the scheduler, the
workers, the database, the broker, and the web, whose dashboard a person watches. One job walks state, cause
and distance; another reads five optical values by GET. Values change from one interval to the next as they
do in a network: the optics of many ONUs by a few hundredths of a dB, the state of a few.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
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
from bench.million_figures import (
    ON_TIME_S,
    Quotas,
    Runs,
    Span,
    Storage,
    measure_storage,
    read_quotas,
    read_runs,
    slots_in,
)
from bench.million_system import (
    GET_JOB,
    GROUPS,
    LOOK_EVERY_S,
    WALK_JOB,
    Viewer,
    Work,
    discover_onus,
    running_system,
    start_fleets,
    start_jobs,
)
from bench.nodes import create_olts
from bench.private_system import private_system
from bench.process_groups import ProcessGroups, machine_cpu_s
from bench.served_values import Comparison, FleetReader, choose_rows, compare_olt, read_stored
from bench.web import log_in
from facho.sim.process import FleetProcess
from facho.sim.report import OltReport, total

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench million --onus 10000 --olts 10 --minutes 2`  embedded, `facho up` on SQLite

`facho bench million --database-url postgresql://... --broker-url redis://...`  the whole million

`facho bench million --onus 640000 --olts 10000 --get-interval 300 ...`  many small OLTs

`facho bench million ... --json`  `values_per_second`, `cores`, `stored_equals_served` and others
"""


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
        return {name: self.cpu_s.get(name, 0.0) / self.seconds for name in GROUPS}

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
            "memory_mib": {name: round(self.memory_mib.get(name, 0.0), 1) for name in GROUPS},
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
                **{name: round(self._us_per_value(self.cpu_s.get(name, 0.0)), 3) for name in GROUPS},
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
            "get_interval_s": work.get_interval_s,
            "seconds": round(self.seconds, 1),
            "workers": work.workers,
            "pollers": work.pollers,
            "discovery_s": round(self.discovery_s, 1),
        }

    def print(self) -> None:
        console = Console()
        console.print(self._cost_table())
        runs, quotas, storage, compared = self.runs, self.quotas, self.storage, self.comparison
        ontime = f"{runs.on_time:,} within {ON_TIME_S:g} s" if runs.due else "none"
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
        rows = [(name, self.cpu_s.get(name, 0.0)) for name in GROUPS]
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
    get_interval: Annotated[
        int, typer.Option(min=0, help="Seconds between two reads of the optics, if not the same.")
    ] = 0,
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
    work = Work(
        onus,
        olts,
        interval,
        get_interval or interval,
        minutes,
        workers,
        pollers,
        min(fleets, olts),
        jitter,
        flapping,
        sample,
    )
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
        fleets = start_fleets(work, stack)
        names = create_olts([address for fleet in fleets for address in fleet.addresses])
        headers = log_in(config.time_zone.key)["/"]
        with running_system(work, fleets, config.broker_url != "") as (groups, port):
            discovery_s = discover_onus(work, names, note)
            start_jobs(work, names, note)
            with Viewer(port, headers) as viewer:
                window = _measure_window(work, groups, fleets, note)
        note("comparing what is stored with what was served")
        return _result(work, fleets, window, viewer, discovery_s)


@dataclass(frozen=True, slots=True)
class _Window:
    span: Span
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
        Span(began, ended),
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


def _wait_for_last_slots(work: Work, window: _Window) -> None:
    """Wait until all runs of the window have begun and ended, but no longer than it makes sense."""
    from facho.apps.executions.models import OPEN

    until = time.monotonic() + max(10.0, 2.0 * work.interval_s)
    while time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
        if time.monotonic() - window.until > 2 and not slots_in(window.span).filter(state__in=OPEN).exists():
            return


def _result(
    work: Work, fleets: Sequence[FleetProcess], window: _Window, viewer: Viewer, discovery_s: float
) -> Result:
    from django.db import connection

    reader = FleetReader(fleets)
    pages = [ms for at, ms in viewer.requests if window.since <= at <= window.until]
    now = window.span.began.timestamp()
    rows = range(min(work.onus_of_olt, 1000))
    values, onus = reader.changed_share(0, rows, now, now + work.interval_s)
    return Result(
        work=work,
        database=connection.vendor,
        seconds=window.seconds,
        runs=read_runs(window.span),
        cpu_s=window.cpu_s,
        memory_mib=window.memory_mib,
        worker_peak_mib=window.worker_peak_mib,
        bench_cpu_s=window.bench_cpu_s,
        machine_cpu_s=window.machine_cpu_s,
        quotas=read_quotas(window.span),
        storage=measure_storage(work, window.span),
        page_ms=Spread.of(pages),
        page_errors=sum(window.since <= at <= window.until for at, _ in viewer.errors),
        served=window.served,
        changed_values=values,
        changed_onus=onus,
        comparison=_compare(work, reader),
        database_counts=window.database_counts,
        discovery_s=discovery_s,
    )


def _compare(work: Work, reader: FleetReader) -> Comparison:
    compared = Comparison()
    for olt, rows in choose_rows(Random(), work.olts, work.onus_of_olt, work.sample).items():
        compared += compare_olt(reader, olt, rows, read_stored(f"olt-{olt:05d}", WALK_JOB, GET_JOB))
    return compared
