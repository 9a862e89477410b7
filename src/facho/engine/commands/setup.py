"""Make a database ready for use, the first time and after an upgrade."""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from facho.apps.hosts.store import SyncReport, sync_profiles
from facho.config import current
from facho.engine.commands.turns import command
from facho.vendors import builtin

# Any number that no other program uses in the same database.
_LOCK: Final = 0xFAC42


def prepare() -> SyncReport:
    """Tables as this version has them, and what the profiles know. Doing it again changes nothing."""
    with _alone():
        call_command("migrate", verbosity=0, interactive=False)
    return sync_profiles(builtin())


def missing_migrations() -> list[str]:
    """What the database has not had yet, as `hosts.0001_initial`."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


@command
def create_administrator(name: str) -> str | None:
    """The password, which is kept nowhere. None when there is an administrator already."""
    users = get_user_model()._default_manager
    if users.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(username=name, email="", password=password)
    return password


@contextmanager
def _alone() -> Iterator[None]:
    """Several processes start at once: the second one finds the work done."""
    with (current().home / "prepare.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _ask_server("SELECT pg_advisory_lock(%s)")
        try:
            yield
        finally:
            _ask_server("SELECT pg_advisory_unlock(%s)")


def _ask_server(statement: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, [_LOCK])
