"""`facho collect`: run one execution in the foreground, by the engine's code and under the OLT's lease."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from facho.cli.errors import Exit
from facho.cli.manual_execution import (
    CHECK_EVERY_S,
    load_execution,
    manual_runtime,
    stop_runtime_with,
    wait_for_turn,
)
from facho.cli.output import AsJson, console, print_text
from facho.cli.processes import stop_on_signals
from facho.cli.progress import value_counter
from facho.cli.system import database_now, system
from facho.core.reasons import in_english

if TYPE_CHECKING:
    from facho.apps.executions.models import Execution
    from facho.engine.schedule.runner import Runtime

app = typer.Typer()

_EXAMPLES: Final = """
**Examples**

`facho collect olt-norte`  everything that the family of the OLT offers

`facho collect olt-norte --job optics`  one job, with the jobs chained to it

While the engine has the OLT, it waits for its turn: an OLT is never asked twice at once.
"""


@app.command(epilog=_EXAMPLES)
def collect(
    olt: Annotated[str, typer.Argument(help="Name of the OLT.")],
    job: Annotated[str | None, typer.Option("--job", metavar="NAME", help="Only this job.")] = None,
    as_json: AsJson = False,
) -> None:
    """Collect from one OLT now, in the foreground, and store it."""
    stopping = stop_on_signals()
    with system() as config, manual_runtime(config) as runtime:
        execution_id = _queue_execution(olt, job)
        with value_counter("values") as progress:
            progress(0)
            wait_for_turn(execution_id, config, stopping)
            stop_runtime_with(stopping, runtime)
            _run(execution_id, runtime, progress)
        execution = load_execution(execution_id)
        if as_json:
            print_text(json.dumps(_execution_json(execution), indent=2, default=str))
        else:
            _print_execution(execution)
        if execution.state != "SUCCESS":
            raise typer.Exit(Exit.INCOMPLETE)


def _queue_execution(olt: str, job: str | None) -> int:
    """Queue the execution; without a job, only this process runs it."""
    from facho.cli.job import node_named
    from facho.engine.commands.runs import collect_all, run_now

    now = database_now()
    return collect_all(olt, now) if job is None else run_now(node_named(job, olt).id, now)


def _run(execution_id: int, runtime: Runtime, progress: Callable[[int], None]) -> None:
    from facho.engine.schedule.runner import run_execution

    if run_execution(execution_id, runtime, progress=progress) is None:
        # An engine was quicker, and runs it.
        while load_execution(execution_id).state in ("PENDING", "RUNNING"):
            time.sleep(CHECK_EVERY_S)


def _execution_json(execution: Execution) -> dict[str, object]:
    names = ("id", "state", "trigger", "slot", "started_at", "ended_at", "delay_ms", "why_late", "attempt")
    return {
        **{name: getattr(execution, name) for name in names},
        "error": str(execution.error),
        **{name: in_english(getattr(execution, name)) for name in ("parts", "counts", "load", "result")},
    }


def _print_execution(execution: Execution) -> None:
    table = Table("part", "state", "seconds", "rows", "unanswered", "error")
    for part in in_english(execution.parts):
        numbers = (f"{part['seconds']:.2f}", f"{part['rows']:,}", str(part.get("onus_unanswered", 0)))
        table.add_row(part["job"], part["state"], *numbers, part.get("error", ""))
    out = console()
    out.print(table)
    counts = ", ".join(f"{name} {number:,}" for name, number in execution.counts.items() if number)
    load = execution.load
    out.print(f"Execution {execution.id}: {execution.state}. {counts}")
    if load:
        out.print(
            f"Asked the OLT {load['requests']:,} times for {load['varbinds']:,} values in "
            f"{load['seconds']:.2f} s; {load['timeouts']} time-outs."
        )
    if execution.error:
        out.print(f"Error: {execution.error}", style="red", markup=False)
