"""Rows of every model, as many as a test wants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from facho.apps.access.models import ApiToken, AuditEntry, LoginAddress, LoginAttempt
from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.db.fields import SecretText
from facho.apps.discovery.models import (
    ClockState,
    Collected,
    Onu,
    OnuEvent,
    PortOutage,
    UnreadableRows,
    VersionCount,
)
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    ExecutionPlan,
    OltConfiguration,
    QuotaTracker,
    QuotaViolation,
    StorageSample,
    TaskForecast,
)
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, SkippedSlots, State
from facho.apps.executions.store import WITHIN
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import (
    NotificationChannel,
    NotificationDelivery,
    NotificationNotice,
    NotificationRule,
)
from facho.apps.remote_write.models import RemoteWriteCursor, RemoteWriteTotals
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.models import Poller, PollerStats, Worker
from facho.core.forecast import Learned, learn
from tests.traffic_rows import add_traffic, traffic_of

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


def fill(count: int, *, beginning_at: int = 0) -> None:
    for number in range(beginning_at, beginning_at + count):
        node = _node(number)
        _execution(node, number)
        _found(node.olt, number)
        _engine(node, number)
        _coordinator(node.olt)
        _notifications(node.olt, number)
        _maintenance(node.olt)
        _access(number)


def _node(number: int) -> SnmpJobHost:
    brand = Brand.objects.create(name=f"brand-{number}", title=f"Brand {number}")
    model = OltModel.objects.create(brand=brand, name="M1")
    Oid.objects.create(brand=brand, model=model, name="column", oid=f"1.3.6.1.{number}")
    olt = Olt(name=f"olt-{number:03}", brand=brand, model=model, address="10.0.0.1")
    olt.credentials = Credentials(community="the-secret-community")
    olt.save()
    master = SnmpJob.objects.order_by("id").first()
    job = SnmpJob.objects.create(
        name=f"job-{number:03}",
        brand=brand,
        kind="get",
        interval_s=300,
        priority=40,
        task_type="get_state",
        master=master,
    )
    return SnmpJobHost.objects.create(job=job, olt=olt, next_run_at=NOW)


def _maintenance(olt: Olt) -> None:
    MaintenanceWindow.objects.create(
        name=f"of {olt.name}",
        olt=olt,
        starts_at=NOW,
        ends_at=NOW + timedelta(hours=1),
        created_at=NOW,
    )


def _execution(node: SnmpJobHost, number: int) -> None:
    states = (State.SUCCESS, State.FAILED, State.WAITING, State.RUNNING, State.ABORTED)
    execution = Execution.objects.create(
        node=node,
        olt=node.olt,
        state=states[number % len(states)],
        trigger="schedule",
        slot=NOW - timedelta(minutes=number),
        not_before=NOW - timedelta(minutes=number),
        queued_at=NOW - timedelta(minutes=number),
        started_at=NOW - timedelta(minutes=number),
        ended_at=NOW,
        blocked_by=Execution.objects.first(),
        why_late="olt_busy",
    )
    Attempt.objects.create(execution=execution, number=1, started_at=NOW)
    within = {f"within_{most}s": 10 for most in WITHIN[1:]}
    ExecutionTotals.objects.create(olt=node.olt, kind="get", succeeded=9, failed=1, seconds=20.0, **within)
    SkippedSlots.objects.create(
        node=node,
        olt=node.olt,
        first_slot=NOW,
        last_slot=NOW,
        count=1,
        why="suspended",
        execution=execution,
    )


def _found(olt: Olt, number: int) -> None:
    onu = Onu.objects.create(
        olt=olt, address=f"0/0/0/{number}", first_seen=NOW, last_seen=NOW, state="online"
    )
    OnuEvent.objects.create(olt=olt, onu=onu, kind="offline", cause="los", at=NOW, place=f"0/0/0/{number}")
    Collected.objects.create(olt=olt, datum="state", collected_at=NOW)
    VersionCount.objects.create(olt=olt, model="X4", sw_version="V1", onus=1)
    ClockState.objects.create(olt=olt, low_s=-2, high_s=1, since=NOW, checked_at=NOW, read_at=NOW)
    UnreadableRows.objects.create(
        olt=olt, table="onus", rows=2, example=f"1.{number}", since=NOW, last_seen=NOW
    )
    PortOutage.objects.create(
        olt=olt, place=f"0/1/{number}", began_at=NOW, cause="fibre_cut", onus_affected=8, onus_known=64
    )
    place = {"frame": 0, "slot": 1, "port": number}
    PonPort.objects.create(olt=olt, place=f"0/1/{number}", state="up", updated_at=NOW, **place)
    OltHealth.objects.create(olt=olt, part="board 0/1", kind="board", state="ok", updated_at=NOW)
    Uplink.objects.create(olt=olt, place=f"0/9/{number}", state="up", updated_at=NOW)
    add_traffic(traffic_of(olt.pk, "port", NOW, {}))
    RemoteWriteCursor.objects.create(olt=olt, sent_to=NOW, states_sent_to=NOW, due_at=NOW)
    RemoteWriteTotals.objects.get_or_create(id=1)
    Unprovisioned.objects.create(olt=olt, identity=f"A{number}", first_seen=NOW, last_seen=NOW, **place)


def _engine(node: SnmpJobHost, number: int) -> None:
    Worker.objects.create(name=f"worker-{number}", pollers=1, started_at=NOW, seen_at=NOW)
    Poller.objects.create(poller_id=number, worker="worker-0", current_node=node, heartbeat=NOW)
    PollerStats.objects.create(
        timestamp=NOW - timedelta(minutes=number),
        total_pollers=1,
        free_pollers=0,
        busy_pollers=1,
        busy_percentage=90,
        queue_size=0,
        is_saturated=True,
        total_tasks_completed=0,
        total_tasks_delayed=0,
    )
    CoordinatorState.objects.create(name=f"loop-{number}", updated_at=NOW)
    StorageSample.objects.create(at=NOW - timedelta(hours=number), database_bytes=1000)


def _coordinator(olt: Olt) -> None:
    hour = {"period_start": NOW, "period_end": NOW + timedelta(hours=1)}
    times = {"created_at": NOW, "updated_at": NOW}
    reason = {"why": "olt_busy", "what": "discovery", "count": 2, "lost_s": 600}
    QuotaTracker.objects.create(
        olt=olt, task_type="get_state", quota_required=4, quota_completed=1, quota_skipped=2,
        quota_pending=1, reasons=[reason], **hour, **times,
    )  # fmt: skip
    task = {"task_type": "get_state", "required": 4, "completed": 2, "failed": 0, "skipped": 2}
    report = {
        "tasks": [{**task, "percent": 50.0, "severity": "HIGH", "reasons": [reason]}],
        "reasons": [reason],
    }
    ExecutionPlan.objects.create(olt=olt, created_at=NOW, updated_at=NOW, **hour)
    QuotaViolation.objects.create(olt=olt, severity="HIGH", report=report, created_at=NOW, **hour)
    CoordinatorLog.objects.create(
        olt=olt, event_type="TASK_ADDED", level="INFO", message="a task", timestamp=NOW
    )
    OltConfiguration.objects.create(olt=olt, fingerprint="f" * 64, state="[]", changed_at=NOW)
    learned = learn(Learned(), NOW, 20.0, 500, UTC)
    TaskForecast.objects.create(
        olt=olt, task_type="get_state", state=learned.as_json(), samples=1, updated_at=NOW
    )


def _notifications(olt: Olt, number: int) -> None:
    channel = NotificationChannel(name=f"channel-{number}")
    channel.url = SecretText("json://user:the-secret-password@127.0.0.1")
    channel.save()
    rule = NotificationRule.objects.create(name=f"rule-{number}", olt=olt, notices=["OLT_DOWN"])
    rule.channels.add(channel)
    about = {"notice": "OLT_DOWN", "severity": "CRITICAL", "olt": olt}
    told = NotificationNotice.objects.create(at=NOW, **about)
    NotificationDelivery.objects.create(told=told, channel=channel, rule=rule, created_at=NOW, **about)


def _access(number: int) -> None:
    owner = User.objects.create(username=f"user-{number}")
    LoginAttempt.objects.create(account=f"{number:064}", user=owner, address="10.0.0.9", at=NOW)
    LoginAddress.objects.create(account=f"{number:064}", user=owner, address="10.0.0.9", at=NOW)
    ApiToken.objects.create(
        owner=owner,
        name="token",
        role="viewer",
        begins="fd_abcd",
        digest=f"{number:064}",
        created_at=NOW,
        expires_at=NOW + timedelta(days=90),
    )
    AuditEntry.objects.create(
        at=NOW,
        who="user-0",
        how="api",
        address="10.0.0.9",
        token="token",
        action="change",
        model="hosts.olt",
        object_id=number,
        name=f"olt-{number:03}",
        changes={"port": {"old": 161, "new": 1161}, "credentials": {"changed": True}},
    )
