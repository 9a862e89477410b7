"""The page of the next 60 minutes over all OLTs."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import ExecutionPlan
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.roles import Role
from facho.engine.coordinate.plans import update_plans
from facho.web.components.list_query import PlanQuery
from facho.web.plans.data import ROWS, read_next_hour
from tests.api_clients import person
from tests.database.engine.commands.test_what_if import takes
from tests.factories import add_job, add_olts, at

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = at("10:00")


@pytest.fixture(autouse=True)
def _plans(brands: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of `south` wait for each other, those of `north` do not."""
    add_olts("north", "south")
    add_job("state", "north", "south", interval="5m")
    add_job("optics", "south", interval="5m", facts=["onu_rx_dbm"])
    for olt in ("north", "south"):
        takes(olt, "get_state", 60.0)
    takes("south", "get_onu_rx_dbm", 20.0)
    SnmpJobHost.objects.update(next_run_at=at("10:05"))
    monkeypatch.setattr("facho.web.plans.views.database_now", lambda: NOW)
    make_plans()


def make_plans() -> None:
    update_plans(list(Olt.objects.values_list("id", flat=True)), NOW, Config())


def read(query: PlanQuery = PlanQuery()) -> Any:  # noqa: B008  # it is frozen
    return read_next_hour(query, NOW, Config())


def names(query: PlanQuery = PlanQuery()) -> list[str]:  # noqa: B008
    return [row.olt for row in read(query).rows]


def test_olts_with_conflicts_come_first() -> None:
    assert names() == ["south", "north"]
    assert (read().totals.olts, read().totals.waiting) == (2, 1)
    ExecutionPlan.objects.filter(olt__name="north").update(lost_slots=2)
    assert names() == ["north", "south"]
    ExecutionPlan.objects.filter(olt__name="south").update(infeasible={"change": None})
    assert names() == ["south", "north"]


def test_the_runs_of_the_whole_next_hour_are_shown() -> None:
    south = read().rows[0]
    assert {each.run.job for each in south.runs} == {"state", "optics"}
    assert max(each.run.start for each in south.runs) > at("10:50")
    wait = south.waiting[0]
    assert (wait.job, wait.waited_for, wait.delay.total_seconds()) == ("optics", "state", 60.5)
    assert not read().rows[1].waiting


def test_they_are_found_by_name_and_by_conflict() -> None:
    assert names(PlanQuery(text="nort")) == ["north"]
    assert names(PlanQuery(conflicts="1")) == ["south"]


def test_an_olt_without_a_plan_is_there_and_a_disabled_one_is_not() -> None:
    (east, _west) = add_olts("east", "west")
    Olt.objects.filter(name="west").update(enabled=False)
    row = next(row for row in read().rows if row.olt_id == east.pk)
    assert (row.plan_id, row.minutes, row.runs) == (None, None, [])
    assert "west" not in names()


def test_many_olts_take_as_many_queries_as_few_and_come_in_pages() -> None:
    add_olts("new")
    # It never ran anywhere: its duration is guessed.
    add_job("names", "new", interval="10m", facts=["description"])
    make_plans()
    with CaptureQueriesContext(connection) as few:
        read()
    more = [f"olt-{number:02}" for number in range(ROWS + 5)]
    add_olts(*more)
    add_job("models", *more, interval="10m", facts=["model"])
    make_plans()
    with CaptureQueriesContext(connection) as many:
        assert len(read().rows) == ROWS
    assert len(many) == len(few) <= 14
    assert len(read(PlanQuery(page=2)).rows) == 8


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "optics at 10:05 waits 1 min 00 s for state"),
        ("es", "optics de las 10:05 espera 1 min 00 s a state"),
    ],
)
def test_the_page_tells_who_waits_for_whom(client: Client, language: str, words: str) -> None:
    client.force_login(person(Role.VIEWER))
    answer = client.get("/plans/", headers={"accept-language": language})
    assert answer.status_code == 200
    assert words in " ".join(answer.content.decode().split())
    rows = client.get("/plans/rows/?conflicts=1").content.decode()
    assert "south" in rows
    assert "north" not in rows


def test_only_who_may_see_plans_gets_it(client: Client) -> None:
    assert client.get("/plans/").status_code == 302
