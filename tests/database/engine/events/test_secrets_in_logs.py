"""A run in which everything goes wrong, and all that it leaves behind: no secret is in any of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.core import serializers
from django.db import OperationalError
from django.test import Client

from facho.apps.access.models import AuditEntry
from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.notifications.models import NotificationDelivery, NotificationNotice
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.collect.collector import collect
from facho.engine.commands.olts import OltChanges, update_olt
from facho.engine.coordinate.coordinator import coordinator_step
from facho.engine.events.coordinator_log import log_writer
from facho.engine.process.loops import run_step
from facho.engine.record.recorder import record_together
from facho.engine.schedule import runner
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.runner import Runtime, SnmpLoop, run_execution
from facho.engine.schedule.slots import queue_due_slots
from facho.sim.fleet import FleetConfig
from facho.snmp.usm import Auth, Priv, User
from facho.vendors import builtin
from tests.database.bare_pages import leave_out_what_is_on_all
from tests.database.walking import pages_of_rows
from tests.factories import make_job, make_node, make_olt
from tests.planted_secrets import (
    AUTH,
    COMMUNITY,
    DATABASE,
    PLANTED,
    PRIV,
    WRONG_COMMUNITY,
    know_addresses,
    leaks,
    own_secrets,
    told_by,
)
from tests.virtual_fleet import VirtualFleet

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

# What is read out of the database in every form that a page, an answer or an export could show.
TABLES: tuple[Any, ...] = (
    CoordinatorLog, Execution, Attempt, SkippedSlots, SnmpJobHost, QuotaTracker, QuotaViolation, AuditEntry,
    NotificationNotice, NotificationDelivery,
)  # fmt: skip


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=8, community=COMMUNITY)) as fleet:
        yield fleet


def make_site(port: int) -> dict[str, Olt]:
    # The agent knows this user by other passwords.
    user = User("sha-256-aes", Auth.SHA256, AUTH, Priv.AES128, PRIV)
    by_user: dict[str, Any] = {"snmp_version": "3", "credentials": Credentials(user=user)}
    known = Credentials(community=COMMUNITY)
    return {
        "good": make_olt("good", port=port, credentials=known),
        "stranger": make_olt("stranger", port=port, credentials=Credentials(community=WRONG_COMMUNITY)),
        "silent": make_olt("silent", port=9, credentials=known),
        "by user": make_olt("by-user", port=port, **by_user),
        "silent by user": make_olt("silent-by-user", port=9, **by_user),
        "bug": make_olt("bug", port=port, credentials=known),
        "unstored": make_olt("unstored", port=port, credentials=known),
    }


def break_things(olts: dict[str, Olt], monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug that names what it holds, and a database that names how it is reached."""
    failed: list[int] = []

    def buggy(work: Any, *rest: Any) -> Any:
        if work.olt_id == olts["bug"].id:
            raise KeyError(f"{work.target.community} {AUTH} {PRIV}")
        return collect(work, *rest)

    def refused(results: Any, *rest: Any) -> Any:
        if any(each.started.olt_id == olts["unstored"].id for each in results) and not failed:
            failed.append(1)
            raise OperationalError(f"postgresql://facho:{quote(DATABASE, safe='')}@db: refused {DATABASE!r}")
        return record_together(results, *rest)

    monkeypatch.setattr(runner, "_PAUSE_S", 0.01)
    monkeypatch.setattr(runner, "collect", buggy)
    monkeypatch.setattr(runner, "record_together", refused)


def run_all(config: Config, snmp: SnmpLoop) -> None:
    runtime = Runtime(config, "here", snmp, database_now)
    register_worker("here", 10, database_now())
    queue_due_slots(database_now(), config)
    while claimed := claim_executions(database_now(), config):
        for execution_id in claimed:
            run_step("poller", lambda each=execution_id: run_execution(each, runtime))  # type: ignore[misc]


def everything(config: Config) -> dict[str, str]:
    """All that was left, by where it is: every file of the logs, and every row that tells of the run."""
    files = {path.name: path.read_text("utf-8") for path in config.logs.rglob("*") if path.is_file()}
    rows = {table.__name__: serializers.serialize("json", table.objects.all()) for table in TABLES}
    return files | rows


def shown(page: Client) -> dict[str, str]:
    """What an administrator is shown of it: he may see the most."""
    paths = [
        "/coordinator/dashboard/",
        "/coordinator/dashboard/overview/",
        "/coordinator/dashboard/timeline/",
    ]
    for olt in Olt.objects.values_list("id", flat=True):
        paths += [f"/olts/{olt}/{tab}" for tab in ("", "ports/", "collection/", "load/", "events/")]
    of_rows = pages_of_rows(Olt, *(table for table in TABLES if table in admin.site._registry))
    paths += [path for path in of_rows if not path.endswith(("/add/", "/history/", "/delete/"))]
    answers = {path: page.get(path) for path in paths}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {path: told_by(answer) for path, answer in answers.items()}


def test_no_secret_is_left_behind_by_a_run_in_which_everything_goes_wrong(
    config_with_logs: Config, fleet: VirtualFleet, monkeypatch: pytest.MonkeyPatch, admin_client: Client
) -> None:
    config = config_with_logs
    know_addresses()
    sync_profiles(builtin())
    olts, due = make_site(fleet.addresses[0][1]), database_now()
    job = make_job("everything", "discovery", max_attempts=1, facts=["serial"])
    for olt in olts.values():
        make_node(olt, job, next_run_at=due)
    coordinator_step(due, config)
    break_things(olts, monkeypatch)

    run_all(config, fleet.snmp)
    update_olt("good", OltChanges(site=f"beside {WRONG_COMMUNITY}"), database_now())
    coordinator_step(database_now(), config)
    assert log_writer.flush()

    ended = dict(Execution.objects.values_list("olt__name", "state"))
    well = {"good", "unstored"}
    assert ended == {olt.name: State.SUCCESS if olt.name in well else State.FAILED for olt in olts.values()}
    left = everything(config)
    assert {"engine.log", "main.log", "discovery.log"} <= set(left)
    for trace in ("KeyError: '*** *** ***'", "postgresql://facho:***@db: refused '***'"):
        assert trace in left["engine.log"]
    assert "beside ***" in left["main.log"]
    assert leaks(left, {*PLANTED, *own_secrets()}) == set()
    # What a person wrote where everybody may read it is shown there.
    Olt.objects.update(site="")
    # It tells of every variable that is looked for in vain, below what the system logs.
    monkeypatch.setattr(logging.getLogger("django.template"), "disabled", True)
    leave_out_what_is_on_all(monkeypatch)
    assert leaks(shown(admin_client), {*PLANTED, *own_secrets()}) == set()
