"""Prepare a database for use: create and migrate its tables, and load the profiles."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection

from facho import __version__
from facho.apps.db.database import AdvisoryLock, database_file, database_now, hold_lock, is_embedded
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.hosts.store import SyncReport, sync_profiles
from facho.config import current
from facho.engine.process.command_transaction import command
from facho.engine.upkeep.schema import (
    SCHEMA,
    Schema,
    SchemaProblem,
    is_current,
    missing_sentence,
    read_schema_difference,
    refuse_newer,
)
from facho.engine.upkeep.sqlite_upgrade import (
    DatabaseLock,
    Say,
    change_tables_with_copy,
    lock_file,
    open_lock,
)
from facho.engine.upkeep.upgrade_checks import refuse_running_workers, refuse_unreadable_secrets
from facho.vendors import profiles_in_use


def say_nothing(_sentence: str) -> None:
    pass


def prepare(say: Say = say_nothing, *, copy: bool = True, forget_unreadable: bool = False) -> SyncReport:
    """Migrate the tables and load the profiles. A second call changes nothing.

    On SQLite nobody else may use the database meanwhile, and it is copied first. Secrets that no key
    decrypts are given up only with `forget_unreadable`. Raises SchemaProblem.
    """
    with prepare_lock():
        schema = read_schema_difference()
        refuse_newer(schema)
        if schema.missing:
            with exclusive_lock():
                if not schema.empty:
                    refuse_running_workers(database_now(), within=current().worker_seen_within)
                refuse_unreadable_secrets(schema, forget=forget_unreadable)
                with _copy_before(schema, say, copy=copy):
                    call_command("migrate", verbosity=0, interactive=False)
                    _record_version()
    return sync_profiles(profiles_in_use())


@contextmanager
def using_database(say: Say = say_nothing) -> Iterator[None]:
    """Hold a database that has the schema of this version; on SQLite nobody migrates it meanwhile.

    An SQLite database is migrated automatically; a database server waits for `facho migrate`.
    Raises SchemaProblem.
    """
    if not is_embedded():
        schema = read_schema_difference()
        refuse_newer(schema)
        if schema.missing:
            raise SchemaProblem(missing_sentence(schema.missing))
        yield
        return
    # Open the database first, so that an error names it and not its lock.
    connection.ensure_connection()
    lock = DatabaseLock(database_file())
    try:
        lock.lock_shared(say)
        if not is_current():
            # The migration needs the lock exclusively.
            lock.release()
            migrate_if_needed(say)
            lock.lock_shared(say)
            refuse_newer(read_schema_difference())
        yield
    finally:
        lock.release()


def migrate_if_needed(say: Say) -> None:
    schema = read_schema_difference()
    refuse_newer(schema)
    if schema.missing:
        prepare(say)


@contextmanager
def exclusive_lock() -> Iterator[None]:
    if not is_embedded():
        yield
        return
    lock = DatabaseLock(database_file())
    try:
        lock.lock_exclusive()
        yield
    finally:
        lock.release()


@contextmanager
def _copy_before(schema: Schema, say: Say, *, copy: bool) -> Iterator[None]:
    with change_tables_with_copy(schema, say, copy=copy) if is_embedded() else nullcontext():
        yield


def _record_version() -> None:
    """Store the version, which an older program names when it refuses the database."""
    CoordinatorState.objects.update_or_create(
        name=SCHEMA, defaults={"value": {"version": __version__}, "updated_at": database_now()}
    )


@command
def create_administrator(name: str) -> str | None:
    """Create the first administrator and return the password; None if there is one already."""
    users = get_user_model()._default_manager
    if users.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(username=name, email="", password=password)
    return password


@contextmanager
def prepare_lock() -> Iterator[None]:
    """Let one process prepare the database; others that start with it find the work done."""
    path = current().home / "prepare.lock"
    file = open_lock(path)
    try:
        lock_file(file, path, fcntl.LOCK_EX)
        with hold_lock(AdvisoryLock.PREPARE):
            yield
    finally:
        os.close(file)
