"""Who may have an ONU read, when it is refused, and how it waits beside everything else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import translation

from facho.apps.access.models import AuditEntry
from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution, State
from facho.apps.executions.selectors import read_queue
from facho.apps.hosts.models import Olt
from facho.apps.zabbix_pollers.models import Worker
from facho.config import Config
from facho.core.roles import Role
from facho.engine.commands.errors import CommandError
from facho.engine.commands.maintenance import Window, add_window
from facho.engine.commands.runs import keep_waiting, read_onu
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.recovery import recover
from tests.api_clients import asking, refused_at
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_poller")]
CONFIG = Config()
NOW = at("10:00")


def make_onu(olt: Olt | None = None, **columns: Any) -> Onu:
    columns = {"address": "0/1/7/3", "serial": "HWTC1234ABCD", **columns}
    return Onu.objects.create(olt=olt or make_olt("north"), first_seen=NOW, last_seen=NOW, **columns)


def workers() -> None:
    Worker.objects.create(name="here", pollers=5, started_at=NOW, seen_at=NOW)


def test_asked_again_before_it_began_it_is_the_same() -> None:
    onu, other = make_onu(), make_onu(make_olt())
    first = read_onu(onu.id, NOW)
    assert read_onu(onu.id, at("10:01")) == first
    Execution.objects.filter(id=first).update(state=State.PENDING)
    assert read_onu(onu.id, at("10:02")) == first
    Execution.objects.filter(id=first).update(state=State.RUNNING)
    assert read_onu(onu.id, at("10:03")) != first != read_onu(other.id, NOW)


@pytest.mark.both_databases
def test_the_database_holds_one_that_waits_for_each_onu() -> None:
    onu = make_onu()
    columns = {"olt": onu.olt, "trigger": "run-now", "slot": NOW, "not_before": NOW, "queued_at": NOW}
    read_onu(onu.id, NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Execution.objects.create(onu=onu, **columns)


@pytest.mark.parametrize(
    ("olt", "onu", "why"),
    [
        ({"enabled": False}, {}, "the OLT north is disabled"),
        ({"suspended_reason": "no answer"}, {}, "the OLT north is suspended: it does not answer"),
        ({}, {"presence": "absent"}, "the ONU HWTC1234ABCD is absent"),
        ({}, {"address": None}, "the ONU HWTC1234ABCD has no place: another ONU took it"),
    ],
)
def test_what_cannot_be_asked_is_refused(olt: dict[str, Any], onu: dict[str, Any], why: str) -> None:
    asked = make_onu(make_olt("north", **olt), **onu)
    with translation.override("en"), pytest.raises(CommandError) as refused:
        read_onu(asked.id, NOW)
    assert (refused.value.field, refused.value.message) == ("onu", why)
    assert not Execution.objects.exists()


def test_an_olt_under_maintenance_is_left_alone() -> None:
    onu = make_onu()
    add_window(Window("works", olt="north", starts_at=NOW, ends_at=at("11:00")), NOW)
    with translation.override("en"), pytest.raises(CommandError, match="under maintenance until"):
        read_onu(onu.id, at("10:30"))


@pytest.mark.both_databases
def test_a_poller_takes_it_before_what_is_due_and_one_at_a_time_per_olt() -> None:
    workers()
    onu = make_onu()
    due = make_execution(make_node(onu.olt, make_job(priority=100)), at("09:00"))
    asked = read_onu(onu.id, NOW)
    second = read_onu(make_onu(onu.olt, address="0/1/7/4").id, NOW)
    found = read_queue(NOW, [], 5, 5, limit=10)
    assert [each.execution_id for each in found.first] == [asked, second, due.id]
    assert [each.job for each in found.first[:2]] == ["ONU HWTC1234ABCD"] * 2
    assert claim_executions(NOW, CONFIG) == [asked]
    assert claim_executions(NOW, CONFIG) == []


@pytest.mark.both_databases
def test_it_waits_as_long_as_it_takes_and_is_nobodys_by_hand() -> None:
    asked = read_onu(make_onu().id, NOW)
    recover(at("12:00"), CONFIG)
    keep_waiting(asked, at("12:00"))
    execution = Execution.objects.get(id=asked)
    assert (execution.state, execution.not_before) == (State.WAITING, NOW)


@pytest.mark.both_databases
def test_one_whose_process_died_has_failed_and_says_nothing_of_the_olt() -> None:
    workers()
    asked = read_onu(make_onu().id, NOW)
    expired = {"lease_token": "gone", "lease_expires_at": NOW, "started_at": NOW, "attempt": 1}
    Execution.objects.filter(id=asked).update(state=State.RUNNING, **expired)
    recover(NOW + timedelta(seconds=1), CONFIG)
    execution = Execution.objects.get(id=asked)
    assert (execution.state, execution.olt.failed_in_a_row) == (State.FAILED, 0)


def test_the_api_has_it_read_for_operators_and_writes_down_who_asked() -> None:
    onu = make_onu()
    path = f"/api/v1/onus/{onu.id}/read/"
    assert asking(Role.VIEWER).post(path).status_code == 403
    answer = asking(Role.OPERATOR).post(path)
    execution = Execution.objects.get(onu=onu)
    listed = asking(Role.VIEWER).get("/api/v1/executions/", {"onu": onu.id}).json()["results"]
    assert [row["id"] for row in listed] == [execution.id]
    assert (answer.status_code, answer.json()["execution"]) == (202, execution.id)
    assert answer["Location"].endswith(f"/api/v1/executions/{execution.id}/")
    (entry,) = AuditEntry.objects.filter(model="discovery.onu")
    assert (entry.action, entry.object_id, entry.name) == ("run", onu.id, "HWTC1234ABCD")
    Olt.objects.update(enabled=False)
    refused = asking(Role.OPERATOR).post(path, headers={"accept-language": "en"})
    assert refused_at(refused) == {"onu": "the OLT north is disabled"}
