"""`facho coordinator`: its state, and how good its plans were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.output import AsJson, list_names, print_facts, print_json, print_rows, print_section
from facho.cli.system import database_now, system
from facho.core.severity import Severity

if TYPE_CHECKING:
    from facho.apps.executions.selectors import QueuedExecution
    from facho.engine.coordinate.plan_reports import PlanAccuracy
    from facho.engine.upkeep.system_status import Condition, Lease, Step

app = typer.Typer(no_args_is_help=True, help="The coordinator: its state, and its plans.")

_EXAMPLES: Final = """
**Examples**

`facho coordinator state`  OLTs, leases, queue, quotas of this hour, and how long ago the loops stepped

`facho coordinator state --json`  the same as one object, as `facho doctor --json` has it too

`facho coordinator plans --hours 1`  how many runs of the last hour began when they were predicted to
"""
_LEASE_COLUMNS: Final = ("olt", "job", "execution_id", "state", "worker", "expires_in")
_QUEUE_COLUMNS: Final = ("olt", "job", "execution_id", "slot", "reason", "because_of")
_AT_RISK_COLUMNS: Final = ("olt", "task_type", "required", "completed", "pending")
_PLAN_COLUMNS: Final = ("olt", "plans", "runs", "near", "near_pct", "median_s")


@app.callback()
def _group() -> None:
    pass


@app.command(epilog=_EXAMPLES)
def state(as_json: AsJson = False) -> None:
    """Show the coordinator's state."""
    with system() as config:
        from facho.engine.upkeep.system_status import read_system_status

        found = read_system_status(database_now(), config)
        print_json(found.as_json()) if as_json else print_state(found)


def print_state(state: Condition) -> None:
    print_facts(_summarize(state))
    print_section("Leases", [_lease_row(each) for each in state.leases], _LEASE_COLUMNS)
    print_section("Queue", [_queue_row(each) for each in state.queue.first], _QUEUE_COLUMNS)
    print_section("At risk", [asdict(each) for each in state.quotas.first_at_risk], _AT_RISK_COLUMNS)


def _summarize(state: Condition) -> dict[str, Any]:
    olts, nodes, lately = state.olts, state.nodes, state.last_24_h
    execs, queue, quotas = state.executions, state.queue, state.quotas
    without = state.configurations.olts_without
    return {
        "scheduler": _format_step(state.scheduler),
        "coordinator": _format_step(state.coordinator),
        "olts": f"{olts.enabled} enabled, {olts.disabled} disabled, {olts.suspended} suspended, "
        f"{olts.unreachable} unreachable",
        "nodes": f"{nodes.enabled} enabled, {nodes.suspended} suspended, {nodes.overdue} due and not queued",
        "executions": f"{execs.waiting} waiting, {execs.pending} pending, {execs.running} running",
        "pollers": f"{state.pool.busy} of {state.pool.pollers} busy",
        "queue": f"{queue.size} could start{_format_wait(execs.oldest_waits)}, {queue.retries} retries later",
        "configurations": f"{state.configurations.known} known"
        + (f", {without} OLTs have none yet" if without else ""),
        "last_change": state.configurations.last_changed_at,
        "quotas_of_this_hour": ", ".join(f"{count} {status}" for status, count in quotas.by_status.items()),
        "quotas_at_risk": quotas.at_risk,
        "olts_without_quotas": list_names(quotas.olts_without),
        "violations_in_24_h": format_severities(lately.violations) or "none",
        "log_lost_in_24_h": f"{lost} lines" if (lost := lately.log_lines_lost) else "",
    }


def _format_step(step: Step) -> str:
    if step.age is None:
        return "never made a step"
    took = "" if step.duration_ms is None else f", in {step.duration_ms:.0f} ms"
    return f"stepped {step.age.total_seconds():.1f} s ago{took}"


def _format_wait(waits: timedelta | None) -> str:
    return "" if waits is None else f" (the first since {waits.total_seconds():.0f} s)"


def _lease_row(lease: Lease) -> dict[str, Any]:
    left = lease.expires_in
    return asdict(lease) | {"expires_in": "" if left is None else f"{left.total_seconds():.0f} s"}


def _queue_row(queued: QueuedExecution) -> dict[str, Any]:
    return asdict(queued) | {"reason": queued.reason.name.lower().replace("_", " ")}


def format_severities(violations: Mapping[str, int]) -> str:
    """Return the numbers of violations, the worst severity first."""
    return ", ".join(f"{violations[each]} {each}" for each in reversed(Severity) if each in violations)


@app.command(epilog=_EXAMPLES)
def plans(
    hours: Annotated[int, typer.Option(min=1, help="How many of the last hours.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Compare the plans of hours that are over with the runs of those hours."""
    with system() as config:
        from facho.engine.coordinate.plan_reports import PlanAccuracy, plan_accuracy

        found = plan_accuracy(database_now() - timedelta(hours=hours))
        total, within = PlanAccuracy.combine(found.values()), config.plan_departs_after.total_seconds()
        rows = [{"olt": olt, **_accuracy_row(each)} for olt, each in found.items()]
        if as_json:
            print_json({"within_s": within, **_accuracy_row(total), "olts": rows})
            return
        print_rows(rows, _PLAN_COLUMNS, "No hour that was planned is over yet.")
        if found:
            runs = f"{total.near_pct:g} % of {total.runs:,} runs"
            typer.echo(f"\n{runs} began within {within:g} s of their plan.")


def _accuracy_row(each: PlanAccuracy) -> dict[str, Any]:
    return {**asdict(each), "near_pct": each.near_pct}
