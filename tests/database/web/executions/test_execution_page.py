"""The page of an execution: what was asked, how it went, and where to look further."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.executions.models import Attempt, Execution
from facho.core.roles import Role
from tests.api_clients import person
from tests.factories import add_job, add_olts, at

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.fixture
def execution(brands: None) -> Execution:
    add_olts("north")
    facts = ["optics", "state", "port.tx_dbm"]
    node = add_job("power", "north", interval="10m", kind="table", facts=facts).nodes.get()
    return Execution.objects.create(
        node=node, olt=node.olt, state="SUCCESS", trigger="SCHEDULE", slot=at("09:30"),
        not_before=at("09:30"), queued_at=at("09:30"), started_at=at("09:30"), ended_at=at("09:31"),
    )  # fmt: skip


def add_plan(execution: Execution, status: PlanStatus) -> ExecutionPlan:
    return ExecutionPlan.objects.create(
        olt=execution.olt, period_start=at("09:00"), period_end=at("10:00"), status=status,
        load_p50_min=1.0, load_p95_min=1.0, total_tasks=1, created_at=at("09:00"), updated_at=at("09:00"),
        signature="s",
    )  # fmt: skip


def text_of(client: Client, execution: Execution) -> str:
    english = {"accept-language": "en"}
    return client.get(f"/executions/{execution.pk}/", headers=english).content.decode()


def test_sets_and_facts_of_ports_are_named_in_words(viewer: Client, execution: Execution) -> None:
    text = text_of(viewer, execution)
    assert "Optical values of ONUs, State, Ports of the OLT: Power sent" in text


@pytest.mark.parametrize(("state", "is_followed"), [("SUCCESS", False), ("RUNNING", True), ("WAITING", True)])
def test_an_open_one_is_followed(viewer: Client, execution: Execution, state: str, is_followed: bool) -> None:
    Execution.objects.update(state=state)
    assert ('hx-select="#live"' in text_of(viewer, execution)) == is_followed


def test_a_plan_that_was_replaced_is_not_linked(viewer: Client, execution: Execution) -> None:
    add_plan(execution, PlanStatus.SUPERSEDED)
    assert 'id="execution-plan"' not in text_of(viewer, execution)
    kept = add_plan(execution, PlanStatus.COMPLETED)
    assert f"/executionplan/{kept.pk}/change/" in text_of(viewer, execution)


def test_its_plan_is_that_of_the_hour_whose_quota_it_counts_for(viewer: Client, execution: Execution) -> None:
    plan = add_plan(execution, PlanStatus.COMPLETED)
    link = f"/executionplan/{plan.pk}/change/"
    for slot, is_of_the_hour in (("09:00", False), ("09:05", True), ("10:00", True)):
        Execution.objects.update(slot=at(slot))
        assert (link in text_of(viewer, execution)) == is_of_the_hour, slot


def test_many_attempts_take_as_many_queries_as_one(viewer: Client, execution: Execution) -> None:
    def ask(attempts: range) -> Any:
        for number in attempts:
            Attempt.objects.create(execution=execution, number=number, started_at=at("09:30"))
        with CaptureQueriesContext(connection) as queries:
            text_of(viewer, execution)
        return len(queries)

    text_of(viewer, execution)
    assert ask(range(1, 2)) == ask(range(2, 20)) <= 7
