"""Measure a whole system under the load of very many ONUs, each with eight values in every interval, or ten.

Everything that an operator has is running, in processes of its own: the simulated OLTs, the scheduler, the
workers, the database, the broker, and the web, whose dashboard a person watches. One job walks state, cause
and distance; another reads five optical values by GET; and a third, if wanted, walks two counters. Values
change from one interval to the next as they do in a network: the optics of many ONUs by a few hundredths of
a dB, the state of a few.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Annotated, Final

import typer

from bench.harness import (
    AsJson,
    DatabaseUrl,
    MeasurementFailed,
    Note,
    Spread,
    run_benchmark,
)
from bench.million_figures import (
    Span,
    measure_storage,
    read_quotas,
    read_runs,
    slots_in,
)
from bench.million_result import Result
from bench.million_system import (
    GET_JOB,
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
from bench.served_values import Comparison, FleetReader, StoredOlt, choose_rows, compare_values
from bench.web import log_in
from facho.sim.process import FleetProcess
from facho.sim.report import OltReport, total

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench million --onus 10000 --olts 10 --minutes 2`  embedded, `facho up` on SQLite

`facho bench million --database-url postgresql://... --broker-url redis://...`  the whole million

`facho bench million --onus 640000 --olts 10000 --get-interval 300 ...`  many small OLTs

`facho bench million --traffic ...`  with the counters of all ONUs in each interval, to compare

`facho bench million ... --json`  `values_per_second`, `cores`, `stored_equals_served` and others
"""


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
    traffic: Annotated[
        bool,
        typer.Option("--traffic", help="Read the octet counters of all ONUs too, and store their rates."),
    ] = False,
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
        traffic,
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
    present, history = _compare(work, reader, window.span)
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
        comparison=present,
        history=history,
        database_counts=window.database_counts,
        discovery_s=discovery_s,
    )


def _compare(work: Work, reader: FleetReader, span: Span) -> tuple[Comparison, Comparison]:
    """Compare the present values of some ONUs, and their history, with what was served."""
    present, history = Comparison(), Comparison()
    for olt, rows in choose_rows(Random(), work.olts, work.onus_of_olt, work.sample).items():
        stored = StoredOlt(f"olt-{olt:05d}", WALK_JOB, GET_JOB)
        for values in stored.last_values():
            present += compare_values(reader, olt, rows, values, work.interval_s)
        for values in stored.frames(span.began):
            history += compare_values(reader, olt, rows, values, work.interval_s)
    return present, history
