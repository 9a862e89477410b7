"""Nodes through the API: an interval and a priority of their own, switched and moved."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from facho.core.roles import Role
from tests.api_clients import asking, refused_at
from tests.factories import add_job, add_olts, node_of

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]


@pytest.fixture
def path() -> str:
    add_olts("north")
    add_job("state", "north", now=timezone.now())
    return f"/api/v1/nodes/{node_of('state', 'north').id}/"


def test_it_has_an_interval_and_a_priority_of_its_own_until_it_has_not(path: str) -> None:
    client = asking(Role.ADMINISTRATOR)
    before = timezone.now()
    answer = client.patch(path, {"interval": "1h", "priority": 7}).json()
    assert (answer["interval_s"], answer["priority"], answer["enabled"]) == (3600, 7, True)
    assert datetime.fromisoformat(answer["next_run_at"]) >= before + timedelta(hours=1)
    # What is not given stays, and null is something.
    answer = client.patch(path, {"interval": None}).json()
    assert (answer["interval_s"], answer["priority"]) == (None, 7)
    assert datetime.fromisoformat(answer["next_run_at"]) < before + timedelta(minutes=11)


def test_what_is_wrong_is_said_and_nothing_changes(path: str) -> None:
    client = asking(Role.ADMINISTRATOR)
    given = {"interval": 300, "priority": 0, "enabled": "perhaps", "job": 2}
    assert refused_at(client.patch(path, given)).keys() == {"interval", "priority", "enabled", "job"}
    node = node_of("state", "north")
    type(node.olt).objects.update(shortest_interval_s=60)
    assert refused_at(client.patch(path, {"priority": 3, "interval": "30s"})).keys() == {"interval"}
    node.refresh_from_db()
    assert (node.priority, node.interval_s) == (None, None)


@pytest.mark.both_databases
def test_an_operator_switches_it_and_moves_nothing(path: str) -> None:
    client = asking(Role.OPERATOR)
    assert client.post(f"{path}disable/").json() == {"nodes": 0, "first_run_at": None, "aborted": 0}
    assert client.get(path).json()["next_run_at"] is None
    assert client.post(f"{path}enable/").json()["nodes"] == 1
    assert client.patch(path, {"enabled": False}).status_code == 403
    assert client.post(f"{path}shift/", {"by": "2m"}).status_code == 403
    assert asking(Role.VIEWER).post(f"{path}disable/").status_code == 403


def test_its_grid_is_moved(path: str) -> None:
    client, before = asking(Role.ADMINISTRATOR), node_of("state", "north").next_run_at
    assert before is not None
    answer = client.post(f"{path}shift/", {"by": "2m"}).json()
    assert datetime.fromisoformat(answer["next_run_at"]) == before + timedelta(minutes=2)
    assert refused_at(client.post(f"{path}shift/", {"by": "10m"})).keys() == {"by"}
