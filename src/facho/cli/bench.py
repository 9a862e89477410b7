"""`facho bench`: what it costs, measured here, beside others where there are others."""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli import bench_coordinator, bench_forecast, bench_history, bench_plan, bench_web
from facho.cli.measuring import AsJson, DatabaseUrl, measuring
from facho.cli.progress import noting

if TYPE_CHECKING:
    from facho.bench.adapt import Comparison, Run
    from facho.bench.collect import Result as Collected
    from facho.bench.scheduler import Result as Promptness
    from facho.bench.snmp import Result

app = typer.Typer(
    no_args_is_help=True, help="Measure speed, beside other programs, in one run on this machine."
)
app.command(epilog=bench_history.EXAMPLES)(bench_history.history)
app.command(epilog=bench_coordinator.EXAMPLES)(bench_coordinator.coordinator)
app.command(epilog=bench_forecast.EXAMPLES)(bench_forecast.forecast)
app.command(epilog=bench_plan.EXAMPLES)(bench_plan.plan)
app.command(epilog=bench_web.EXAMPLES)(bench_web.web)

_EXAMPLES_SNMP: Final = """
**Examples**

`facho bench snmp`  a table: values per CPU-second of every client that is installed

`facho bench snmp --json`  `values_per_cpu_second` and `ratios`, null for what is not installed; `v3` the same

CPU time counts, wall time does not. Every client walks the same simulated OLTs in turns, at its best setting.
"""


@app.command(epilog=_EXAMPLES_SNMP)
def snmp(
    rounds: Annotated[int, typer.Option(min=1, help="How often each client walks all OLTs.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Walk ten simulated OLTs with facho and with other SNMP clients, in v2c and in v3."""
    from facho.bench.snmp import COLUMNS, OLTS, ONUS, PEERS, V3_PEERS, WalkFailed, compare

    with noting() as note:
        try:
            plain = compare(PEERS, rounds, note)
            v3 = compare(V3_PEERS, rounds, note)
        except (WalkFailed, RuntimeError) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(plain.as_json() | {"v3": v3.as_json()}, indent=2))
        return
    work = f"{OLTS} OLTs, {len(COLUMNS)} columns of {ONUS:,} ONUs, {rounds} rounds"
    _print_speeds(plain, f"SNMPv2c: {work}")
    _print_speeds(v3, f"SNMPv3, SHA-256 and AES-128: {work}")


def _print_speeds(result: Result, title: str) -> None:
    table = Table(title=title)
    for heading in ("client", "repetitions", "values per CPU-second", "lowest", "highest", "facho is"):
        left = heading == "client"
        table.add_column(heading, justify="left" if left else "right", no_wrap=left)
    ratios = result.ratios()
    for line in result.lines:
        numbers = (line.values_per_cpu_second, min(line.rounds), max(line.rounds))
        speeds = (f"{number:,.0f}" for number in numbers)
        table.add_row(line.name, str(line.repetitions), *speeds, f"{ratios[line.name]:.2f} x")
    for name in result.missing:
        table.add_row(name, "", "not installed")
    Console().print(table)


_EXAMPLES_ADAPT: Final = """
**Examples**

`facho bench adapt`  a table for each kind of agent: seconds at every fixed setting, and adaptive

`facho bench adapt --json`  `ratio` to the best fixed setting and `timeout_share`, the worst of all `agents`
"""


@app.command(epilog=_EXAMPLES_ADAPT)
def adapt(as_json: AsJson = False) -> None:
    """Walk slow simulated OLTs at every fixed setting, and with the client finding its own."""
    from facho.bench.adapt import ONUS, compare

    with noting() as note:
        comparisons = compare(note)
    if as_json:
        result = {
            "ratio": round(max(comparison.ratio for comparison in comparisons), 3),
            "timeout_share": round(max(comparison.timeout_share for comparison in comparisons), 4),
            "agents": [comparison.as_json() for comparison in comparisons],
        }
        typer.echo(json.dumps(result, indent=2))
        return
    for comparison in comparisons:
        _print_grid(comparison, f"{comparison.agent}; {ONUS:,} ONUs")


def _written(run: Run) -> str:
    lost = f" ({run.timeout_share:.0%} lost)" if run.timeouts else ""
    return f"{run.seconds:.2f} s{lost}" if run.complete else "not complete"


def _print_grid(comparison: Comparison, title: str) -> None:
    from facho.snmp import Learned

    table = Table("values a request", title=title)
    in_flight = sorted({setting.in_flight for setting in comparison.fixed})
    for number in in_flight:
        table.add_column(f"{number} in flight", justify="right")
    for varbinds in sorted({setting.varbinds for setting in comparison.fixed}):
        runs = [comparison.fixed[Learned(varbinds, number)] for number in in_flight]
        table.add_row(str(varbinds), *map(_written, runs))
    ended = ", ".join(f"{run.ended_at.varbinds} x {run.ended_at.in_flight}" for run in comparison.adaptive)
    seconds = ", ".join(f"{run.seconds:.2f} s" for run in comparison.adaptive)
    console = Console()
    console.print(table)
    console.print(
        f"Adaptive: {seconds} (ended at {ended}); {comparison.ratio:.2f} times the best fixed setting, "
        f"{comparison.timeout_share:.2%} time-outs.\n"
    )


_EXAMPLES_DECODE: Final = """
**Examples**

`facho bench decode`  what it costs to turn a walk's rows into facts, beside the walk itself

`facho bench decode --json`  `values_per_cpu_second` and `share_of_client_cost`
"""


@app.command(epilog=_EXAMPLES_DECODE)
def decode(
    rounds: Annotated[int, typer.Option(min=1, help="How often to walk and decode.")] = 7,
    as_json: AsJson = False,
) -> None:
    """Walk ten simulated OLTs and decode what they said, in turns."""
    from facho.bench.decode import measure

    with noting() as note:
        result = measure(rounds, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    table = Table("what", title=f"{result.values:,} values a round, {rounds} rounds")
    for heading in ("microseconds a value", "lowest", "highest"):
        table.add_column(heading, justify="right")
    for what, costs in (
        ("walk", result.walk_us),
        ("decode the same", result.decode_us),
        ("decode every column of ONUs", result.all_columns_us),
    ):
        table.add_row(what, *(f"{us:.3f}" for us in (statistics.median(costs), min(costs), max(costs))))
    console = Console()
    console.print(table)
    console.print(
        f"{result.values_per_cpu_second:,.0f} values decoded per CPU-second; "
        f"{result.share_of_client_cost:.0%} of what it cost to walk them."
    )


Pollers = Annotated[int, typer.Option(min=1, help="Executions at once.")]

_EXAMPLES_COLLECT: Final = """
**Examples**

`facho bench collect`  collects from ten simulated OLTs, on SQLite, beside snmpbulkwalk

`facho bench collect --json`  `values_per_cpu_second` and `ratio_to_snmpbulkwalk`, once all ONUs are known

`facho bench collect --database-url postgresql://me@/bench?host=/run/postgresql`  on PostgreSQL

CPU time is that of the engine's process, with all its threads. That of a PostgreSQL is shown apart.
"""


@app.command(epilog=_EXAMPLES_COLLECT)
def collect(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs.")] = 10,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of each.")] = 4096,
    rounds: Annotated[int, typer.Option(min=1, help="Collections after the first.")] = 5,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Rows that facho asks for in one request; snmpbulkwalk asks for 50.")
    ] = 50,
    pollers: Pollers = 10,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Collect with the whole engine, from the request to the committed row, beside snmpbulkwalk."""
    from facho.bench.collect import Work, measure

    with measuring() as note:
        result = measure(Work(olts, onus, rounds, pollers, repetitions), database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print_collected(result)


def _print_collected(result: Collected) -> None:
    work = result.work
    asked = f"{work.olts} OLTs, {work.columns} columns of {work.onus:,} ONUs"
    table = Table("what", title=f"{asked}, {work.rounds} rounds, {result.database}")
    for heading in ("values per CPU-second", "CPU-seconds", "of the database", "seconds", "to snmpbulkwalk"):
        table.add_column(heading, justify="right")
    for what, rounds in (("first collection", (result.first,)), ("further collections", result.repeated)):
        cpu_s = statistics.median(each.cpu_s for each in rounds)
        server = [each.server_cpu_s for each in rounds if each.server_cpu_s is not None]
        ratio = result.ratio(work.values / cpu_s)
        table.add_row(
            what,
            f"{work.values / cpu_s:,.0f}",
            f"{cpu_s:.2f}",
            f"{statistics.median(server):.2f}" if server else "",
            f"{statistics.median(each.wall_s for each in rounds):.2f}",
            "" if ratio is None else f"{ratio:.2f} x",
        )
    if result.peer_cpu_s is None:
        table.add_row("snmpbulkwalk", "not installed")
    else:
        cpu_s = statistics.median(result.peer_cpu_s)
        table.add_row("snmpbulkwalk > /dev/null", f"{work.values / cpu_s:,.0f}", f"{cpu_s:.2f}")
    Console().print(table)


_EXAMPLES_SCHEDULER: Final = """
**Examples**

`facho bench scheduler`  10,000 nodes on 1,000 simulated OLTs: how long a step takes, how late a node starts

`facho bench scheduler --json`  `step_ms_p95`, `start_delay_s_p99`, `next_node_ms_p95` and the others

`facho bench scheduler --olts 100 --nodes 1000 --seconds 10`  a small one
"""


@app.command(epilog=_EXAMPLES_SCHEDULER)
def scheduler(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs.")] = 1000,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of them, each due every 300 s.")] = 10_000,
    seconds: Annotated[float, typer.Option(min=1, max=300, help="How long to let it run.")] = 40.0,
    pollers: Pollers = 10,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Run the embedded engine with very many nodes, and see how promptly it starts them."""
    from facho.bench.scheduler import Load, measure

    with measuring() as note:
        result = measure(Load(olts, nodes, seconds, pollers), database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print_promptness(result)


def _print_promptness(result: Promptness) -> None:
    load = result.load
    table = Table("what", title=f"{load.nodes:,} nodes on {load.olts:,} OLTs, {result.database}")
    for heading in ("how many", "p50", "p95", "p99", "largest"):
        table.add_column(heading, justify="right")
    for what, spread, unit in (
        ("a step and its claim", result.step_ms, "ms"),
        ("every claim", result.claim_ms, "ms"),
        ("from slot to start, OLT free", result.start_delay_s, "s"),
        ("next node of an OLT", result.next_node_ms, "ms"),
    ):
        numbers = (spread.p50, spread.p95, spread.p99, spread.largest)
        digits = 2 if unit == "s" else 1
        table.add_row(what, f"{spread.count:,}", *(f"{number:,.{digits}f} {unit}" for number in numbers))
    console = Console()
    console.print(table)
    all_due = result.all_due
    console.print(
        f"{result.executions:,} executions, {result.cpu_share:.0%} of one CPU. All nodes due at once, "
        f"without SNMP: a step of {all_due.step_ms:,.0f} ms, a claim of {all_due.claim_ms:,.0f} ms."
    )


_EXAMPLES_WORKERS: Final = """
**Examples**

`facho bench workers --database-url postgresql://... --broker-url redis://...`  with 1, 2 and 4 workers here

`facho bench workers ... --json`  `values_per_cpu_second`, `next_node_ms_p95`, `growth`
"""


@app.command(epilog=_EXAMPLES_WORKERS)
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
    """Collect through Celery with several workers: what it costs, and how throughput grows."""
    from facho.bench.workers import Plan, measure

    workers = tuple(2**power for power in range(most.bit_length()))
    plan = Plan(workers, rounds=rounds, olts=olts, large_olts=large_olts, large_onus=large_onus)
    with measuring() as note:
        result = measure(plan, database_url, broker_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print_grown(result.as_json(), plan.olts, plan.pollers)


def _print_grown(told: dict[str, Any], olts: int, pollers: int) -> None:
    table = Table(title=f"{olts} far OLTs, {pollers} pollers a worker, through Celery")
    for heading in ("workers", "executions/s", "to one worker", "CPU-seconds"):
        table.add_column(heading, justify="right")
    for each in told["growth"]:
        table.add_row(
            str(each["workers"]),
            f"{each['executions_per_second']:.1f}",
            f"{each['to_one_worker']:.2f} x",
            f"{each['worker_cpu_s']:.2f}",
        )
    console = Console()
    console.print(table)
    database = told["database_cpu_s"]
    console.print(f"Next node of an OLT: p95 {told['next_node_ms_p95']:.0f} ms with free pollers.")
    console.print(
        f"Large OLTs, one worker: {told['values_per_cpu_second']:,} values per CPU-second of the worker, "
        f"{told['worker_cpu_s']:.2f} CPU-seconds" + (f"; PostgreSQL {database:.2f}." if database else ".")
    )


_EXAMPLES_SIM: Final = """
**Examples**

`facho bench sim`  what the simulated fleet can serve, and the memory of a large one

`facho bench sim --json`
"""


@app.command(epilog=_EXAMPLES_SIM)
def sim(as_json: AsJson = False) -> None:
    """Measure the simulated fleet itself: it must be faster than what is measured with it."""
    from facho.bench.sim import measure_memory, measure_speed

    with noting() as note:
        note("serving GETBULK requests for 50 rows")
        speed = measure_speed()
        note("building 250 OLTs of 4,000 ONUs")
        memory = measure_memory()
    if as_json:
        result = {
            "answers_per_cpu_second": round(speed.answers_per_cpu_s),
            "memory_bytes": memory.rss_bytes,
            "build_cpu_seconds": round(memory.build_cpu_s, 1),
        }
        typer.echo(json.dumps(result, indent=2))
        return
    typer.echo(f"{speed.answers_per_cpu_s:,.0f} GETBULK answers of 50 values per CPU-second")
    size = f"{memory.olts} OLTs x {memory.onus:,} ONUs x {memory.columns} columns"
    typer.echo(
        f"{memory.rss_bytes / 2**20:,.0f} MiB for {size}, built in {memory.build_cpu_s:.1f} CPU-seconds"
    )
