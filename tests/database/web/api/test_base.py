"""What all of the API shares: who gets in, how errors look, how pages follow each other."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.roles import Role
from facho.web.api.permissions import required_right
from tests.api_clients import asking, person, showing, token_of
from tests.sample_rows import NOW, fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.both_databases]

NODES = "/api/v1/nodes/"


def pages(client: APIClient, url: str | None, way: str) -> list[dict[str, Any]]:
    found = []
    while url:
        found.append(client.get(url).json())
        url = found[-1][way]
    return found


def ids(pages: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for page in pages for row in page["results"]]


@pytest.mark.parametrize("ordering", ["id", "-id", "next_run_at", "-next_run_at", "olt__name"])
def test_pages_have_every_row_once_in_order_and_lead_back(ordering: str) -> None:
    fill(11)
    # Some have no time at all, and some the same one.
    SnmpJobHost.objects.update(next_run_at=None)
    for number, node in enumerate(SnmpJobHost.objects.order_by("id")[:7]):
        SnmpJobHost.objects.filter(id=node.id).update(next_run_at=NOW + timedelta(minutes=number // 3))
    client, path = asking(Role.VIEWER), f"{NODES}?ordering={ordering}&page_size=3"
    whole = client.get(f"{NODES}?ordering={ordering}").json()["results"]

    onwards = pages(client, path, "next")
    assert ids(onwards) == [row["id"] for row in whole]
    assert len(set(ids(onwards))) == 11
    assert [row["next_run_at"] for row in whole].index(None) == 7 or "next_run" not in ordering
    back = pages(client, onwards[-1]["previous"], "previous")
    assert ids(back[::-1]) == ids(onwards[:-1])


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page_size=0", "page_size"),
        ("page_size=ten", "page_size"),
        ("ordering=job__olt__password", "ordering"),
        ("cursor=zzz", "cursor"),
        ("cursor=WyJuIiwgIm5leHRfcnVuX2F0IiwgMSwgMV0=", "cursor"),
        # Brackets alone, thousands of them.
        (f"cursor={'W1tb' * 1500}", "cursor"),
        ("olt=none", "olt"),
        ("ollt=3", "ollt"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_at_its_field(query: str, field: str) -> None:
    answer = asking(Role.VIEWER).get(f"{NODES}?{query}")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["title"] == "Bad Request"
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_parameter_that_is_misspelt_is_answered_with_those_that_there_are() -> None:
    answer = asking(Role.VIEWER).get(f"{NODES}?jobs=1&colour=red&page_size=3&format=json")
    errors = answer.json()["errors"]
    assert [error["field"] for error in errors] == ["colour", "jobs"]
    names = errors[0]["message"].split(": ")[1].split(", ")
    assert {"cursor", "olt", "ordering", "page_size"} <= {*names}
    fill(1)
    onu = f"/api/v1/onus/{Onu.objects.get().id}"
    for path in (f"{onu}/history/?fcat=onu_rx_dbm", f"{onu}/events/?olt=1"):
        assert asking(Role.VIEWER).get(path).status_code == 400, path


def test_what_is_not_there_is_a_problem_too() -> None:
    answer = asking(Role.VIEWER).get(f"{NODES}17/")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["status"] == 404


def test_a_token_is_as_good_as_it_and_its_owner_are() -> None:
    owner = person(Role.OPERATOR)
    secret = token_of(owner, Role.OPERATOR)
    assert showing(secret).get(NODES).status_code == 200
    owner.api_tokens.update(revoked_at=timezone.now())
    assert showing(secret).get(NODES).status_code == 401
    owner.api_tokens.update(revoked_at=None, expires_at=timezone.now())
    assert showing(secret).get(NODES).status_code == 401
    owner.api_tokens.update(expires_at=timezone.now() + timedelta(hours=1))
    User.objects.filter(id=owner.id).update(is_active=False)
    assert showing(secret).get(NODES).status_code == 401


def test_a_token_is_never_above_its_owner() -> None:
    owner = person(Role.VIEWER)
    fill(1)
    path = f"{NODES}{SnmpJobHost.objects.get().id}/run/"
    assert showing(token_of(owner, Role.ADMINISTRATOR)).post(path).status_code == 403
    owner.groups.clear()
    assert showing(token_of(owner, Role.VIEWER)).get(NODES).status_code == 403


def test_a_use_of_a_token_is_noted() -> None:
    owner = person(Role.VIEWER)
    showing(token_of(owner, Role.VIEWER)).get(NODES)
    assert owner.api_tokens.get().last_used_at is not None


def test_nobody_gets_in() -> None:
    assert APIClient().get(NODES).status_code == 401
    assert showing("fd_wrong").get(NODES).status_code == 401


def test_a_browser_that_is_logged_in_asks_without_a_token() -> None:
    client = APIClient()
    client.force_login(person(Role.VIEWER))
    assert client.get(NODES).status_code == 200


def test_run_now_answers_where_its_execution_is() -> None:
    fill(1)
    Execution.objects.all().delete()
    node: Any = SnmpJobHost.objects.get()
    SnmpJobHost.objects.update(enabled=True)
    answer = asking(Role.OPERATOR).post(f"{NODES}{node.id}/run/")
    assert answer.status_code == 202
    made = Execution.objects.get()
    assert answer.json() == {
        "execution": made.id,
        "url": f"http://testserver/api/v1/executions/{made.id}/",
    }
    assert answer["Location"] == answer.json()["url"]


def test_an_action_that_changes_something_needs_the_highest_right_unless_it_names_another() -> None:
    def right(action: str, **actions: str) -> str:
        view = SimpleNamespace(action=action, action_map=actions, rights={"test": "test"})
        return required_right(view)

    assert right("recover", post="recover") == "change"
    assert right("test", post="test") == "test"
    assert right("history", get="history", head="history") == "view"
    assert right("") == "view"
