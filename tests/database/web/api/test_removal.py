"""An OLT goes with all that is known of it, and nothing of another one goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.executions.models import OPEN, Attempt, Execution, SkippedSlots
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.config import Config
from facho.core.roles import Role
from facho.engine.commands.olts import remove_olt
from facho.engine.upkeep.housekeeping import run_housekeeping
from facho.engine.upkeep.olt_removal import continue_removals
from tests.api_clients import asking, refused_at
from tests.factories import make_olt
from tests.sample_rows import NOW, fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_an_olt_goes_with_its_history_and_leaves_that_of_others() -> None:
    fill(3)
    client, gone = asking(Role.ADMINISTRATOR), Olt.objects.get(name="olt-001")
    path = f"/api/v1/olts/{gone.id}/"
    lost = client.get(f"{path}removal/").json()["rows"]
    assert (lost["onu_data"], lost["snmp_executions"], lost["quota_violations"]) == (1, 1, 1)
    assert asking(Role.OPERATOR).delete(path).status_code == 403
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    for model in (Olt, Onu, Execution, Attempt, SkippedSlots, QuotaViolation):
        assert model._default_manager.count() == 2, model
    # A job is a template, and stays.
    assert SnmpJob.objects.count() == 3


def test_the_admin_removes_olts_as_the_api_does(admin_client: Client) -> None:
    fill(4)
    first, *others = Olt.objects.order_by("name")
    page = reverse("admin:hosts_olt_delete", args=[first.pk])
    asked = admin_client.get(page)
    # All is counted, and nothing of it is read to be listed.
    assert asked.context["deleted_objects"] == [first.name]
    assert dict(asked.context["model_count"])[str(Onu._meta.verbose_name_plural)] == 1
    assert admin_client.post(page, {"post": "yes"}).status_code == 302
    chosen = {"action": "delete_selected", ACTION_CHECKBOX_NAME: [olt.pk for olt in others[:2]]}
    answer = admin_client.post(reverse("admin:hosts_olt_changelist"), {**chosen, "post": "yes"})
    assert answer.status_code == 302
    assert list(Olt.objects.all()) == others[2:]
    for model in (Onu, Execution, Attempt, QuotaViolation):
        assert model._default_manager.count() == 1, model


@pytest.mark.django_db(transaction=True)
def test_the_admin_holds_no_transaction_while_histories_go(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    olt, held = make_olt(), []
    removed = "facho.web.admin.hosts.remove_olt"
    monkeypatch.setattr(removed, lambda *_, **_few: held.append(connection.in_atomic_block))
    admin_client.post(reverse("admin:hosts_olt_delete", args=[olt.pk]), {"post": "yes"})
    chosen = {"action": "delete_selected", ACTION_CHECKBOX_NAME: [olt.pk], "post": "yes"}
    admin_client.post(reverse("admin:hosts_olt_changelist"), chosen)
    assert held == [False, False]


def test_long_histories_go_in_chunks() -> None:
    fill(1)
    olt, first = Olt.objects.get(), Execution.objects.get()
    for number in range(1, 5):
        first.pk, first.slot = None, NOW + timedelta(minutes=number)
        first.save(force_insert=True)
    pauses: list[int] = []
    config = replace(Config(), retention_chunk=2)
    remove_olt(olt.name, timezone.now(), config, between=lambda: pauses.append(Execution.objects.count()))
    assert pauses[:3] == [3, 1, 0]
    assert not Olt.objects.exists()


def test_who_waits_for_an_answer_does_not_wait_for_all_of_it_and_the_engine_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(2)
    monkeypatch.setattr("facho.web.api.v1.olts.FIRST_CHUNKS", 2)
    client, olt = asking(Role.ADMINISTRATOR), Olt.objects.get(name="olt-001")
    path = f"/api/v1/olts/{olt.id}/"
    assert client.delete(path).status_code == 202
    told = client.get(path).json()
    assert (told["enabled"], told["state"]) == (False, "disabled")
    assert told["removed_at"]
    # It is somebody's decision, and stands.
    assert refused_at(client.post(f"{path}enable/")).keys() == {"olts"}
    assert refused_at(client.patch(path, {"enabled": True}, content_type="application/json"))
    assert Onu.objects.filter(olt=olt).exists()
    run_housekeeping(database_now, Config())
    assert list(Olt.objects.values_list("name", flat=True)) == ["olt-000"]
    assert (Onu.objects.count(), Execution.objects.count()) == (1, 1)


def test_a_turn_of_the_engine_removes_so_much_of_an_olt_and_the_next_one_the_rest() -> None:
    fill(1)
    olt, first = Olt.objects.get(), Execution.objects.get()
    for number in range(1, 30):
        first.pk, first.slot = None, NOW + timedelta(minutes=number)
        first.save(force_insert=True)
    Olt.objects.update(removed_at=NOW)
    config = replace(Config(), retention_chunk=1)
    assert continue_removals(timezone.now(), config, between=lambda: None) == 0
    assert (Execution.objects.count(), Olt.objects.get()) == (10, olt)
    assert continue_removals(timezone.now(), config, between=lambda: None) == 1
    assert not Olt.objects.exists()


def test_an_operator_ends_an_execution_once() -> None:
    fill(3)
    execution = Execution.objects.get(state="WAITING")
    path = f"/api/v1/executions/{execution.id}/abort/"
    assert asking(Role.VIEWER).post(path).status_code == 403
    assert asking(Role.OPERATOR).post(path).status_code == 204
    execution.refresh_from_db()
    assert execution.state not in OPEN
    assert refused_at(asking(Role.OPERATOR).post(path)).keys() == {"execution"}


def test_an_operator_has_seen_a_violation_and_the_first_one_stays() -> None:
    fill(1)
    path = f"/api/v1/violations/{QuotaViolation.objects.get().id}/"
    assert asking(Role.VIEWER).post(f"{path}acknowledge/").status_code == 403
    violations = path.removesuffix("/").rpartition("/")[0]
    open_ones, done = f"{violations}/?acknowledged=false", f"{violations}/?acknowledged=true"
    assert [len(asking(Role.VIEWER).get(each).json()["results"]) for each in (open_ones, done)] == [1, 0]
    assert asking(Role.OPERATOR).post(f"{path}acknowledge/").status_code == 204
    assert [len(asking(Role.VIEWER).get(each).json()["results"]) for each in (open_ones, done)] == [0, 1]
    seen = asking(Role.VIEWER).get(path).json()
    assert seen["acknowledged_by"].startswith("operator")
    asking(Role.ADMINISTRATOR).post(f"{path}acknowledge/")
    assert asking(Role.VIEWER).get(path).json() == seen
