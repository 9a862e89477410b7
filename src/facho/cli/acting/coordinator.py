"""The coordinator's state: what the doctor makes of it, and how a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from facho.apps.executions.selectors import Queued
from facho.cli.acting.checkup import Finding, error, named, ok, start_it, warning
from facho.cli.acting.showing import print_facts, print_titled
from facho.config import Config
from facho.core.severity import Severity
from facho.core.steps import StepState
from facho.engine.upkeep.health import state_of_step, trackers_are_due
from facho.engine.upkeep.system_status import Condition, Lease, Step

_SECOND: Final = timedelta(seconds=1)
_VIOLATIONS: Final = "/admin/execution_coordinator/quotaviolation/"
_TRACKERS: Final = "/admin/execution_coordinator/quotatracker/"


def findings(condition: Condition, config: Config) -> Iterator[Finding]:
    yield _step("scheduler", condition.scheduler, config.scheduler_step, config)
    yield _step("coordinator", condition.coordinator, config.coordinator_step, config)
    yield _nodes(condition, config)
    yield _trackers(condition, config)
    yield _quotas(condition)
    yield _violations(condition)
    if lost := condition.last_24_h.log_lines_lost:
        told = f"{lost} lines of it were lost in the last 24 hours"
        yield warning("coordinator's log", told, "look for a full disk or a database that was away then")


def _step(name: str, step: Step, every: timedelta, config: Config) -> Finding:
    state = state_of_step(step, every, config)
    if step.age is None:
        return warning(name, "it has never made a step", start_it(config))
    told = f"its last step was {step.age.total_seconds():.0f} s ago"
    if state is StepState.STALLED:
        return error(name, told, start_it(config))
    if state is StepState.AHEAD:
        return error(name, "its last step lies ahead", "the clock was set back: look after the time service")
    return ok(name, told)


def _nodes(condition: Condition, config: Config) -> Finding:
    nodes = condition.nodes
    if nodes.overdue:
        return warning("nodes", f"{nodes.overdue} are due and were not queued", start_it(config))
    if nodes.suspended:
        return warning("nodes", f"{nodes.suspended} are suspended", "facho olt show NAME says why")
    return ok("nodes", "none is overdue or suspended")


def _trackers(condition: Condition, config: Config) -> Finding:
    quotas = condition.quotas
    if trackers_are_due(condition.now, quotas.hour, config) and quotas.olts_without:
        without = quotas.olts_without
        told = f"{len(without)} OLTs have slots in this hour, and none: {named(without)}"
        return warning("trackers", told, f"the coordinator makes them when it steps: {start_it(config)}")
    return ok("trackers", f"{sum(quotas.by_status.values())} in this hour")


def _quotas(condition: Condition) -> Finding:
    quotas = condition.quotas
    if quotas.at_risk:
        told = f"{quotas.at_risk} of this hour cannot be kept any more: "
        told += named([f"{each.olt} {each.task_type}" for each in quotas.first_at_risk])
        return warning("quotas", told, f"{_TRACKERS} says what their slots were lost for")
    return ok("quotas", "all of this hour can be kept")


def _violations(condition: Condition) -> Finding:
    violations = condition.last_24_h.violations
    if not violations:
        return ok("violations", "none in the last 24 hours")
    told = f"{sum(violations.values())} in the last 24 hours: {_by_severity(violations)}"
    return warning("violations", told, f"the report of each says why: {_VIOLATIONS}")


def _by_severity(violations: Mapping[str, int]) -> str:
    """The worst first."""
    return ", ".join(f"{violations[each]} {each}" for each in reversed(Severity) if each in violations)


def print_condition(condition: Condition) -> None:
    print_facts(_facts(condition))
    print_titled("Leases", [_leased(each) for each in condition.leases], _LEASE)
    print_titled("Queue", [_queued(each) for each in condition.queue.first], _QUEUED)
    print_titled("At risk", [asdict(each) for each in condition.quotas.first_at_risk], _AT_RISK)


_LEASE: Final = ("olt", "job", "execution_id", "state", "worker", "expires_in")
_QUEUED: Final = ("olt", "job", "execution_id", "slot", "reason", "because_of")
_AT_RISK: Final = ("olt", "task_type", "required", "completed", "pending")


def _facts(condition: Condition) -> dict[str, Any]:
    olts, nodes, lately = condition.olts, condition.nodes, condition.last_24_h
    execs, queue, quotas = condition.executions, condition.queue, condition.quotas
    without = condition.configurations.olts_without
    return {
        "scheduler": _stepped(condition.scheduler),
        "coordinator": _stepped(condition.coordinator),
        "olts": f"{olts.enabled} enabled, {olts.disabled} disabled, {olts.suspended} suspended, "
        f"{olts.unreachable} unreachable",
        "nodes": f"{nodes.enabled} enabled, {nodes.suspended} suspended, {nodes.overdue} due and not queued",
        "executions": f"{execs.waiting} waiting, {execs.pending} pending, {execs.running} running",
        "pollers": f"{condition.pool.busy} of {condition.pool.pollers} busy",
        "queue": f"{queue.size} could start{_oldest(execs.oldest_waits)}, {queue.retries} retries later",
        "configurations": f"{condition.configurations.known} known"
        + (f", {without} OLTs have none yet" if without else ""),
        "last_change": condition.configurations.last_changed_at,
        "quotas_of_this_hour": ", ".join(f"{count} {status}" for status, count in quotas.by_status.items()),
        "quotas_at_risk": quotas.at_risk,
        "olts_without_quotas": named(quotas.olts_without),
        "violations_in_24_h": _by_severity(lately.violations) or "none",
        "log_lost_in_24_h": f"{lost} lines" if (lost := lately.log_lines_lost) else "",
    }


def _stepped(step: Step) -> str:
    if step.age is None:
        return "never made a step"
    took = "" if step.duration_ms is None else f", in {step.duration_ms:.0f} ms"
    return f"stepped {step.age.total_seconds():.1f} s ago{took}"


def _oldest(waits: timedelta | None) -> str:
    return "" if waits is None else f" (the first since {waits.total_seconds():.0f} s)"


def _leased(lease: Lease) -> dict[str, Any]:
    left = lease.expires_in
    return asdict(lease) | {"expires_in": "" if left is None else f"{left.total_seconds():.0f} s"}


def _queued(queued: Queued) -> dict[str, Any]:
    return asdict(queued) | {"reason": queued.reason.name.lower().replace("_", " ")}
