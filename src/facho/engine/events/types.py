"""The events that are reported: what each carries, and how the coordinator log and notifications present it.

Publish an event with `stream.publish(event, now)`. A new event is one more class here. If it is in the
coordinator log, its type is added to `core.event_types`; if people can be notified of it, its kind is added
to `core.notifications` and its message to `notification_texts`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.core.exceptions import FieldDoesNotExist
from django.utils.translation import gettext_lazy as _

from facho.apps.discovery.models import EventKind, PortOutage
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.hosts.models import Olt
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.event_types import EventType, Level
from facho.core.interval import interval_words
from facho.core.notifications import NotificationKind
from facho.core.reasons import Reason, to_json
from facho.core.severity import Severity
from facho.log_files import one_line
from facho.masking import mask_secrets

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

_MAX_VALUE_LENGTH: Final = 60
_MAX_TASKS_NAMED: Final = 5


@dataclass(frozen=True)
class Notification:
    """An event as the sender of notifications gets it.

    `about` distinguishes two events of one kind on the same OLT: "port 0/1/3", "node 17".
    """

    kind: NotificationKind
    severity: Severity
    details: Mapping[str, Any]
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened. `olt_id` is None for an event that concerns all OLTs."""

    # None keeps the event out of the coordinator log.
    type: ClassVar[EventType | None] = None
    level: ClassVar[Level] = Level.INFO
    # The part of the system that decided it, as the log file names it.
    source: ClassVar[str] = "coordinator_loop"
    sentence: ClassVar[Text]

    olt_id: int | None = None

    def log_sentence(self) -> Text:
        return self.sentence

    def log_details(self) -> dict[str, Any]:
        """Return the details of the coordinator log, which the sentence can use too."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "olt_id"}

    def sentence_values(self) -> dict[str, Any]:
        """Return values of the sentence that are no details; called in the operator's language."""
        return {}

    def notification(self) -> Notification | None:
        return None


@dataclass(frozen=True, kw_only=True)
class OltEvent(Event):
    olt_id: int


@dataclass(frozen=True, kw_only=True)
class TaskAdded(OltEvent):
    type = EventType.TASK_ADDED
    sentence = _("job %(job)s added on %(olt)s, every %(every)s")

    job: str
    task_type: str
    interval_s: int

    def sentence_values(self) -> dict[str, Any]:
        return {"every": _interval(self.interval_s)}


@dataclass(frozen=True, kw_only=True)
class TaskRemoved(OltEvent):
    type = EventType.TASK_REMOVED
    level = Level.WARNING
    sentence = _("job %(job)s removed from %(olt)s; executions aborted: %(aborted)d")
    sentence_with_reason = _("job %(job)s removed from %(olt)s: %(reason)s; executions aborted: %(aborted)d")

    job: str
    task_type: str
    aborted: int
    # What the person wrote who disabled it.
    reason: str = ""

    def log_sentence(self) -> Text:
        return self.sentence_with_reason if self.reason else self.sentence


@dataclass(frozen=True, kw_only=True)
class TaskIntervalChanged(OltEvent):
    type = EventType.TASK_INTERVAL_CHANGED
    sentence = _("job %(job)s on %(olt)s: every %(after)s instead of every %(before)s")

    job: str
    task_type: str
    before_s: int
    after_s: int

    def sentence_values(self) -> dict[str, Any]:
        return {"before": _interval(self.before_s), "after": _interval(self.after_s)}


@dataclass(frozen=True, kw_only=True)
class OltEnabled(OltEvent):
    type = EventType.OLT_ENABLED
    sentence = _("%(olt)s was enabled")


@dataclass(frozen=True, kw_only=True)
class OltDisabled(OltEvent):
    type = EventType.OLT_DISABLED
    level = Level.WARNING
    sentence = _("%(olt)s was disabled; executions aborted: %(aborted)d")
    sentence_with_reason = _("%(olt)s was disabled: %(reason)s; executions aborted: %(aborted)d")

    aborted: int
    # What the person wrote who disabled it.
    reason: str = ""

    def log_sentence(self) -> Text:
        return self.sentence_with_reason if self.reason else self.sentence


@dataclass(frozen=True, kw_only=True)
class ConfigChanged(OltEvent):
    """`changed` has the value before and after of each setting; without a job they are the OLT's."""

    type = EventType.CONFIG_CHANGED

    job: str | None
    changed: Mapping[str, tuple[Any, Any]]

    def log_sentence(self) -> Text:
        if self.job is None:
            return _("configuration of %(olt)s changed: %(what)s")
        return _("configuration of job %(job)s on %(olt)s changed: %(what)s")

    def sentence_values(self) -> dict[str, Any]:
        changes = (
            f"{_setting_name(name)}: {_shorten(before)} → {_shorten(after)}"
            # By name: PostgreSQL keeps no order of the details.
            for name, (before, after) in sorted(self.changed.items())
        )
        return {"what": ", ".join(changes)}


@dataclass(frozen=True, kw_only=True)
class PlanAdjusted(OltEvent):
    type = EventType.PLAN_ADJUSTED
    sentence = _("plan of %(olt)s adjusted; nodes: %(nodes)d")

    nodes: int


@dataclass(frozen=True, kw_only=True)
class PlanInfeasible(OltEvent):
    """`change` is the job that should run less often, and its interval before and after, in seconds."""

    type = EventType.PLAN_INFEASIBLE
    level = Level.WARNING

    minutes: float
    at_risk: str
    change: Mapping[str, Any] | None

    def log_sentence(self) -> Text:
        if self.change is None:
            return _(
                "more work than fits on %(olt)s: %(minutes)s minutes per hour, %(at_risk)s; more than "
                "one job has to run less often"
            )
        return _(
            "more work than fits on %(olt)s: %(minutes)s minutes per hour, %(at_risk)s; it would fit "
            "with %(job)s every %(after)s instead of every %(before)s"
        )

    def sentence_values(self) -> dict[str, Any]:
        if self.change is None:
            return {}
        before, after = _interval(self.change["before_s"]), _interval(self.change["after_s"])
        return {"job": self.change["job"], "before": before, "after": after}

    def notification(self) -> Notification:
        return Notification(NotificationKind.PLAN_INFEASIBLE, Severity.MEDIUM, self.log_details())


@dataclass(frozen=True, kw_only=True)
class EmergencyReplan(OltEvent):
    """The OLT is planned again at once. `failures` counts the executions in a row that failed."""

    type = EventType.EMERGENCY_REPLAN
    level = Level.WARNING
    why: ClassVar[str]

    failures: int = 0

    def log_details(self) -> dict[str, Any]:
        return {"why": self.why, "failures": self.failures}


@dataclass(frozen=True, kw_only=True)
class OltUnreachable(EmergencyReplan):
    """Notified once: when the OLT stays silent and is suspended later, people know already."""

    why = "unreachable"
    sentence = _("emergency: %(olt)s does not answer, replanned")

    reason: Reason

    def notification(self) -> Notification:
        return Notification(NotificationKind.OLT_DOWN, Severity.CRITICAL, {"reason": self.reason})


@dataclass(frozen=True, kw_only=True)
class OltReachable(EmergencyReplan):
    """`since` is when it stopped answering."""

    why = "back"
    sentence = _("emergency: %(olt)s answers again, replanned")

    since: datetime | None

    def notification(self) -> Notification:
        return Notification(NotificationKind.OLT_UP, Severity.CRITICAL, {"since": self.since})


@dataclass(frozen=True, kw_only=True)
class OltFailing(EmergencyReplan):
    why = "failures"
    sentence = _("emergency: %(failures)d consecutive executions failed on %(olt)s, replanned")


@dataclass(frozen=True, kw_only=True)
class QuotaViolated(OltEvent):
    type = EventType.QUOTA_VIOLATION
    level = Level.CRITICAL
    sentence = _("quota not met on %(olt)s from %(since)s to %(until)s, severity %(how_bad)s: %(tasks)s")

    period_start: datetime
    period_end: datetime
    severity: str
    report: Mapping[str, Any]

    def sentence_values(self) -> dict[str, Any]:
        return {
            "since": self.period_start,
            "until": self.period_end,
            "how_bad": ViolationSeverity(self.severity).label,
            "tasks": _worst_tasks(self.report),
        }

    def notification(self) -> Notification:
        details = self.log_details()
        severity = Severity(details.pop("severity"))
        return Notification(NotificationKind.QUOTA_VIOLATION, severity, details)


@dataclass(frozen=True, kw_only=True)
class ExecutionAborted(OltEvent):
    type = EventType.EXECUTION_ABORTED
    level = Level.WARNING
    source = "executions"
    sentence = _("execution %(execution_id)d of %(job)s on %(olt)s aborted: %(why)s")

    execution_id: int
    job: str
    why: Reason

    def sentence_values(self) -> dict[str, Any]:
        return {"why": reason_words(self.why)}


@dataclass(frozen=True, kw_only=True)
class ExecutionLostLease(OltEvent):
    type = EventType.LEASE_LOST
    level = Level.ERROR
    source = "executions"
    sentence = _("execution %(execution_id)d on %(olt)s was taken from %(worker)s: its lease ran out")

    execution_id: int
    worker: str


@dataclass(frozen=True, kw_only=True)
class WorkRecovered(Event):
    """Work of dead processes was taken back."""

    type = EventType.RECOVERED
    level = Level.WARNING
    source = "scheduler"
    sentence = _(
        "recovered from dead processes; running: %(abandoned)d, not started: %(unstarted)d, workers "
        "removed: %(workers)d"
    )

    unstarted: int
    abandoned: int
    workers: int


@dataclass(frozen=True, kw_only=True)
class OltSuspended(OltEvent):
    type = EventType.OLT_SUSPENDED
    level = Level.ERROR
    source = "executions"
    sentence = _("%(olt)s was suspended: %(reason)s")

    reason: Reason

    def sentence_values(self) -> dict[str, Any]:
        return {"reason": reason_words(self.reason)}


@dataclass(frozen=True, kw_only=True)
class OltResumed(OltEvent):
    type = EventType.OLT_BACK
    source = "probes"
    sentence = _("%(olt)s is back")


@dataclass(frozen=True, kw_only=True)
class NodeSuspended(OltEvent):
    type = EventType.NODE_SUSPENDED
    level = Level.ERROR
    source = "executions"
    sentence = _("job %(job)s was suspended on %(olt)s: %(reason)s")

    node_id: int
    job: str
    reason: Reason

    def sentence_values(self) -> dict[str, Any]:
        return {"reason": reason_words(self.reason)}

    def notification(self) -> Notification:
        return Notification(
            NotificationKind.NODE_SUSPENDED,
            Severity.HIGH,
            {"job": self.job, "reason": self.reason},
            f"node {self.node_id}",
        )


@dataclass(frozen=True, kw_only=True)
class NodeResumed(OltEvent):
    type = EventType.NODE_BACK
    source = "probes"
    sentence = _("job %(job)s is back on %(olt)s")

    node_id: int
    job: str

    def notification(self) -> Notification:
        return Notification(
            NotificationKind.NODE_BACK, Severity.HIGH, {"job": self.job}, f"node {self.node_id}"
        )


@dataclass(frozen=True, kw_only=True)
class MaintenanceStarted(Event):
    """A window of a site has no OLT."""

    type = EventType.MAINTENANCE_BEGINS
    sentence = _("maintenance %(window)s of %(target)s begins, until %(until)s")

    window: str
    target: str
    until: datetime


@dataclass(frozen=True, kw_only=True)
class MaintenanceEnded(Event):
    type = EventType.MAINTENANCE_ENDS
    sentence = _("maintenance %(window)s of %(target)s has ended")

    window: str
    target: str


@dataclass(frozen=True, kw_only=True)
class SaturationStarted(Event):
    type = EventType.SATURATION_BEGINS
    level = Level.WARNING
    source = "pollers"
    sentence = _("pollers are saturated: %(busy_percentage)s %% busy, executions waiting: %(queue_size)d")

    busy_percentage: float
    queue_size: int

    def notification(self) -> Notification:
        return Notification(NotificationKind.SATURATION_BEGINS, Severity.MEDIUM, self.log_details())


@dataclass(frozen=True, kw_only=True)
class SaturationEnded(Event):
    type = EventType.SATURATION_ENDS
    source = "pollers"
    sentence = _(
        "pollers are no longer saturated: %(busy_percentage)s %% busy, executions waiting: %(queue_size)d"
    )

    busy_percentage: float
    queue_size: int

    def notification(self) -> Notification:
        return Notification(NotificationKind.SATURATION_ENDS, Severity.MEDIUM, self.log_details())


@dataclass(frozen=True, kw_only=True)
class PortOutageStarted(OltEvent):
    type = EventType.PORT_OUTAGE
    level = Level.ERROR
    source = "executions"
    sentence = _("outage of port %(port)s of %(olt)s, %(why)s: %(affected)d of %(onus)d ONUs are offline")

    port: str
    cause: str
    affected: int
    onus: int

    def sentence_values(self) -> dict[str, Any]:
        return {"why": PortOutage.Cause(self.cause).label}

    def notification(self) -> Notification:
        return Notification(
            NotificationKind.PORT_OUTAGE, Severity.HIGH, self.log_details(), f"port {self.port}"
        )


@dataclass(frozen=True, kw_only=True)
class PortOutageEnded(OltEvent):
    type = EventType.PORT_OUTAGE_ENDED
    source = "executions"
    sentence = _("outage of port %(port)s of %(olt)s ended after %(time)s; ONUs affected: %(affected)d")

    port: str
    cause: str
    affected: int
    since: datetime
    until: datetime

    def log_details(self) -> dict[str, Any]:
        return {"port": self.port, "cause": self.cause, "affected": self.affected, "since": self.since}

    def sentence_values(self) -> dict[str, Any]:
        return {"time": _rounded(self.until - self.since)}

    def notification(self) -> Notification:
        return Notification(
            NotificationKind.PORT_OUTAGE_ENDED,
            Severity.HIGH,
            {**self.log_details(), "seconds": round((self.until - self.since).total_seconds())},
            f"port {self.port}",
        )


@dataclass(frozen=True, kw_only=True)
class OpticalPowerChanged(OltEvent):
    """ONUs of one port became weak, fell or recovered in one collection. `names` are all of them."""

    kinds: ClassVar = {
        EventKind.WEAK: NotificationKind.OPTICAL_WEAK,
        EventKind.FALLING: NotificationKind.OPTICAL_FALLING,
        EventKind.RECOVERED: NotificationKind.OPTICAL_RECOVERED,
    }

    change: EventKind
    port: str
    names: Sequence[str]
    # Those that the message names, with their power.
    onus: Sequence[Mapping[str, Any]]

    def notification(self) -> Notification:
        # Another ONU of the port is other news.
        about = ", ".join(self.names)
        return Notification(
            self.kinds[self.change],
            Severity.MEDIUM,
            {"port": self.port, "count": len(self.names), "onus": self.onus},
            about,
        )


@dataclass(frozen=True, kw_only=True)
class UnprovisionedOnusFound(OltEvent):
    """An OLT lists ONUs for the first time that wait to be provisioned. `names` are all of them."""

    names: Sequence[str]
    # Those that the message names, with their port and model.
    onus: Sequence[Mapping[str, Any]]

    def notification(self) -> Notification:
        # Another ONU is other news.
        about = ", ".join(self.names)
        return Notification(
            NotificationKind.ONU_UNPROVISIONED,
            Severity.LOW,
            {"count": len(self.names), "onus": self.onus},
            about,
        )


@dataclass(frozen=True, kw_only=True)
class UnreadableRowsFound(OltEvent):
    type = EventType.UNREADABLE_ROWS
    level = Level.WARNING
    source = "executions"
    sentence = _(
        "%(rows)d rows of %(table)s of %(olt)s have an index that its profile cannot read, such as "
        "%(example)s: meanwhile no ONU is marked absent"
    )

    table: str
    rows: int
    example: str

    def notification(self) -> Notification:
        return Notification(
            NotificationKind.UNREADABLE_ROWS, Severity.MEDIUM, self.log_details(), f"table {self.table}"
        )


@dataclass(frozen=True, kw_only=True)
class EngineWasStopped(Event):
    type = EventType.ENGINE_WAS_STOPPED
    level = Level.WARNING
    source = "scheduler"
    sentence = _("the engine was stopped since %(since)s, for %(time)s")

    since: datetime
    until: datetime

    def log_details(self) -> dict[str, Any]:
        return {"since": self.since}

    def sentence_values(self) -> dict[str, Any]:
        return {"time": _rounded(self.until - self.since)}


@dataclass(frozen=True, kw_only=True)
class ClockChanged(Event):
    """`seconds` are negative when the clock was set back."""

    type = EventType.CLOCK_CHANGED
    level = Level.WARNING
    source = "scheduler"

    seconds: float

    def log_sentence(self) -> Text:
        if self.seconds < 0:
            return _("the clock was set back by about %(time)s")
        return _("the clock was set forward by about %(time)s")

    def sentence_values(self) -> dict[str, Any]:
        return {"time": _rounded(timedelta(seconds=abs(self.seconds)))}


@dataclass(frozen=True, kw_only=True)
class RemovalHeld(Event):
    """`tables` has the rows that would be removed, of those that exist: "900/1000"."""

    type = EventType.REMOVAL_WAITS
    level = Level.WARNING
    source = "retention"
    sentence = _("the retention would remove most of %(which)s: it waits until a person confirms it")

    tables: Mapping[str, str]

    def sentence_values(self) -> dict[str, Any]:
        return {"which": ", ".join(self.tables)}


@dataclass(frozen=True, kw_only=True)
class RemovalResumed(Event):
    type = EventType.REMOVAL_RESUMED
    source = "retention"
    sentence = _("the retention resumed: it removes no more than usual")


@dataclass(frozen=True, kw_only=True)
class LogLinesLost(Event):
    type = EventType.LOG_LOST
    level = Level.WARNING
    source = "log"
    sentence = _("%(lines)d lines of %(sink)s were lost, from %(since)s to %(until)s")

    sink: str
    lines: int
    since: datetime
    until: datetime


def masked_json(value: Any) -> Any:
    """Return a value as JSON and both databases accept it, without secrets."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Reason):
        return masked_json(to_json(value))
    if isinstance(value, Mapping):
        return {str(name): masked_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [masked_json(each) for each in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return one_line(mask_secrets(str(value)))


def _interval(seconds: float) -> str:
    return interval_words(timedelta(seconds=seconds))


def _rounded(time: timedelta) -> str:
    """Format a time to the second, or to the minute when it is longer than ten: nobody reads 123457s."""
    step = timedelta(minutes=1) if time > timedelta(minutes=10) else timedelta(seconds=1)
    return interval_words(round(time / step) * step)


def _setting_name(name: str) -> str:
    """Return what the forms call a setting of an OLT or of its job."""
    for model in (Olt, SnmpJob, SnmpJobHost):
        try:
            return str(model._meta.get_field(name).verbose_name)  # type: ignore[union-attr]
        except FieldDoesNotExist:
            continue
    return str(_OTHER_SETTINGS.get(name, name))


# Settings that are no field of their own.
_OTHER_SETTINGS: Final[Mapping[str, Text]] = {
    "master_job_id": _("runs after"),
}


def _shorten(value: Any) -> str:
    """Return the beginning of a value, masked before it is cut: part of a secret is not recognised."""
    text = mask_secrets(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."


def _worst_tasks(report: Mapping[str, Any]) -> str:
    """List the tasks that missed their quota, the worst first."""
    missed = sorted((task for task in report["tasks"] if task["severity"]), key=lambda task: task["percent"])
    return ", ".join(
        f"{task['task_type']} {task['completed']}/{task['required']}" for task in missed[:_MAX_TASKS_NAMED]
    )
