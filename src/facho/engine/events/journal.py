"""What can be said in the coordinator's log: a method for each event, with what it is about.

`now` is when it happened. In a transaction it is written when that is committed: what was rolled back did not
happen. Nothing here raises, and nobody waits for the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from facho.apps.discovery.models import PortOutage
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.core.event_types import EventType
from facho.engine.events.journal_words import interval, rounded, tasks_told, what_changed
from facho.engine.events.journal_writing import Writer


class Journal(Writer):
    def task_added(self, now: datetime, olt_id: int, *, job: str, task_type: str, interval_s: int) -> None:
        self._note(
            EventType.TASK_ADDED,
            now,
            olt_id,
            _("task %(job)s added on %(olt)s, every %(every)s"),
            {"job": job, "task_type": task_type, "interval_s": interval_s},
            every=interval(interval_s),
        )

    def task_removed(self, now: datetime, olt_id: int, *, job: str, task_type: str, aborted: int) -> None:
        self._note(
            EventType.TASK_REMOVED,
            now,
            olt_id,
            _("task %(job)s removed from %(olt)s; executions aborted: %(aborted)d"),
            {"job": job, "task_type": task_type, "aborted": aborted},
        )

    def task_interval_changed(
        self, now: datetime, olt_id: int, *, job: str, task_type: str, before_s: int, after_s: int
    ) -> None:
        self._note(
            EventType.TASK_INTERVAL_CHANGED,
            now,
            olt_id,
            _("task %(job)s on %(olt)s: every %(after)s instead of every %(before)s"),
            {"job": job, "task_type": task_type, "before_s": before_s, "after_s": after_s},
            before=interval(before_s),
            after=interval(after_s),
        )

    def olt_enabled(self, now: datetime, olt_id: int) -> None:
        self._note(EventType.OLT_ENABLED, now, olt_id, _("%(olt)s was enabled"))

    def olt_disabled(self, now: datetime, olt_id: int, *, aborted: int) -> None:
        self._note(
            EventType.OLT_DISABLED,
            now,
            olt_id,
            _("%(olt)s was disabled; executions aborted: %(aborted)d"),
            {"aborted": aborted},
        )

    def config_changed(
        self, now: datetime, olt_id: int, *, job: str | None, changed: Mapping[str, tuple[Any, Any]]
    ) -> None:
        of_task = _("configuration of task %(job)s on %(olt)s changed: %(what)s")
        self._note(
            EventType.CONFIG_CHANGED,
            now,
            olt_id,
            _("configuration of %(olt)s changed: %(what)s") if job is None else of_task,
            {"job": job, "changed": changed},
            what=what_changed(changed),
        )

    def plan_adjusted(self, now: datetime, olt_id: int, *, nodes: int) -> None:
        self._note(
            EventType.PLAN_ADJUSTED,
            now,
            olt_id,
            _("plan of %(olt)s adjusted; tasks: %(nodes)d"),
            {"nodes": nodes},
        )

    def plan_infeasible(
        self, now: datetime, olt_id: int, *, minutes: float, at_risk: str, change: Mapping[str, Any] | None
    ) -> None:
        """`change` is the job, and its interval before and after, in seconds."""
        helped = _(
            "more work than fits on %(olt)s: %(minutes)s minutes an hour, %(at_risk)s; "
            "it would fit with %(job)s every %(after)s instead of every %(before)s"
        )
        alone = _(
            "more work than fits on %(olt)s: %(minutes)s minutes an hour, %(at_risk)s; "
            "more than one task has to run less often"
        )
        said = change or {"job": "", "before_s": 0, "after_s": 0}
        self._note(
            EventType.PLAN_INFEASIBLE,
            now,
            olt_id,
            helped if change else alone,
            {"minutes": minutes, "at_risk": at_risk, "change": change},
            job=said["job"],
            before=interval(said["before_s"]),
            after=interval(said["after_s"]),
        )

    def emergency_replan(self, now: datetime, olt_id: int, *, why: str, failures: int) -> None:
        sentences = {
            "unreachable": _("emergency: %(olt)s does not answer, planned anew"),
            "back": _("emergency: %(olt)s answers again, planned anew"),
            "failures": _("emergency: %(failures)d executions in a row failed on %(olt)s, planned anew"),
        }
        details = {"why": why, "failures": failures}
        self._note(EventType.EMERGENCY_REPLAN, now, olt_id, sentences[why], details)

    def quota_violation(
        self,
        now: datetime,
        olt_id: int,
        *,
        period_start: datetime,
        period_end: datetime,
        severity: str,
        report: Mapping[str, Any],
    ) -> None:
        self._note(
            EventType.QUOTA_VIOLATION,
            now,
            olt_id,
            _("quota not met on %(olt)s from %(since)s to %(until)s, severity %(how_bad)s: %(tasks)s"),
            {
                "period_start": period_start,
                "period_end": period_end,
                "severity": severity,
                "report": report,
            },
            since=period_start,
            until=period_end,
            how_bad=ViolationSeverity(severity).label,
            tasks=tasks_told(report),
        )

    def execution_aborted(self, now: datetime, olt_id: int, *, execution_id: int, job: str, why: str) -> None:
        self._note(
            EventType.EXECUTION_ABORTED,
            now,
            olt_id,
            _("execution %(execution_id)d of %(job)s on %(olt)s aborted: %(why)s"),
            {"execution_id": execution_id, "job": job, "why": why},
        )

    def lease_lost(self, now: datetime, olt_id: int, *, execution_id: int, worker: str) -> None:
        self._note(
            EventType.LEASE_LOST,
            now,
            olt_id,
            _("execution %(execution_id)d on %(olt)s was taken from %(worker)s: its lease ran out"),
            {"execution_id": execution_id, "worker": worker},
        )

    def recovered(self, now: datetime, *, unstarted: int, abandoned: int, workers: int) -> None:
        self._note(
            EventType.RECOVERED,
            now,
            None,
            _(
                "taken back what a dead process left; running: %(abandoned)d, not begun: %(unstarted)d, "
                "workers forgotten: %(workers)d"
            ),
            {"unstarted": unstarted, "abandoned": abandoned, "workers": workers},
        )

    def olt_suspended(self, now: datetime, olt_id: int, *, reason: str) -> None:
        self._note(
            EventType.OLT_SUSPENDED, now, olt_id, _("%(olt)s was suspended: %(reason)s"), {"reason": reason}
        )

    def olt_back(self, now: datetime, olt_id: int) -> None:
        self._note(EventType.OLT_BACK, now, olt_id, _("%(olt)s is back"))

    def node_suspended(self, now: datetime, olt_id: int, *, node_id: int, job: str, reason: str) -> None:
        self._note(
            EventType.NODE_SUSPENDED,
            now,
            olt_id,
            _("task %(job)s was suspended on %(olt)s: %(reason)s"),
            {"node_id": node_id, "job": job, "reason": reason},
        )

    def node_back(self, now: datetime, olt_id: int, *, node_id: int, job: str) -> None:
        self._note(
            EventType.NODE_BACK,
            now,
            olt_id,
            _("task %(job)s is back on %(olt)s"),
            {"node_id": node_id, "job": job},
        )

    def maintenance_begins(
        self, now: datetime, olt_id: int | None, *, window: str, target: str, until: datetime
    ) -> None:
        self._note(
            EventType.MAINTENANCE_BEGINS,
            now,
            olt_id,
            _("maintenance %(window)s of %(target)s begins, until %(until)s"),
            {"window": window, "target": target, "until": until},
        )

    def maintenance_ends(self, now: datetime, olt_id: int | None, *, window: str, target: str) -> None:
        self._note(
            EventType.MAINTENANCE_ENDS,
            now,
            olt_id,
            _("maintenance %(window)s of %(target)s has ended"),
            {"window": window, "target": target},
        )

    def saturation_begins(self, now: datetime, *, busy_percentage: float, queue_size: int) -> None:
        self._note(
            EventType.SATURATION_BEGINS,
            now,
            None,
            _("pollers are saturated: %(busy_percentage)s %% busy, executions waiting: %(queue_size)d"),
            {"busy_percentage": busy_percentage, "queue_size": queue_size},
        )

    def saturation_ends(self, now: datetime, *, busy_percentage: float, queue_size: int) -> None:
        self._note(
            EventType.SATURATION_ENDS,
            now,
            None,
            _("pollers are not saturated any more: %(busy_percentage)s %% busy, waiting: %(queue_size)d"),
            {"busy_percentage": busy_percentage, "queue_size": queue_size},
        )

    def port_outage(
        self, now: datetime, olt_id: int, *, port: str, cause: str, affected: int, onus: int
    ) -> None:
        self._note(
            EventType.PORT_OUTAGE,
            now,
            olt_id,
            _("outage of port %(port)s of %(olt)s, %(why)s: %(affected)d of %(onus)d ONUs are offline"),
            {"port": port, "cause": cause, "affected": affected, "onus": onus},
            why=PortOutage.Cause(cause).label,
        )

    def port_outage_ended(
        self, now: datetime, olt_id: int, *, port: str, cause: str, affected: int, since: datetime
    ) -> None:
        self._note(
            EventType.PORT_OUTAGE_ENDED,
            now,
            olt_id,
            _("outage of port %(port)s of %(olt)s is over, after %(time)s; ONUs affected: %(affected)d"),
            {"port": port, "cause": cause, "affected": affected, "since": since},
            time=rounded(now - since),
        )

    def unreadable_rows(self, now: datetime, olt_id: int, *, table: str, rows: int, example: str) -> None:
        self._note(
            EventType.UNREADABLE_ROWS,
            now,
            olt_id,
            _(
                "%(rows)d rows of %(table)s of %(olt)s have an index that its profile cannot read, such as "
                "%(example)s: no ONU is taken for gone meanwhile"
            ),
            {"table": table, "rows": rows, "example": example},
        )

    def engine_was_stopped(self, now: datetime, *, since: datetime) -> None:
        self._note(
            EventType.ENGINE_WAS_STOPPED,
            now,
            None,
            _("the engine was stopped since %(since)s, for %(time)s"),
            {"since": since},
            time=rounded(now - since),
        )

    def clock_changed(self, now: datetime, *, seconds: float) -> None:
        """Ahead when it is positive."""
        back = _("the clock was set back by about %(time)s")
        self._note(
            EventType.CLOCK_CHANGED,
            now,
            None,
            back if seconds < 0 else _("the clock was set forward by about %(time)s"),
            {"seconds": seconds},
            time=rounded(timedelta(seconds=abs(seconds))),
        )

    def removal_waits(self, now: datetime, *, tables: Mapping[str, str]) -> None:
        """`tables` has the rows that would go of those that are there."""
        self._note(
            EventType.REMOVAL_WAITS,
            now,
            None,
            _("most of %(which)s would be removed as too old: none of it is until a person confirms it"),
            {"tables": dict(tables)},
            which=", ".join(tables),
        )

    def removal_resumed(self, now: datetime) -> None:
        """What would be removed is no more than usual."""
        said = _("what is too old is removed again: it is no more than usual")
        self._note(EventType.REMOVAL_RESUMED, now, None, said)


journal: Final = Journal()
