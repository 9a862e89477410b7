"""Pollers in the API: what each does, what waits for one and why, how busy they are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from facho.apps.db.database import database_now
from facho.apps.executions.models import State
from facho.apps.zabbix_pollers.models import Poller, PollerStats, Worker
from facho.core.roles import Role
from tests.api_clients import asking
from tests.factories import make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
PATH = "/api/v1/pollers/"
SECOND = timedelta(seconds=1)


def ask(path: str = "", **headers: str) -> Any:
    answer = asking(Role.VIEWER).get(PATH + path, headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.json()


def a_worker(pollers: int = 2) -> None:
    now = database_now()
    Worker.objects.create(name="one", pollers=pollers, started_at=now, seen_at=now)


def test_a_poller_says_what_it_does() -> None:
    node = make_node(make_olt("north-1"), make_job("optics"))
    now = database_now()
    Poller.objects.create(poller_id=1, worker="one", status="BUSY", current_node=node, heartbeat=now)
    Poller.objects.create(poller_id=2, worker="one", heartbeat=now)
    busy, free = ask()["results"]
    assert (busy["poller_id"], busy["status"], busy["current_node"]) == (1, "BUSY", node.id)
    assert (busy["olt"], busy["olt_name"], busy["job_name"]) == (node.olt_id, "north-1", "optics")
    assert (free["status"], free["current_node"], free["olt_name"]) == ("FREE", None, None)
    (alone,) = asking(Role.VIEWER).get(PATH, {"status": "FREE"}).json()["results"]
    assert alone == free


def test_the_queue_says_who_is_next_and_why_it_waits() -> None:
    a_worker()
    now = database_now()
    olt = make_olt("north-1")
    running = make_node(olt, make_job("discovery"))
    make_execution(running, now - 5 * SECOND, State.RUNNING, lease_expires_at=now + 20 * SECOND)
    behind = make_node(olt, make_job("optics", kind="get"))
    waits = make_execution(behind, now - 30 * SECOND)
    retry = make_execution(make_node(), now - 30 * SECOND, not_before=now + 600 * SECOND)

    said = ask("queue/", **{"accept-language": "en"})
    assert (said["size"], said["retries"], said["is_overload"]) == (1, 1, False)
    assert 30 <= said["oldest_waits_s"] < 60
    first, second = said["next_nodes"]
    assert (first["execution"], first["node"], first["olt"]) == (waits.id, behind.id, olt.id)
    assert (first["olt_name"], first["job_name"], first["run_now"]) == ("north-1", "optics", False)
    assert (first["reason"], first["because_of"]) == ("olt_busy", "discovery")
    assert first["waits_for"] == "OLT busy with discovery"
    assert (second["execution"], second["reason"]) == (retry.id, "retry")


def test_the_queue_is_too_long_when_the_oldest_waits_for_a_minute() -> None:
    now = database_now()
    for number in range(12):
        make_execution(make_node(), now - (61 - number) * SECOND)
    said = ask("queue/")
    assert (said["size"], said["is_overload"]) == (12, True)
    assert len(said["next_nodes"]) == 10
    assert {each["reason"] for each in said["next_nodes"]} == {"no_pollers"}


def test_nobody_waits_in_an_empty_queue() -> None:
    nothing: dict[str, Any] = {
        "size": 0,
        "is_overload": False,
        "oldest_waits_s": None,
        "retries": 0,
        "next_nodes": [],
    }
    assert ask("queue/") == nothing


def test_statistics_are_those_of_now() -> None:
    a_worker(pollers=4)
    now = database_now()
    PollerStats.objects.create(
        timestamp=now - 30 * SECOND,
        total_pollers=9,
        free_pollers=0,
        busy_pollers=9,
        busy_percentage=100,
        queue_size=3,
        is_saturated=True,
        total_tasks_completed=40,
        total_tasks_delayed=4,
    )
    make_execution(make_node(), now - 60 * SECOND, State.RUNNING)
    ended = {"started_at": now - 50 * SECOND, "ended_at": now - 20 * SECOND, "why_late": "olt_busy"}
    make_execution(make_node(), now - 60 * SECOND, State.SUCCESS, **ended)
    make_execution(make_node(), now - SECOND)

    said = ask("stats/")
    busy = said.pop("busy_percentage")
    assert 30 < busy < 40
    assert said.pop("timestamp") >= f"{now:%Y-%m-%dT%H:%M:%S}"
    assert said == {
        "total_pollers": 4,
        "free_pollers": 3,
        "busy_pollers": 1,
        "queue_size": 1,
        "is_saturated": False,
        "total_tasks_completed": 41,
        "total_tasks_delayed": 5,
    }
    assert PollerStats.objects.count() == 1
