"""Before the tables of a database are changed: nobody else works, and every secret can be opened."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.db.fields import SecretText, vault
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationChannel
from facho.apps.zabbix_pollers.models import Worker
from facho.backends.start_checks import key_problem
from facho.engine.commands import setup
from facho.engine.commands.setup import prepare
from facho.engine.upkeep import sqlite_upgrade
from facho.engine.upkeep.schema import Schema, SchemaProblem
from facho.engine.upkeep.upgrade_checks import (
    BOUND_COLUMNS,
    refuse_running_workers,
    refuse_unreadable_secrets,
)
from facho.keys import KeyProblem, Vault, new_key
from tests import older_schema
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
WITHIN = timedelta(seconds=15)
BINDING = Schema(missing=("notifications.0003_addresses_of_one_channel",))


def lose_key(table: str, column: str, key: int) -> None:
    lost = Fernet(new_key()).encrypt(b"{}").decode()
    sql.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", [lost, key])


def make_channel(name: str) -> NotificationChannel:
    channel = NotificationChannel(name=name)
    channel.url = SecretText("json://noc.example")
    channel.save()
    return channel


@pytest.fixture
def migrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The database lacks a migration; what would make it is only noted."""
    for name in older_schema.FORGOTTEN:
        MigrationRecorder(connection).record_unapplied(older_schema.APP, name)
    done: list[str] = []

    def note_command(name: str, **_: Any) -> None:
        done.append(name)

    for module in (setup, sqlite_upgrade):
        monkeypatch.setattr(module, "database_file", lambda: tmp_path / "facho.db")
    monkeypatch.setattr(setup, "call_command", note_command)
    monkeypatch.setattr(sqlite_upgrade, "_copy", lambda _database: Path())
    return done


def test_secrets_of_all_tables_are_looked_at_before_the_first_one_is_changed() -> None:
    olt, channel = make_olt("olt-1", credentials=Credentials(community="x")), make_channel("noc")
    make_olt("olt-2", credentials=Credentials(community="y"))
    refuse_unreadable_secrets(BINDING)
    lose_key("olts", "credentials", olt.pk)
    lose_key("notification_channels", "url", channel.pk)
    with pytest.raises(SchemaProblem) as refused:
        refuse_unreadable_secrets(BINDING)
    told = str(refused.value)
    assert "the secrets of olts/olt-1, notification_channels/noc, and" in told
    for way in (
        "FACHO_CREDENTIAL_KEYS or credentials.keys",
        "with the earlier version",
        "--forget-unreadable",
    ):
        assert way in told
    # Once they are bound, another upgrade takes nothing from them.
    refuse_unreadable_secrets(Schema(missing=("hosts.0007_x",)))


def test_what_was_encrypted_for_no_row_yet_can_be_opened() -> None:
    olt = make_olt("olt-1")
    unbound = Fernet(vault().keys()[0]).encrypt(b'{"community": "x"}').decode()
    sql.execute("UPDATE olts SET credentials = %s WHERE id = %s", [unbound, olt.pk])
    refuse_unreadable_secrets(BINDING)


def test_only_the_first_of_many_are_named() -> None:
    for number in range(12):
        lose_key("olts", "credentials", make_olt(f"olt-{number:02}").pk)
    with pytest.raises(SchemaProblem, match=r"olts/olt-00, .*olts/olt-09 and 2 more"):
        refuse_unreadable_secrets(BINDING)


def test_keys_that_cannot_be_used_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    make_olt("olt-1")

    def broken(_vault: Vault, _token: str) -> str:
        raise KeyProblem("credentials.keys is empty")

    monkeypatch.setattr(Vault, "_decrypt_any", broken)
    # Also for who would forget single secrets: these would be all.
    for forget in (False, True):
        with pytest.raises(SchemaProblem, match=r"credentials\.keys is empty"):
            refuse_unreadable_secrets(BINDING, forget=forget)


def test_the_migrations_are_those_that_bind_the_columns() -> None:
    applied = {".".join(name) for name in MigrationRecorder(connection).applied_migrations()}
    assert {column.migration for column in BOUND_COLUMNS} <= applied
    models = {Olt._meta.db_table, NotificationChannel._meta.db_table}
    assert {column.table for column in BOUND_COLUMNS} == models


def test_workers_that_were_seen_lately_are_named() -> None:
    for name, ago in (("host:1:a", 5), ("host:2:b", 16)):
        seen = NOW - timedelta(seconds=ago)
        Worker.objects.create(name=name, pollers=1, started_at=NOW, seen_at=seen)
    with pytest.raises(SchemaProblem, match=r"workers are running: host:1:a\. Stop web, beats and workers"):
        refuse_running_workers(NOW, within=WITHIN)
    refuse_running_workers(NOW + timedelta(seconds=11), within=WITHIN)


def test_a_database_from_before_there_were_workers_is_no_problem() -> None:
    sql.execute("ALTER TABLE workers RENAME TO no_workers", [])
    try:
        refuse_running_workers(NOW, within=WITHIN)
    finally:
        sql.execute("ALTER TABLE no_workers RENAME TO workers", [])


def test_the_tables_are_not_changed_while_a_worker_runs(migrated: list[str]) -> None:
    now = database_now()
    Worker.objects.create(name="host:1:a", pollers=1, started_at=now, seen_at=now)
    with pytest.raises(SchemaProblem, match="host:1:a"):
        prepare()
    assert migrated == []
    Worker.objects.all().delete()
    prepare()
    assert migrated == ["migrate"]


def test_the_tables_are_not_changed_while_a_secret_would_be_lost(migrated: list[str]) -> None:
    lose_key("olts", "credentials", make_olt("olt-1").pk)
    with pytest.raises(SchemaProblem, match="olts/olt-1"):
        prepare()
    assert migrated == []
    prepare(forget_unreadable=True)
    assert migrated == ["migrate"]


def test_a_secret_of_another_row_does_not_keep_workers_from_starting() -> None:
    one, two = make_olt("olt-1"), make_olt("olt-2")
    sql.execute("UPDATE olts SET credentials = (SELECT credentials FROM olts WHERE id = %s)", [one.pk])
    assert key_problem() is None
    lose_key("olts", "credentials", two.pk)
    assert "every machine needs the same keys" in str(key_problem())
