"""Every list of the API that is only read: how many queries it takes, and what it refuses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from tests.api_clients import asking
from tests.sample_rows import NOW, fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

# Two are for the token: to find it with its owner, and the owner's groups. PostgreSQL is asked the time too.
TOKEN = {"sqlite": 2, "postgresql": 3}
# How many each list takes besides.
QUERIES = {
    "collected": 1,
    "events": 1,
    "executions": 1,
    "forecasts": 1,
    "health": 1,
    "logs": 1,
    "onus": 3,
    "outages": 1,
    "plans": 1,
    "poller-stats": 1,
    "pollers": 1,
    "ports": 1,
    "quotas": 1,
    "skipped-slots": 1,
    "unprovisioned": 1,
    "unreadable-rows": 1,
    "violations": 1,
}
# They ask PostgreSQL the time once more.
OF_NOW = {"forecasts", "onus"}
OF_OLTS = [name for name in QUERIES if name not in ("poller-stats", "pollers")]
# The column that `from` and `until` are about.
BY_TIME = {
    "collected": "collected_at",
    "events": "at",
    "executions": "slot",
    "logs": "timestamp",
    "outages": "began_at",
    "plans": "period_start",
    "poller-stats": "timestamp",
    "quotas": "period_start",
    "skipped-slots": "last_slot",
    "unprovisioned": "first_seen",
    "unreadable-rows": "since",
    "violations": "created_at",
}


def path_of(name: str) -> str:
    return f"/api/v1/{name}/"


def rows(client: APIClient, name: str, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(path_of(name), query)
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def queries_of(client: APIClient, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return len(queries)


def test_a_list_takes_as_many_queries_for_50_rows_as_for_5() -> None:
    client = asking(Role.VIEWER)
    fill(5)
    client.get(path_of("events"))
    asks_the_time = OF_NOW if connection.vendor == "postgresql" else ()
    wanted = {
        name: count + TOKEN[connection.vendor] + (name in asks_the_time) for name, count in QUERIES.items()
    }
    assert {name: queries_of(client, path_of(name)) for name in QUERIES} == wanted
    fill(45, beginning_at=5)
    assert {name: queries_of(client, path_of(name)) for name in QUERIES} == wanted
    assert {name: len(rows(client, name)) for name in QUERIES} == dict.fromkeys(QUERIES, 50)


def test_a_row_has_an_address_of_its_own() -> None:
    client = asking(Role.VIEWER)
    fill(1)
    for name in QUERIES:
        (row,) = rows(client, name)
        alone = client.get(f"{path_of(name)}{row['id']}/")
        assert alone.status_code == 200, name
        assert row.items() <= alone.json().items(), name


def test_lists_are_narrowed_to_an_olt_or_a_site() -> None:
    client = asking(Role.VIEWER)
    fill(3)
    olt = Olt.objects.order_by("id")[1]
    Olt.objects.filter(id=olt.id).update(site="north")
    for name in OF_OLTS:
        for query in ({"olt": olt.id}, {"site": "north"}):
            assert [row["olt_name"] for row in rows(client, name, **query)] == [olt.name], (name, query)
        assert rows(client, name, olt=987654321) == []
        assert rows(client, name, site="nowhere") == []


def test_lists_are_narrowed_to_a_time() -> None:
    client = asking(Role.VIEWER)
    fill(1)
    later = NOW + timedelta(seconds=1)
    for name in BY_TIME:
        assert len(rows(client, name, **{"from": NOW.isoformat(), "until": later.isoformat()})) == 1, name
        assert rows(client, name, **{"from": later.isoformat()}) == [], name
        assert rows(client, name, until=NOW.isoformat()) == [], name


def test_times_are_in_utc_wherever_the_operator_is(settings: Any) -> None:
    settings.TIME_ZONE = "America/Bogota"
    client = asking(Role.VIEWER)
    fill(1)
    for name, column in BY_TIME.items():
        assert rows(client, name, **{"from": "2025-06-10T10:00:00"})[0][column] == "2025-06-10T10:00:00Z"


@pytest.mark.parametrize(
    ("name", "query", "field"),
    [
        *((name, {"olt": "one"}, "olt") for name in OF_OLTS),
        *((name, {"from": "yesterday"}, "from") for name in BY_TIME),
        *((name, {"site": "\0"}, "site") for name in OF_OLTS),
        ("events", {"until": "0001-01-01T00:00:00+05:00"}, "until"),
        ("events", {"kind": "ONLINE"}, "kind"),
        ("executions", {"olt": str(10**30)}, "olt"),
        ("executions", {"state": ["FAILED", "BROKEN"]}, "state"),
        ("executions", {"late": "maybe"}, "late"),
        ("executions", {"job": "1.5"}, "job"),
        ("logs", {"level": "DEBUG"}, "level"),
        ("onus", {"q": "ab"}, "q"),
        ("onus", {"q": "abc\0"}, "q"),
        ("onus", {"port": "7"}, "olt"),
        ("onus", {"weak": "1"}, "weak"),
        ("plans", {"fits": "well"}, "fits"),
        ("pollers", {"status": "SLEEPING"}, "status"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(name: str, query: dict[str, Any], field: str) -> None:
    answer = asking(Role.VIEWER).get(path_of(name), query)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_nothing_here_can_be_changed() -> None:
    client = asking(Role.ADMINISTRATOR)
    fill(1)
    for name in QUERIES:
        row = rows(client, name)[0]["id"]
        assert client.post(path_of(name), {}).status_code == 405, name
        assert client.patch(f"{path_of(name)}{row}/", {}).status_code == 405, name
        assert client.delete(f"{path_of(name)}{row}/").status_code == 405, name
