"""What the database can tell the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import celery
from django.db import DatabaseError, connection
from django.db.models import F, TextField
from django.db.models.functions import Cast

from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.hosts.credentials import vault
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import Worker
from facho.backends.distributed import bad_version, broker_away, wrong_settings
from facho.cli.acting.checkup import Finding, error, ok, start_it, warning
from facho.cli.acting.room import disk, retention
from facho.cli.system import database_sentence, reach_database
from facho.config import Config
from facho.engine.clock import database_now
from facho.engine.commands.setup import missing_migrations
from facho.engine.step import SCHEDULER
from facho.keys import KeyProblem

_MOST_NAMED: Final = 5
# A step that is later than so many times its interval is missing.
_LATE: Final = 10


def conditions(config: Config) -> Iterator[Finding]:
    if config.broker_url:
        yield _broker(config)
        yield _celery(celery.__version__)
    try:
        reach_database()
        yield ok("database", _version())
        if missing := missing_migrations():
            yield error("schema", f"{len(missing)} changes are missing", "facho migrate")
            return
        yield ok("schema", "as this version needs it")
        now = database_now()
        for look in _LOOKS:
            yield look(now, config)
    except DatabaseError as problem:
        yield error("database", database_sentence(problem), "start it, or correct FACHO_DATABASE_URL")


def _broker(config: Config) -> Finding:
    reasons = [*wrong_settings(config)] or [*broker_away(config.broker_url)]
    if reasons:
        return error("broker", reasons[0], "until then neither facho worker nor facho beat starts")
    return ok("broker", "it answers")


def _celery(version: str) -> Finding:
    for reason in bad_version(version):
        return error("celery", reason, "until then neither facho worker nor facho beat starts")
    return ok("celery", version)


def _version() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SHOW server_version" if connection.vendor == "postgresql" else "SELECT sqlite_version()"
        )
        (version,) = cursor.fetchone()
    return f"{connection.display_name} {version}"


def _credentials(_now: datetime, _config: Config) -> Finding:
    stored = Olt.objects.values_list("name", Cast("credentials", TextField()))
    if shut := [name for name, token in stored if not _opens(token)]:
        told = f"those of {len(shut)} OLTs cannot be opened: {_named(shut)}"
        return error("credentials", told, "put the old key back, or enter them again")
    return ok("credentials", "all can be opened")


def _opens(token: str) -> bool:
    try:
        vault().open(token)
    except KeyProblem:
        return False
    return True


def _scheduler(now: datetime, config: Config) -> Finding:
    last = CoordinatorState.objects.filter(name=SCHEDULER).values_list("updated_at", flat=True).first()
    if last is None:
        return warning("scheduler", "it has never made a step", start_it(config))
    age = now - last
    told = f"its last step was {age.total_seconds():.0f} s ago"
    if age > max(_LATE * config.scheduler_step, timedelta(seconds=_LATE)):
        return error("scheduler", told, start_it(config))
    if age < -config.worker_seen_within:
        return error(
            "scheduler", "its last step lies ahead", "the clock was set back: look after the time service"
        )
    return ok("scheduler", told)


def _workers(now: datetime, config: Config) -> Finding:
    alive = Worker.objects.filter(seen_at__gte=now - config.worker_seen_within)
    pollers = sum(alive.values_list("pollers", flat=True))
    if not pollers:
        return error("workers", "none is alive: nothing is collected", start_it(config))
    return ok("workers", f"{len(alive)} alive, with {pollers} pollers")


def _olts(_now: datetime, _config: Config) -> Finding:
    enabled = Olt.objects.filter(enabled=True)
    suspended = list(enabled.exclude(suspended_reason="").values_list("name", flat=True))
    silent = list(enabled.filter(reachable=False, suspended_reason="").values_list("name", flat=True))
    if suspended or silent:
        parts = [("suspended", suspended), ("unreachable", silent)]
        told = "; ".join(f"{len(names)} {word}: {_named(names)}" for word, names in parts if names)
        return warning("OLTs", told, "facho olt test NAME says what is wrong")
    return ok("OLTs", f"{enabled.count()} enabled, none of them unreachable")


def _nodes(now: datetime, config: Config) -> Finding:
    overdue = SnmpJobHost.objects.filter(
        enabled=True,
        job__enabled=True,
        olt__enabled=True,
        next_run_at__lt=now - _LATE * config.scheduler_step,
    ).count()
    suspended = SnmpJobHost.objects.filter(enabled=True).exclude(suspended_reason="").count()
    if overdue:
        return warning("nodes", f"{overdue} are due and were not queued", start_it(config))
    if suspended:
        return warning("nodes", f"{suspended} are suspended", "facho olt show NAME says why")
    return ok("nodes", "none is overdue or suspended")


def _stuck(now: datetime, config: Config) -> Finding:
    """Leases that ran out and were not taken back, and what runs longer than it may."""
    late = now - config.lease
    expired = Execution.objects.filter(state__in=ACTIVE, lease_expires_at__lt=late)
    endless = Execution.objects.filter(
        state=State.RUNNING, started_at__lt=now - config.execution_timeout - config.lease
    )
    ids = list((expired | endless).order_by("id").values_list("id", flat=True)[:_MOST_NAMED])
    if ids:
        return error("executions", f"stuck: {', '.join(map(str, ids))}", start_it(config))
    waiting = Execution.objects.filter(state=State.WAITING, not_before__lte=F("queued_at")).count()
    return ok("executions", f"none is stuck; {waiting} wait")


def _named(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_MOST_NAMED]) + (", ..." if len(every) > _MOST_NAMED else "")


_LOOKS: Final[tuple[Callable[[datetime, Config], Finding], ...]] = (
    _credentials,
    _scheduler,
    _workers,
    _olts,
    _nodes,
    _stuck,
    retention,
    disk,
)
