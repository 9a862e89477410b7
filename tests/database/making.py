"""Rows for tests, with only what a test is about said by it."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.order import DEFAULT_PRIORITY

_numbers = count(1)


def at(clock: str) -> datetime:
    """A time of one ordinary day: `at("10:05")` or `at("10:05:30")`."""
    return datetime.fromisoformat(f"2026-03-10T{clock}").replace(tzinfo=UTC)


def make_brand(name: str = "huawei") -> Brand:
    return Brand.objects.get_or_create(name=name, defaults={"title": name.title()})[0]


def make_olt(name: str = "", brand: str = "huawei", **columns: Any) -> Olt:
    columns.setdefault("address", "127.0.0.1")
    columns.setdefault("credentials", Credentials(community="public"))
    return Olt.objects.create(name=name or f"olt-{next(_numbers)}", brand=make_brand(brand), **columns)


def make_job(
    name: str = "", kind: str = "discovery", interval: int = 600, brand: str = "generic", **columns: Any
) -> SnmpJob:
    columns.setdefault("priority", DEFAULT_PRIORITY[kind])
    columns.setdefault("task_type", kind)
    return SnmpJob.objects.create(
        name=name or f"job-{next(_numbers)}",
        kind=kind,
        interval_s=interval,
        brand=make_brand(brand),
        **columns,
    )


def make_node(
    olt: Olt | None = None, job: SnmpJob | None = None, next_run_at: datetime | None = None, **columns: Any
) -> SnmpJobHost:
    return SnmpJobHost.objects.create(
        olt=olt or make_olt(), job=job or make_job(), next_run_at=next_run_at, **columns
    )


def make_execution(
    node: SnmpJobHost, slot: datetime, state: str = State.WAITING, **columns: Any
) -> Execution:
    columns.setdefault("trigger", Trigger.SCHEDULE)
    columns.setdefault("not_before", slot)
    columns.setdefault("queued_at", slot)
    if state in (State.PENDING, State.RUNNING):
        columns.setdefault("lease_expires_at", slot + timedelta(seconds=20))
    if state == State.RUNNING:
        columns.setdefault("started_at", slot)
        columns.setdefault("lease_token", f"token-{next(_numbers)}")
        columns.setdefault("worker", "somebody")
    return Execution.objects.create(node=node, olt=node.olt, slot=slot, state=state, **columns)
