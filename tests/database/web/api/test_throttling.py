"""Nobody keeps the others from being answered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from rest_framework.test import APIClient

from facho.core.roles import Role
from facho.web.api import throttling
from tests.api_clients import asking, person, showing

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

NODES = "/api/v1/nodes/"


@pytest.fixture(autouse=True)
def _few_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling.AuthenticatedThrottle, "get_rate", lambda _self: "3/minute")
    monkeypatch.setattr(throttling.RefusedAddressThrottle, "get_rate", lambda _self: "2/minute")
    # No minute ends while it is counted.
    monkeypatch.setattr(throttling, "time", SimpleNamespace(time=lambda: 1_000_000.0))


def test_who_asks_too_often_is_told_when_to_ask_again() -> None:
    client = asking(Role.VIEWER)
    assert [client.get(NODES).status_code for _ in range(4)] == [200, 200, 200, 429]
    told = client.get(NODES)
    assert told["Content-Type"] == "application/problem+json"
    assert told.json()["status"] == 429
    assert 0 < int(told["Retry-After"]) <= 60


def test_one_token_does_not_count_for_another_nor_for_a_person() -> None:
    client = asking(Role.VIEWER)
    assert [client.get(NODES).status_code for _ in range(4)][-1] == 429
    assert asking(Role.VIEWER).get(NODES).status_code == 200
    browser = APIClient()
    browser.force_login(person(Role.VIEWER))
    assert [browser.get(NODES).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_who_is_refused_too_often_is_not_even_refused() -> None:
    assert [showing("fd_wrong").get(NODES).status_code for _ in range(3)] == [401, 401, 429]
    # Whatever address it claims to have; and one that has a token is let in from there.
    assert APIClient().get(NODES, headers={"X-Forwarded-For": "10.0.0.9"}).status_code == 429
    assert APIClient(REMOTE_ADDR="10.0.0.9").get(NODES).status_code == 401
    assert asking(Role.VIEWER).get(NODES).status_code == 200
