"""The parts of the dashboard: rendered once a second for all who see the same, sent only if they changed."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.components.shared_part import shared_part
from facho.web.server import answer_cache
from tests.api_clients import person
from tests.sample_rows import fill

pytestmark = pytest.mark.django_db

LIVE = "/coordinator/dashboard/live/"
OVERVIEW = "/coordinator/dashboard/overview/"
TIMELINE = "/coordinator/dashboard/timeline/"
PARTS = (LIVE, OVERVIEW, TIMELINE)
ENGLISH = {"Accept-Language": "en"}


def logged_in(role: Role, name: str) -> Client:
    client = Client(headers=ENGLISH)
    client.force_login(person(role, name))
    return client


def statements_of(client: Client, path: str, **options: Any) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path, **options).status_code == 200
    return [query["sql"] for query in queries]


@pytest.fixture
def seconds_later(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = [1000.0]
    monkeypatch.setattr(answer_cache, "monotonic", lambda: now[0])

    def later(seconds: float) -> None:
        now[0] += seconds

    return later


@pytest.mark.parametrize("path", PARTS)
def test_a_second_poll_asks_only_who_is_there(path: str, seconds_later: Any) -> None:
    fill(5)
    logged_in(Role.VIEWER, "first").get(path)
    second = logged_in(Role.VIEWER, "second")
    session, account = statements_of(second, path)
    assert "django_session" in session
    assert "auth_user" in account
    seconds_later(1.1)
    assert len(statements_of(second, path)) > 2


@pytest.mark.parametrize("path", PARTS)
def test_what_has_not_changed_is_not_sent_again(path: str, seconds_later: Any) -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    whole = viewer.get(path)
    tag = whole.headers["ETag"]
    same = viewer.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)
    # Nothing of it is stored in the browser, and every other header is that of a whole answer.
    assert "no-store" in same.headers["Cache-Control"]
    for name in ("Content-Security-Policy", "X-Frame-Options", "Vary", "Cache-Control"):
        assert same.headers[name] == whole.headers[name]
    Olt.objects.update(enabled=False)
    seconds_later(1.1)
    assert viewer.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_an_idle_dashboard_does_not_change_with_time(seconds_later: Any) -> None:
    viewer = logged_in(Role.VIEWER, "viewer")
    tag = viewer.get(LIVE).headers["ETag"]
    seconds_later(30)
    assert viewer.get(LIVE, headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("path", PARTS)
def test_each_language_has_its_own(path: str) -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    english = viewer.get(path).content
    spanish = viewer.get(path, headers={"Accept-Language": "es"}).content
    assert english != spanish
    assert viewer.get(path).content == english


def test_each_role_and_time_zone_has_its_own() -> None:
    def render(role: Role, zone: str) -> bytes:
        request = RequestFactory().get(LIVE)
        request.user = people[role]
        with timezone.override(ZoneInfo(zone)):
            shown = {"refused": {"sentence": f"{role.slug} in {zone}"}}
            return shared_part(request, "components/refused.html", lambda: shown).content

    people = {role: person(role, role.slug) for role in (Role.VIEWER, Role.OPERATOR)}
    places = [(role, zone) for role in people for zone in ("America/Bogota", "Europe/Madrid")]
    for role, zone in (*places, *places):
        assert f"{role.slug} in {zone}".encode() in render(role, zone)


def test_each_query_has_its_own() -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    assert viewer.get(TIMELINE).content != viewer.get(TIMELINE, {"hours": "12"}).content


def test_a_role_that_was_taken_away_ends_it_at_once() -> None:
    viewer = logged_in(Role.VIEWER, "viewer")
    assert viewer.get(LIVE).status_code == 200
    person_there = type(person(Role.VIEWER, "other")).objects.get(username="viewer")
    person_there.groups.clear()
    assert viewer.get(LIVE).headers["HX-Refresh"] == "true"
