"""What is at the root of the API, at its page, and where there is nothing."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.roles import Role
from facho.web.api.v1.nodes import Nodes
from tests.api_clients import asking, person

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

PROBLEM = "application/problem+json"


def test_everything_that_the_index_names_can_be_read() -> None:
    client = asking(Role.ADMINISTRATOR)
    found = client.get("/api/v1/").json()
    assert found["node-list"] == "http://testserver/api/v1/nodes/"
    client.force_login(person(Role.ADMINISTRATOR))
    assert {name: client.get(url).status_code for name, url in found.items()} == dict.fromkeys(found, 200)


def test_where_there_is_nothing_a_problem_says_so_to_who_may_ask() -> None:
    for path in ("/api/v1/zzz/", "/api/v1/nodes/one/", "/api/v1/nodes/1/2/"):
        answer = asking(Role.VIEWER).post(path)
        assert (answer.status_code, answer["Content-Type"]) == (404, PROBLEM)
        assert Client().get(path).status_code == 401


def test_a_bug_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Nodes, "get_queryset", broken)
    client = asking(Role.VIEWER)
    client.raise_request_exception = False
    answer = client.get("/api/v1/nodes/")
    assert (answer.status_code, answer["Content-Type"]) == (500, PROBLEM)
    assert answer.json()["status"] == 500
    assert SnmpJobHost.__name__ not in answer.content.decode()


def test_the_page_of_the_api_asks_no_other_host_and_has_no_script_in_it(client: Client) -> None:
    assert client.get("/api/v1/docs/").status_code == 302
    client.force_login(person(Role.VIEWER))
    page = client.get("/api/v1/docs/").content.decode()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(loaded) == 5
    assert all(address.startswith(("/static/", "/api/v1/docs/")) for address in loaded)
    assert not re.search(r"<script>|<style|style=|onload", page)
    script = client.get("/api/v1/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert "/api/v1/schema/" in script.content.decode()
