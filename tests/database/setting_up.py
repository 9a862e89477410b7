"""OLTs and jobs for tests, made by the commands that people use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.engine.commands.jobs import NewJob, create_job
from facho.engine.commands.olts import NewOlt, add_olt
from facho.vendors import builtin


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2025-06-10 {clock}").replace(tzinfo=UTC)


def add_olts(*names: str, brand: str = "huawei") -> list[Olt]:
    return [add_olt(NewOlt(name, "10.0.0.1", brand=brand)) for name in names]


def add_job(
    name: str = "state",
    *olts: str,
    now: datetime = at("10:00"),
    interval: str = "10m",
    kind: str = "get",
    brand: str = "huawei",
    facts: Sequence[str] = ("state",),
    master: str = "",
    enabled: bool = True,
) -> SnmpJob:
    new = NewJob(name, brand, kind, interval, facts, master=master, olts=olts, enabled=enabled)
    return create_job(new, now)


def node_of(job: str, olt: str) -> SnmpJobHost:
    return SnmpJobHost.objects.get(job__name=job, olt__name=olt)


def next_run(job: str, olt: str) -> str | None:
    """As a clock, to the second."""
    found = node_of(job, olt).next_run_at
    return None if found is None else f"{found:%H:%M:%S}"


def know_brands() -> None:
    sync_profiles(builtin())
