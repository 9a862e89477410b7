"""The admin's pages of plans, as a person reads them."""

from __future__ import annotations

import pytest
from django.test import Client

from facho.apps.execution_coordinator.models import ExecutionPlan
from facho.config import Config
from facho.engine.coordinate.plans import update_plans
from tests.database.engine.commands.test_what_if import takes
from tests.factories import add_job, add_olts, at, next_run, node_of

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
PAGE = "/admin/execution_coordinator/executionplan/"


@pytest.fixture(autouse=True)
def _two_jobs_at_once(brands: None, monkeypatch: pytest.MonkeyPatch) -> None:
    add_olts("north")
    add_job("state", "north", interval="5m")
    add_job("optics", "north", interval="5m", facts=["onu_rx_dbm"])
    takes("north", "get_state", 60.0)
    takes("north", "get_onu_rx_dbm", 20.0)
    monkeypatch.setattr("facho.web.admin.plans.database_now", lambda: at("10:00"))
    update_plans([node_of("state", "north").olt_id], at("10:00"), Config())


def read(client: Client, path: str = "") -> str:
    answer = client.get(PAGE + path, headers={"accept-language": "en"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_has_the_load_and_how_far_it_came(admin_client: Client) -> None:
    ExecutionPlan.objects.filter(status="ACTIVE").update(
        near_pct=97.5, median_error_s=0.6, infeasible={"change": None}
    )
    text = read(admin_client)
    for words in (
        "16.0 min per hour",
        "97.5 %, median error 0.6 s",
        "⚠ more work than fits in an hour",
    ):
        assert words in text


def test_a_plan_tells_who_waits_for_whom_and_what_would_help(admin_client: Client) -> None:
    plan = ExecutionPlan.objects.get(status="ACTIVE")
    text = read(admin_client, f"{plan.pk}/change/")
    assert " s for state<" in text
    assert "Shift state by 30 s: 288 min less waiting per day." in text


def test_a_grid_is_moved_at_one_click(admin_client: Client) -> None:
    plan = ExecutionPlan.objects.get(status="ACTIVE")
    before = next_run("state", "north")
    admin_client.post(PAGE, {"action": "move_grid", "_selected_action": [plan.pk]})
    assert (before, next_run("state", "north")) == ("10:01:00", "10:01:30")


def test_a_superseded_plan_is_listed_when_it_is_asked_for(admin_client: Client) -> None:
    active = ExecutionPlan.objects.get(status="ACTIVE")
    old = ExecutionPlan.objects.get(pk=active.pk)
    old.pk, old.status = None, "SUPERSEDED"
    old.save()

    def listed(path: str) -> set[int]:
        return {row.pk for row in admin_client.get(PAGE + path).context["cl"].result_list}

    assert listed("") == {active.pk}
    superseded = listed("?status__exact=SUPERSEDED")
    assert old.pk in superseded
    assert active.pk not in superseded
    assert admin_client.get(f"{PAGE}{old.pk}/change/").status_code == 200
