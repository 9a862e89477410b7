"""Rows for tests: a test states only what it is about.

`make_...` inserts rows directly; `add_...` goes through the commands that people use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from typing import Any

import pytest
from django.core.management.color import no_style
from django.db import connection
from django.db.models import Model

from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost, SnmpJobOid
from facho.core.pool import DEFAULT_PRIORITY
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import NewJob, create_job
from facho.engine.commands.olts import NewOlt, add_olt
from facho.vendors import builtin

_numbers = count(1)


def at(clock: str) -> datetime:
    """Return a time of the day that all tests use: `at("10:05")` or `at("10:05:30")`."""
    return datetime.fromisoformat(f"2025-06-10T{clock}").replace(tzinfo=UTC)


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
    columns.setdefault("priority", node.priority or node.job.priority)
    if state in (State.PENDING, State.RUNNING):
        columns.setdefault("lease_expires_at", slot + timedelta(seconds=20))
    if state == State.RUNNING:
        columns.setdefault("started_at", slot)
        columns.setdefault("lease_token", f"token-{next(_numbers)}")
        columns.setdefault("worker", "somebody")
    return Execution.objects.create(node=node, olt=node.olt, slot=slot, state=state, **columns)


def add_olts(*names: str, brand: str = "huawei") -> list[Olt]:
    """Add OLTs by the command, each at the next free address: 10.0.0.1 is the first."""
    there = Olt.objects.count()
    return [
        add_olt(NewOlt(name, f"10.0.{number >> 8}.{number & 255}", brand=brand))
        for number, name in enumerate(names, there + 1)
    ]


def add_job(
    name: str = "state",
    *olts: str,
    now: datetime | None = None,
    interval: str = "10m",
    kind: str = "get",
    brand: str = "huawei",
    facts: Sequence[str] = ("state",),
    master: str = "",
    enabled: bool = True,
) -> SnmpJob:
    new = NewJob(name, brand, kind, interval, facts, master=master, olts=olts, enabled=enabled)
    return create_job(new, at("10:00") if now is None else now)


def delete_first_runs() -> None:
    """Delete the runs that nodes were given at once because they were attached together."""
    Execution.objects.filter(state=State.WAITING).delete()


def node_of(job: str, olt: str) -> SnmpJobHost:
    return SnmpJobHost.objects.get(job__name=job, olt__name=olt)


def next_run(job: str, olt: str) -> str | None:
    """As a clock, to the second."""
    found = node_of(job, olt).next_run_at
    return None if found is None else f"{found:%H:%M:%S}"


def queue(job: str, olt: str, state: State = State.WAITING, **columns: object) -> Execution:
    """An execution of the slot at 10:00."""
    node, slot = node_of(job, olt), at("10:00")
    priority = node.priority or node.job.priority
    times = {"slot": slot, "not_before": slot, "queued_at": slot, "priority": priority, **columns}
    return Execution.objects.create(node=node, olt=node.olt, state=state, **{"trigger": "schedule", **times})


def know_brands() -> None:
    """What a sync writes is the same each time: after the first one its rows are put there as they were."""
    if Brand.objects.exists():
        sync_profiles(builtin())
    elif _SYNCED:
        for model, rows in _SYNCED.items():
            _insert(model, rows)
    else:
        sync_profiles(builtin())
        _SYNCED.update({model: _rows(model) for model in (Brand, Oid)})


_SYNCED: dict[type[Model], list[tuple[Any, ...]]] = {}


def _rows(model: type[Model]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_columns(model)} FROM {model._meta.db_table} ORDER BY id")
        return list(cursor.fetchall())


def _insert(model: type[Model], rows: list[tuple[Any, ...]]) -> None:
    """As they are: to make objects of them first takes most of a sync's time."""
    one = f"({', '.join(['%s'] * len(rows[0]))})"
    values = ", ".join([one] * len(rows))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({_columns(model)}) VALUES {values}", list(chain(*rows))
        )
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)


def _columns(model: type[Model]) -> str:
    return ", ".join(field.attname for field in model._meta.concrete_fields)


@contextmanager
def refused(field: str, sentence: str) -> Iterator[None]:
    """A CommandError at this field that says this, after which the database is as it was."""
    before = _everything()
    with pytest.raises(CommandError, match=re.escape(sentence)) as error:
        yield
    assert error.value.field == field
    assert _everything() == before


def _everything() -> list[object]:
    models = (Olt.objects, SnmpJob.objects, SnmpJobHost.objects, SnmpJobOid.objects, Oid.objects)
    keys: list[object] = [list(model.order_by("pk").values_list("pk")) for model in models]
    return [
        *keys,
        list(SnmpJobHost.objects.order_by("pk").values_list("enabled", "next_run_at")),
        list(SnmpJob.objects.order_by("pk").values_list("name", "interval_s", "master", "enabled", "facts")),
        list(Olt.objects.order_by("pk").values_list("name", "address", "port", "brand", "site", "enabled")),
        list(Execution.objects.order_by("pk").values_list("pk", "state")),
    ]
