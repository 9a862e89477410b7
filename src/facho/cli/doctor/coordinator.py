"""Checks of the scheduler, the coordinator, nodes, quotas and violations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from facho.cli.coordinator import format_severities
from facho.cli.doctor.findings import Finding, error, ok, start_advice, warning
from facho.cli.output import list_names
from facho.config import Config
from facho.core.steps import StepState
from facho.engine.upkeep.health import are_trackers_due, state_of_step
from facho.engine.upkeep.system_status import Condition, Step

_SECOND: Final = timedelta(seconds=1)
_VIOLATIONS: Final = "/admin/execution_coordinator/quotaviolation/"
_TRACKERS: Final = "/admin/execution_coordinator/quotatracker/"


def check_coordinator(condition: Condition, config: Config) -> Iterator[Finding]:
    yield check_step("scheduler", condition.scheduler, config.scheduler_step, config)
    yield check_step("coordinator", condition.coordinator, config.coordinator_step, config)
    yield _check_nodes(condition, config)
    yield _check_trackers(condition, config)
    yield _check_quotas(condition)
    yield _check_violations(condition)
    if lost := condition.last_24_h.log_lines_lost:
        text = f"{lost} lines of it were lost in the last 24 hours"
        yield warning(
            "coordinator's log", text, "look for a full disk or a database that was unavailable then"
        )


def check_step(name: str, step: Step, every: timedelta, config: Config) -> Finding:
    state = state_of_step(step, every, config)
    if step.age is None:
        return warning(name, "it has never made a step", start_advice(config))
    text = f"its last step was {step.age.total_seconds():.0f} s ago"
    if state is StepState.STALLED:
        return error(name, text, start_advice(config))
    if state is StepState.AHEAD:
        return error(name, "its last step is in the future", "the clock was set back: check the time service")
    return ok(name, text)


def _check_nodes(condition: Condition, config: Config) -> Finding:
    nodes = condition.nodes
    if nodes.overdue:
        return warning("nodes", f"{nodes.overdue} are due and were not queued", start_advice(config))
    if nodes.suspended:
        return warning("nodes", f"{nodes.suspended} are suspended", "facho olt show NAME says why")
    return ok("nodes", "none is overdue or suspended")


def _check_trackers(condition: Condition, config: Config) -> Finding:
    quotas = condition.quotas
    if are_trackers_due(condition.now, quotas.hour, config) and quotas.olts_without:
        without = quotas.olts_without
        text = f"{len(without)} OLTs have slots in this hour and no tracker: {list_names(without)}"
        return warning("trackers", text, f"the coordinator makes them when it steps: {start_advice(config)}")
    return ok("trackers", f"{sum(quotas.by_status.values())} in this hour")


def _check_quotas(condition: Condition) -> Finding:
    quotas = condition.quotas
    if quotas.at_risk:
        text = f"{quotas.at_risk} of this hour can no longer be met: "
        text += list_names([f"{each.olt} {each.task_type}" for each in quotas.first_at_risk])
        return warning("quotas", text, f"{_TRACKERS} says what their slots were lost for")
    return ok("quotas", "all of this hour can still be met")


def _check_violations(condition: Condition) -> Finding:
    violations = condition.last_24_h.violations
    if not violations:
        return ok("violations", "none in the last 24 hours")
    text = f"{sum(violations.values())} in the last 24 hours: {format_severities(violations)}"
    return warning("violations", text, f"the report of each says why: {_VIOLATIONS}")
