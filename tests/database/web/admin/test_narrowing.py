"""Lists of the admin are narrowed to what an operator looks for after a bad night."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from facho.apps.db.database import database_now
from facho.apps.executions.models import Attempt, SkippedSlots, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from tests.factories import add_job, add_olts, at, make_execution, node_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]


EXECUTIONS = "/admin/executions/execution/"


def rows(client: Client, path: str) -> int:
    return client.get(f"/admin/{path}").context["cl"].result_count  # type: ignore[no-any-return]


def test_executions_attempts_and_skipped_slots_of_the_last_24_hours(admin_client: Client) -> None:
    add_olts("norte")
    add_job("state", "norte")
    node, now = node_of("state", "norte"), database_now()
    for ago in (timedelta(minutes=0), timedelta(days=2)):
        execution = make_execution(node, slot=now - ago, state=State.SUCCESS)
        Attempt.objects.create(execution=execution, number=1, started_at=now - ago)
        slots = {"first_slot": now - ago, "last_slot": now - ago}
        SkippedSlots.objects.create(node=node, olt=node.olt, count=1, why="engine_down", **slots)
    for path, column in (
        ("executions/execution/", "slot"),
        ("executions/attempt/", "execution__slot"),
        ("executions/skippedslots/", "last_slot"),
    ):
        assert rows(admin_client, path) == 2
        assert rows(admin_client, f"{path}?{column}=24h") == 1, path
        assert rows(admin_client, f"{path}?{column}=hour") == 1, path
        assert rows(admin_client, f"{path}?{column}=7d") == 2, path


def test_a_slot_on_the_stroke_belongs_to_the_hour_that_ends_then(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facho.web.admin.filters.timezone.now", lambda: at("10:30"))
    add_olts("norte")
    add_job("state", "norte")
    for slot in ("09:00", "10:00", "11:00"):
        make_execution(node_of("state", "norte"), slot=at(slot), state=State.SUCCESS)
    found = {
        hour: [row.slot for row in admin_client.get(f"{EXECUTIONS}?slot={hour}").context["cl"].queryset]
        for hour in ("previous", "hour")
    }
    assert found == {"previous": [at("10:00")], "hour": [at("11:00")]}


def test_suspended_olts_and_nodes(admin_client: Client) -> None:
    add_olts("norte", "sur")
    add_job("state", "norte", "sur")
    Olt.objects.filter(name="sur").update(suspended_reason="no answer")
    SnmpJobHost.objects.filter(olt__name="sur").update(suspended_reason="no answer")
    for path in ("hosts/olt/", "snmp_jobs/snmpjobhost/"):
        for wanted, name in (("yes", "sur"), ("no", "norte")):
            found = admin_client.get(f"/admin/{path}?suspended={wanted}").context["cl"].queryset
            assert [str(getattr(row, "olt", row)) for row in found] == [name], path
