"""Every command of a person leaves an entry: who did it, and what was there before."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from inspect import getmembers, isfunction
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from facho.apps.access.actors import Actor, acting
from facho.apps.access.models import AuditEntry
from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import CoordinatorState, QuotaViolation
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Oid, Olt, OltModel
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.core.retention import Hold, LargeRemoval
from facho.core.roles import Role
from facho.engine import commands
from facho.engine.commands import (
    acknowledgements,
    jobs,
    keys,
    maintenance,
    nodes,
    notifications,
    oids,
    olt_batches,
    olts,
    runs,
    tokens,
    users,
    usual_jobs,
    what_if,
)
from facho.engine.commands import brands as brand_commands
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import JobChanges, NewJob
from facho.engine.commands.maintenance import Window
from facho.engine.commands.notifications import RuleChanges
from facho.engine.commands.oids import NewOid
from facho.engine.commands.olt_batches import OltRow
from facho.engine.commands.olts import NewOlt, OltChanges
from facho.engine.commands.users import UserChanges
from facho.engine.process.command_transaction import command
from facho.engine.upkeep import olt_removal
from facho.keys import Vault
from tests.api_clients import person
from tests.factories import add_job, add_olts, at, make_olt, node_of, queue

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.usefixtures("brands", "live_poller"),
    pytest.mark.both_databases,
]

NOW = at("10:30")
HOOK = "json://user:the-hooks-password@127.0.0.1:1/"
SECRETS = ("the-hooks-password", "wonderful-horse-7", "public", "pbkdf2", "fd_")
SOMEBODY = Actor("maria", "api", 7, "10.0.0.9", "night shift")


class Case(NamedTuple):
    """`act` is called with the things of `_things` in place, and leaves this entry among others."""

    act: Callable[[], Any]
    action: str
    model: str
    name: str
    changes: dict[str, Any]


@pytest.fixture
def _things(brands: None, local_targets: None) -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1")
    add_job("all", kind="discovery", facts=())
    Olt.objects.filter(name="olt-2").update(site="north", suspended_reason="no answer")
    notifications.add_channel("hook", HOOK)
    notifications.add_channel("other", HOOK)
    notifications.save_rule(None, RuleChanges("rule", ["hook"]))
    lasting = Window("window", olt="olt-2", starts_at=at("10:00"), ends_at=at("12:00"))
    maintenance.add_window(lasting, NOW)
    tokens.create_token(person(Role.VIEWER, "jose"), "token", "viewer", NOW)
    oids.add_oid(NewOid("own", "1.3.6.1.7", "huawei"))
    brand_commands.add_olt_model("huawei", "M0")
    hour = {"period_start": at("09:00"), "period_end": at("10:00"), "created_at": NOW}
    QuotaViolation.objects.create(olt=Olt.objects.get(name="olt-2"), severity="HIGH", report={}, **hour)


def node() -> int:
    return node_of("state", "olt-1").id


def own_oid() -> int:
    return Oid.objects.get(name="own").id


def waiting() -> int:
    hold = Hold(NOW, (LargeRemoval("onu_events", at("10:00"), 900, 1000),))
    return CoordinatorState.objects.create(name="retention_hold", value=hold.as_json(), updated_at=NOW).id


def violation() -> int:
    return QuotaViolation.objects.get().id


def onu() -> int:
    olt = Olt.objects.get(name="olt-1")
    made = Onu.objects.create(
        olt=olt, address="1.1", serial="HWTC00000001", first_seen=NOW, last_seen=NOW, presence="present"
    )
    return int(made.pk)


def jose() -> User:
    return users.user_named("jose")


def changed(old: Any, new: Any) -> dict[str, Any]:
    return {"old": old, "new": new}


OFF, ON = {"enabled": changed(True, False)}, {"enabled": changed(False, True)}
SECRET = {"changed": True}
CASES: dict[Callable[..., Any], Case] = {
    olts.add_olt: Case(
        lambda: olts.add_olt(NewOlt("olt-3", "10.0.0.3", brand="huawei")),
        "add", "hosts.olt", "olt-3", {"address": changed(None, "10.0.0.3"), "credentials": SECRET},
    ),
    olts.update_olt: Case(
        lambda: olts.update_olt("olt-1", OltChanges(name="uno", port=1161, enabled=False), NOW),
        "change", "hosts.olt", "uno", {"name": changed("olt-1", "uno"), "port": changed(161, 1161), **OFF},
    ),
    olts.update_olts: Case(
        lambda: olts.update_olts({"olt-1": OltChanges(port=1161), "olt-2": OltChanges(port=1161)}, NOW),
        "change", "hosts.olt", "olt-1", {"port": changed(161, 1161)},
    ),
    olt_batches.import_rows: Case(
        lambda: olt_batches.import_rows([OltRow("olt-1", OltChanges(port=1161))], NOW),
        "change", "hosts.olt", "olt-1", {"port": changed(161, 1161)},
    ),
    olts.enable_olts: Case(
        lambda: olts.enable_olts(["olt-2"], NOW), "resume", "hosts.olt", "olt-2", {},
    ),
    olts.probe_olts_now: Case(
        lambda: olts.probe_olts_now(["olt-2"], NOW), "resume", "hosts.olt", "olt-2", {},
    ),
    olts.disable_olts: Case(lambda: olts.disable_olts(["olt-1"], NOW), "change", "hosts.olt", "olt-1", OFF),
    olt_removal.mark_olt_removed: Case(
        lambda: olt_removal.mark_olt_removed(Olt.objects.get(name="olt-1").id, NOW),
        "change", "hosts.olt", "olt-1", OFF,
    ),
    olts.remove_olt: Case(
        lambda: olts.remove_olt("olt-1", NOW, current(), between=lambda: None),
        "delete", "hosts.olt", "olt-1", {"address": changed("10.0.0.1", None)},
    ),
    oids.add_oid: Case(
        lambda: oids.add_oid(NewOid("uptime", "1.3.6.1.8", "huawei")),
        "add", "hosts.oid", "uptime", {"oid": changed(None, "1.3.6.1.8")},
    ),
    oids.change_oid: Case(
        lambda: oids.change_oid(own_oid(), {"provides": "serial"}),
        "change", "hosts.oid", "own", {"provides": changed("", "serial")},
    ),
    oids.remove_oid: Case(
        lambda: oids.remove_oid(own_oid()),
        "delete", "hosts.oid", "own", {"oid": changed("1.3.6.1.7", None)},
    ),
    jobs.create_job: Case(
        lambda: jobs.create_job(NewJob("new", "huawei", "get", "5m", ["state"]), NOW),
        "add", "snmp_jobs.snmpjob", "new",
        {"interval_s": changed(None, 300), "facts": changed(None, ["state"])},
    ),
    jobs.update_job: Case(
        lambda: jobs.update_job(
            "state", JobChanges(priority=7, oids=["1.3.6.1.9"], interval="5m", enabled=False), NOW
        ),
        "change", "snmp_jobs.snmpjob", "state",
        {"priority": changed(40, 7), "interval_s": changed(600, 300), **OFF},
    ),
    jobs.duplicate_job: Case(
        lambda: jobs.duplicate_job("state", "again"),
        "add", "snmp_jobs.snmpjob", "again", {"kind": changed(None, "get")},
    ),
    jobs.attach: Case(
        lambda: jobs.attach("state", ["olt-2"], NOW),
        "add", "snmp_jobs.snmpjobhost", "state @ olt-2", {"enabled": changed(None, True)},
    ),
    usual_jobs.attach_usual_jobs: Case(
        lambda: usual_jobs.attach_usual_jobs("olt-2", {"discovery": "1h"}, NOW),
        "add", "snmp_jobs.snmpjobhost", "discovery @ olt-2", {"enabled": changed(None, True)},
    ),
    jobs.detach: Case(
        lambda: jobs.detach("state", ["olt-1"], NOW),
        "delete", "snmp_jobs.snmpjobhost", "state @ olt-1", {"enabled": changed(True, None)},
    ),
    jobs.enable_jobs: Case(
        lambda: (jobs.disable_jobs(["state"], NOW), jobs.enable_jobs(["state"], NOW)),
        "change", "snmp_jobs.snmpjob", "state", ON,
    ),
    jobs.disable_jobs: Case(
        lambda: jobs.disable_jobs(["state"], NOW), "change", "snmp_jobs.snmpjob", "state", OFF
    ),
    jobs.change_interval: Case(
        lambda: jobs.change_interval("state", "5m", NOW),
        "change", "snmp_jobs.snmpjob", "state", {"interval_s": changed(600, 300)},
    ),
    jobs.change_master: Case(
        lambda: jobs.change_master("state", "all", NOW),
        "change", "snmp_jobs.snmpjob", "state", {"master": changed(None, "all")},
    ),
    jobs.remove_job: Case(
        lambda: jobs.remove_job("state", NOW),
        "delete", "snmp_jobs.snmpjob", "state", {"kind": changed("get", None)},
    ),
    nodes.update_node: Case(
        lambda: nodes.update_node(node(), nodes.NodeChanges(interval="2m", priority=3), NOW),
        "change", "snmp_jobs.snmpjobhost", "state @ olt-1",
        {"interval_s": changed(None, 120), "priority": changed(None, 3)},
    ),
    nodes.enable_nodes: Case(
        lambda: (nodes.disable_nodes([node()], NOW), nodes.enable_nodes([node()], NOW)),
        "change", "snmp_jobs.snmpjobhost", "state @ olt-1", ON,
    ),
    nodes.disable_nodes: Case(
        lambda: nodes.disable_nodes([node()], NOW), "change", "snmp_jobs.snmpjobhost", "state @ olt-1", OFF
    ),
    nodes.change_node_interval: Case(
        lambda: nodes.change_node_interval(node(), "2m", NOW),
        "change", "snmp_jobs.snmpjobhost", "state @ olt-1", {"interval_s": changed(None, 120)},
    ),
    nodes.change_node_priority: Case(
        lambda: nodes.change_node_priority(node(), 3, NOW),
        "change", "snmp_jobs.snmpjobhost", "state @ olt-1", {"priority": changed(None, 3)},
    ),
    nodes.shift_grid: Case(
        lambda: nodes.shift_grid(node(), "2m", NOW),
        "change", "snmp_jobs.snmpjobhost", "state @ olt-1", {"next_run_at": {"new": "2025-06-10T10:03:00Z"}},
    ),
    runs.run_now: Case(
        lambda: runs.run_now(node(), NOW), "run", "snmp_jobs.snmpjobhost", "state @ olt-1", {}
    ),
    runs.read_onu: Case(lambda: runs.read_onu(onu(), NOW), "run", "discovery.onu", "HWTC00000001", {}),
    runs.abort_execution: Case(
        lambda: runs.abort_execution(queue("state", "olt-1").id, NOW),
        "abort", "executions.execution", "state @ olt-1", {},
    ),
    runs.collect_all: Case(lambda: runs.collect_all("olt-1", NOW), "run", "hosts.olt", "olt-1", {}),
    acknowledgements.confirm_removal: Case(
        lambda: acknowledgements.confirm_removal(waiting(), "maria", NOW),
        "change", "execution_coordinator.coordinatorstate", "retention_hold",
        {"confirmed_by": {"new": "maria"}, "tables": {"new": ["onu_events before 2025-06-10 10:00"]}},
    ),
    acknowledgements.acknowledge_violation: Case(
        lambda: acknowledgements.acknowledge_violation(violation(), "maria", NOW),
        "change", "execution_coordinator.quotaviolation", "HIGH 2025-06-10 09:00",
        {"acknowledged_by": {"new": "maria"}},
    ),
    maintenance.add_window: Case(
        lambda: maintenance.add_window(
            Window("new", site="north", starts_at=at("13:00"), duration=timedelta(hours=1)), NOW
        ),
        "add", "maintenance.maintenancewindow", "new", {"ends_at": changed(None, "2025-06-10T14:00:00Z")},
    ),
    maintenance.change_window: Case(
        lambda: maintenance.change_window(
            maintenance.window_named("window").id,
            Window("window", olt="olt-1", starts_at=at("10:00"), ends_at=at("12:00")),
            NOW,
        ),
        "change", "maintenance.maintenancewindow", "window",
        {"olt": changed("olt-2", "olt-1")},
    ),
    maintenance.end_window: Case(
        lambda: maintenance.end_window("window", NOW),
        "change", "maintenance.maintenancewindow", "window",
        {"ends_at": changed("2025-06-10T12:00:00Z", "2025-06-10T10:30:00Z")},
    ),
    maintenance.switch_windows: Case(
        lambda: maintenance.switch_windows(["window"], NOW, enabled=False),
        "change", "maintenance.maintenancewindow", "window", OFF,
    ),
    maintenance.remove_windows: Case(
        lambda: maintenance.remove_windows(["window"], NOW),
        "delete", "maintenance.maintenancewindow", "window",
        {"starts_at": changed("2025-06-10T10:00:00Z", None)},
    ),
    notifications.add_channel: Case(
        lambda: notifications.add_channel("new", HOOK),
        "add", "notifications.notificationchannel", "new", {"url": SECRET},
    ),
    notifications.update_channel: Case(
        lambda: notifications.update_channel("hook", url=f"{HOOK}elsewhere"),
        "change", "notifications.notificationchannel", "hook", {"url": SECRET},
    ),
    notifications.set_channel_enabled: Case(
        lambda: notifications.set_channel_enabled("hook", enabled=False),
        "change", "notifications.notificationchannel", "hook", OFF,
    ),
    notifications.remove_channel: Case(
        lambda: notifications.remove_channel("other"),
        "delete", "notifications.notificationchannel", "other", {"enabled": changed(True, None)},
    ),
    notifications.save_rule: Case(
        lambda: notifications.save_rule("rule", RuleChanges(channels=["hook", "other"])),
        "change", "notifications.notificationrule", "rule",
        {"channels": changed(["hook"], ["hook", "other"])},
    ),
    notifications.remove_rule: Case(
        lambda: notifications.remove_rule("rule"),
        "delete", "notifications.notificationrule", "rule", {"min_severity": changed("LOW", None)},
    ),
    notifications.try_channel: Case(
        lambda: notifications.try_channel("hook", NOW, current()),
        "test", "notifications.notificationchannel", "hook", {},
    ),
    users.add_user: Case(
        lambda: users.add_user("ana", "viewer", "wonderful-horse-7"),
        "add", "auth.user", "ana", {"username": changed(None, "ana"), "password": SECRET},
    ),
    users.set_role: Case(
        lambda: users.set_role(jose(), "operator"),
        "change", "auth.user", "jose", {"groups": changed(["viewer"], ["operator"])},
    ),
    users.update_user: Case(
        lambda: users.update_user(jose(), UserChanges(email="jose@example.net")),
        "change", "auth.user", "jose", {"email": changed("", "jose@example.net")},
    ),
    brand_commands.change_brand_title: Case(
        lambda: brand_commands.change_brand_title("huawei", "Another"),
        "change", "hosts.brand", "huawei", {},
    ),
    brand_commands.add_olt_model: Case(
        lambda: brand_commands.add_olt_model("huawei", "M1"),
        "add", "hosts.oltmodel", "M1", {"name": changed(None, "M1")},
    ),
    brand_commands.change_olt_model: Case(
        lambda: brand_commands.change_olt_model(OltModel.objects.get(name="M0").id, "M1"),
        "change", "hosts.oltmodel", "M1", {"name": changed("M0", "M1")},
    ),
    brand_commands.remove_olt_model: Case(
        lambda: brand_commands.remove_olt_model(OltModel.objects.get(name="M0").id),
        "delete", "hosts.oltmodel", "M0", {"name": changed("M0", None)},
    ),
    users.set_password: Case(
        lambda: users.set_password(jose()), "change", "auth.user", "jose", {"password": SECRET}
    ),
    users.set_time_zone: Case(
        lambda: users.set_time_zone(jose(), "America/Santiago"),
        "add", "access.userpreferences", "jose", {"time_zone": changed(None, "America/Santiago")},
    ),
    users.set_users_enabled: Case(
        lambda: users.set_users_enabled([jose()], enabled=False),
        "change", "auth.user", "jose", {"is_active": changed(True, False)},
    ),
    users.remove_users: Case(
        lambda: users.remove_users([jose()]),
        "delete", "auth.user", "jose", {"username": changed("jose", None)},
    ),
    tokens.create_token: Case(
        lambda: tokens.create_token(jose(), "new", "viewer", NOW),
        "add", "access.apitoken", "new", {"owner": changed(None, "jose"), "role": changed(None, "viewer")},
    ),
    tokens.revoke_tokens: Case(
        lambda: tokens.revoke_tokens([tokens.token_named(jose(), "token").id], NOW),
        "change", "access.apitoken", "token", {"revoked_at": changed(None, "2025-06-10T10:30:00Z")},
    ),
}  # fmt: skip
# Not people's doing: what the first start makes, what `keys.rotate` does step by step, and what is undone.
NOBODYS = {"_preview_olts", "create_administrator", "_encrypt_again", "_drop_old"}


def command_functions() -> set[str]:
    """All that is one transaction of a person. A private one is the half of a public one of its name."""
    names = [f"{commands.__name__}.{module.name}" for module in iter_modules(commands.__path__)]
    every = [function for name in names for _, function in getmembers(import_module(name), isfunction)]
    return {
        function.__name__
        for function in every
        if function.__code__ is command(print).__code__ and function.__module__ in names
    }


def test_every_command_is_looked_at() -> None:
    looked_at = {function.__name__ for function in CASES}
    missing = {name for name in command_functions() if name.removeprefix("_") not in looked_at}
    assert missing == NOBODYS


@pytest.mark.usefixtures("_things")
def test_every_command_is_recorded_with_what_was_there_before() -> None:
    for function, case in CASES.items():
        with transaction.atomic():
            with acting(lambda: SOMEBODY):
                case.act()
            assert told(case) == case.changes, function.__name__
            everything = json.dumps(list(AuditEntry.objects.values_list("changes", flat=True)))
            assert not [secret for secret in SECRETS if secret in everything]
            transaction.set_rollback(True)


def told(case: Case) -> dict[str, Any]:
    """What the entry says of the columns that the case is about."""
    entry = AuditEntry.objects.filter(action=case.action, model=case.model, name=case.name).latest("id")
    who = (entry.who, entry.how, entry.user_id, entry.address, entry.token)
    assert who == ("maria", "api", 7, "10.0.0.9", "night shift")
    assert entry.object_id is not None
    return {column: without_ids(entry.changes[column]) for column in case.changes}


def without_ids(change: dict[str, Any]) -> dict[str, Any]:
    return {which: value["name"] if isinstance(value, dict) else value for which, value in change.items()}


@pytest.mark.usefixtures("_things")
def test_where_nobody_acts_nothing_is_recorded_and_nothing_more_is_asked() -> None:
    with CaptureQueriesContext(connection) as asked:
        nodes.change_node_priority(node(), 3, NOW)
    assert not AuditEntry.objects.exists()
    with CaptureQueriesContext(connection) as recorded, acting(lambda: SOMEBODY):
        nodes.change_node_priority(node(), 4, NOW)
    # How it was, how it is, and the entry.
    assert statements(recorded) - statements(asked) == 3
    (entry,) = AuditEntry.objects.all()
    assert entry.changes == {"priority": {"old": 3, "new": 4}}


def statements(asked: CaptureQueriesContext) -> int:
    return len([query for query in asked if "SAVEPOINT" not in query["sql"]])


@pytest.mark.usefixtures("_things")
def test_only_the_columns_that_changed_are_told() -> None:
    with acting(lambda: SOMEBODY):
        olts.update_olt("olt-1", OltChanges(address="127.9.9.9", port=161, version="2c"), NOW)
    (entry,) = AuditEntry.objects.all()
    assert entry.changes == {"address": {"old": "10.0.0.1", "new": "127.9.9.9"}}


@pytest.mark.usefixtures("_things")
def test_of_credentials_it_is_told_that_they_changed_and_nothing_else() -> None:
    with acting(lambda: SOMEBODY):
        olts.update_olt("olt-1", OltChanges(credentials=Credentials(community="sesame-1")), NOW)
    (entry,) = AuditEntry.objects.all()
    assert entry.changes == {"credentials": {"changed": True}}
    columns = [field.name for field in AuditEntry._meta.concrete_fields]
    assert "sesame-1" not in str(AuditEntry.objects.values_list(*columns).get())


@pytest.mark.usefixtures("_things")
def test_what_is_refused_or_only_tried_leaves_no_entry() -> None:
    with acting(lambda: SOMEBODY):
        with pytest.raises(CommandError):
            jobs.create_job(NewJob("new", "huawei", "get", "5m", ["state"], olts=["none"]), NOW)
        what_if.what_if(what_if.change_of("state", ["olt-2"], None), NOW, current())
    assert not AuditEntry.objects.exists()


def test_keys_that_are_rotated_are_one_entry_of_no_olt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = replace(current(), home=tmp_path)
    vault = Vault(own)
    monkeypatch.setattr("facho.apps.db.fields.vault", lambda: vault)
    monkeypatch.setattr(keys, "shared_vault", lambda: vault)
    make_olt()
    with acting(lambda: SOMEBODY):
        keys.rotate(own)
    (entry,) = AuditEntry.objects.all()
    assert (entry.action, entry.object_id, entry.changes) == ("rotate", None, {"encrypted_again": {"new": 1}})


@pytest.mark.parametrize("act", ["attach", "disable_olts", "detach"])
def test_many_rows_take_no_more_statements_than_few(act: str) -> None:
    spent = []
    for count in (2, 40):
        names = [make_olt(f"{count}-{number}").name for number in range(count)]
        add_job(f"job-{count}", *(names if act != "attach" else ()))
        acts = {
            "attach": partial(jobs.attach, f"job-{count}", names, NOW),
            "detach": partial(jobs.detach, f"job-{count}", names, NOW),
            "disable_olts": partial(olts.disable_olts, names, NOW),
        }
        before = AuditEntry.objects.count()
        with CaptureQueriesContext(connection) as asked, acting(lambda: SOMEBODY):
            acts[act]()
        spent.append(len([query for query in asked if "audit_log" in query["sql"]]))
        assert AuditEntry.objects.count() - before == count
    assert spent == [1, 1]
    assert SnmpJobHost.objects.count() == (0 if act == "detach" else 42)
