"""A day of the engine in a test's hands: it sets the clock, and says how runs end, instead of an OLT."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution, State
from facho.apps.zabbix_pollers.store import update_heartbeat
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.work_builder import plan_execution
from facho.engine.coordinate.coordinator import CoordinatorResult, coordinator_step
from facho.engine.coordinate.maintenance import abort_in_maintenance
from facho.engine.process.leases import StartedExecution, start_execution
from facho.engine.record.recorder import record
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.slots import queue_due_slots
from facho.snmp.peer import Load

Ends = Callable[[str], str]
"""From the name of a part's job to what is wrong with it; nothing is well."""


def well(_job: str) -> str:
    return ""


class Day:
    def __init__(self, now: datetime, zone: str = "UTC") -> None:
        self.now = now
        self.config = replace(Config(), time_zone=ZoneInfo(zone))

    def coordinate(self) -> CoordinatorResult:
        return coordinator_step(self.now, self.config)

    def queue(self) -> None:
        queue_due_slots(self.now, self.config)
        abort_in_maintenance(self.now, self.config)

    def begin(self) -> list[StartedExecution]:
        """Whatever waits and may run, as many as there are OLTs."""
        update_heartbeat("here", 50, self.now)
        begun = (
            start_execution(each, "here", lambda: self.now, self.config)
            for each in claim_executions(self.now, self.config)
        )
        return [each for each in begun if each is not None]

    def end(self, begun: Iterable[StartedExecution], ends: Ends = well, seconds: float = 2.0) -> list[State]:
        return [self._end(each, ends, seconds) for each in begun]

    def _end(self, started: StartedExecution, ends: Ends, seconds: float) -> State:
        # However long it took: somebody renewed its lease.
        Execution.objects.filter(id=started.execution_id).update(
            lease_expires_at=self.now + self.config.lease
        )
        planned = plan_execution(started.execution_id, started.run_id, self.now, self.config)
        parts = []
        for part in planned.work.parts:
            wrong = ends(part.job)
            state = PartState.FAILED if wrong else PartState.SUCCESS
            parts.append(PartResult(part, state, text_reason(wrong), seconds=seconds, load=Load(requests=1)))
        return record(started, planned, Collection(parts), self.now, self.config)

    def silent(self, begun: Iterable[StartedExecution]) -> None:
        """Nothing came from their OLTs at all."""
        for each in begun:
            planned = plan_execution(each.execution_id, each.run_id, self.now, self.config)
            first, why = planned.work.parts[0], text_reason("no answer")
            part = PartResult(first, PartState.FAILED, why, silent=True, load=Load(requests=1))
            record(each, planned, Collection([part]), self.now, self.config)

    def run(self, ends: Ends = well, *, takes: float = 2.0) -> list[State]:
        """All that is due now, one after the other per OLT, each in that many seconds."""
        self.queue()
        states: list[State] = []
        while begun := self.begin():
            self.now += timedelta(seconds=takes)
            states += self.end(begun, ends, takes)
        return states

    def pass_until(
        self, until: datetime, ends: Ends = well, *, every: timedelta = timedelta(minutes=1)
    ) -> None:
        """Minute by minute, with the engine at work."""
        while self.now < until:
            began = self.now
            self.run(ends)
            # On the stroke of an hour and after it; often enough in between.
            if began.minute % 10 < 2:
                self.coordinate()
            self.now = min(until, max(began + every, self.now))


def figures(task_type: str = "") -> list[tuple[str, str, int, int, int, int, int, str]]:
    """Task, hour, required, completed, failed, skipped, pending, status: in their order."""
    rows = QuotaTracker.objects.order_by("period_start", "olt__name", "task_type")
    if task_type:
        rows = rows.filter(task_type=task_type)
    return [
        (
            each.task_type,
            f"{each.period_start:%H:%M}-{each.period_end:%H:%M}",
            each.quota_required,
            each.quota_completed,
            each.quota_failed,
            each.quota_skipped,
            each.quota_pending,
            each.status,
        )
        for each in rows
    ]


def reasons(task_type: str = "") -> list[tuple[str, Any, int, int]]:
    rows = QuotaTracker.objects.order_by("period_start", "olt__name", "task_type")
    if task_type:
        rows = rows.filter(task_type=task_type)
    return [
        (each["why"], each["what"], each["count"], each["lost_s"]) for row in rows for each in row.reasons
    ]


def violations() -> list[tuple[str, str]]:
    rows = QuotaViolation.objects.order_by("period_start", "olt_id")
    return [(each.severity, f"{each.period_start:%H:%M}") for each in rows]
