"""Executions in the API: which are found, and all that is known of one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from facho.apps.executions.models import Attempt, State
from facho.core.roles import Role
from tests.api_clients import asking
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
PATH = "/api/v1/executions/"


def found(**query: Any) -> list[int]:
    answer = asking(Role.VIEWER).get(PATH, query)
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["results"]]


def test_executions_are_found_by_what_they_are() -> None:
    optics = make_node(job=make_job("optics", kind="get", task_type="get_optics"))
    states = make_node(olt=optics.olt, job=make_job("states", kind="get", task_type="get_state"))
    good = make_execution(optics, at("10:00"), State.SUCCESS)
    late = make_execution(optics, at("10:10"), State.FAILED, why_late="olt_busy", blocked_by=good)
    asked = make_execution(states, at("10:12"), State.ABORTED, trigger="run-now", run_now=True)

    assert found() == [asked.id, late.id, good.id]
    assert found(ordering="slot") == [good.id, late.id, asked.id]
    assert found(node=optics.id) == found(job=optics.job_id) == found(task_type="get_optics")
    assert found(node=optics.id) == [late.id, good.id]
    assert found(state=["FAILED", "ABORTED"]) == [asked.id, late.id]
    of = {"olt": optics.olt_id}
    assert found(trigger="run-now", **of) == found(run_now="true", **of) == [asked.id]
    assert found(late="true", **of) == found(why_late="olt_busy", **of) == [late.id]
    assert found(late="false", **of) == [asked.id, good.id]
    assert found(**{"from": at("10:10").isoformat()}, until=at("10:12").isoformat()) == [late.id]


def test_an_execution_says_all_but_its_lease() -> None:
    olt = make_olt("north-1")
    node = make_node(olt, make_job("optics", kind="get", task_type="get_optics"))
    execution = make_execution(
        node,
        at("10:00"),
        State.FAILED,
        started_at=at("10:00:02"),
        ended_at=at("10:00:12") + timedelta(milliseconds=500),
        delay_ms=2000,
        lease_token="f00dcafe",
        counts={"rows": 7},
        load={"requests": 3, "seconds": 0.25},
        parts=[{"job": "optics", "state": "failed", "unanswered": {"0/1/7:3": "no answer"}}],
        result={"sysName": [["0", "north"]]},
        error="no answer",
    )
    for number, clock in ((1, "10:00:02"), (2, "10:00:08")):
        Attempt.objects.create(execution=execution, number=number, started_at=at(clock), error="no answer")

    answer = asking(Role.VIEWER).get(f"{PATH}{execution.id}/")
    said = answer.json()
    assert b"f00dcafe" not in answer.content
    assert (said["olt_name"], said["job_name"], said["task_type"]) == ("north-1", "optics", "get_optics")
    assert (said["duration_ms"], said["delay_ms"], said["error"]) == (10_500, 2000, "no answer")
    assert said["parts"] == execution.parts
    assert said["result"] == execution.result
    assert (said["counts"], said["load"]) == ({"rows": 7}, {"requests": 3, "seconds": 0.25})
    assert [(each["number"], each["started_at"]) for each in said["attempts"]] == [
        (1, "2025-06-10T10:00:02Z"),
        (2, "2025-06-10T10:00:08Z"),
    ]


def test_a_collection_by_hand_has_no_node() -> None:
    execution = make_execution(make_node(), at("10:00"), State.SUCCESS, trigger="run-now")
    type(execution).objects.update(node=None)
    said = asking(Role.VIEWER).get(f"{PATH}{execution.id}/").json()
    assert (said["node"], said["job"], said["job_name"], said["task_type"]) == (None,) * 4
