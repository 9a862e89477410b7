"""An OLT goes with all that is known of it, and nothing of another one goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.executions.models import OPEN, Attempt, Execution, SkippedSlots
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.config import Config
from facho.core.roles import Role
from facho.engine.commands.removal import remove_olt
from tests.database.asking_api import asking, refused_at
from tests.database.filling import NOW, fill

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
    assert asking(Role.OPERATOR).post(f"{path}acknowledge/").status_code == 204
    seen = asking(Role.VIEWER).get(path).json()
    assert seen["acknowledged_by"].startswith("operator")
    asking(Role.ADMINISTRATOR).post(f"{path}acknowledge/")
    assert asking(Role.VIEWER).get(path).json() == seen
