"""The parts of the dashboard: rendered once a second for all who see the same, sent only if they changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation
from django.utils.html import escape

from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.components import shared_part
from facho.web.components.shared_part import SharedPart, rendered_part
from facho.web.server import answer_cache
from tests.api_clients import person
from tests.sample_rows import fill

pytestmark = pytest.mark.django_db

PAGE = "/coordinator/dashboard/"
LIVE = "/coordinator/dashboard/live/"
OVERVIEW = "/coordinator/dashboard/overview/"
TIMELINE = "/coordinator/dashboard/timeline/"
PARTS = (LIVE, OVERVIEW, TIMELINE)
# How long each is the same for all, in seconds.
AGES = ((LIVE, 1), (OVERVIEW, 5), (TIMELINE, 1))
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


@pytest.mark.parametrize(("path", "age"), AGES)
def test_a_second_poll_asks_only_who_is_there(path: str, age: float, seconds_later: Any) -> None:
    fill(5)
    logged_in(Role.VIEWER, "first").get(path)
    second = logged_in(Role.VIEWER, "second")
    session, account = statements_of(second, path)
    assert "django_session" in session
    assert "auth_user" in account
    seconds_later(age + 0.1)
    assert len(statements_of(second, path)) > 2


@pytest.mark.parametrize(("path", "age"), AGES)
def test_what_has_not_changed_is_not_sent_again(path: str, age: float, seconds_later: Any) -> None:
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
    seconds_later(age + 0.1)
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
            return rendered_part(request, SharedPart("components/refused.html", lambda: shown)).content

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


@pytest.fixture
def run_later(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What other threads are asked to do, which the test does."""
    asked: list[Callable[[], None]] = []
    monkeypatch.setattr(shared_part, "_run_later", asked.append)
    return asked


@pytest.mark.parametrize(("path", "age"), AGES)
def test_nobody_waits_for_a_part_that_has_a_previous_one(
    path: str, age: float, seconds_later: Any, run_later: list[Callable[[], None]]
) -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    before = viewer.get(path).content
    Olt.objects.update(enabled=False)
    seconds_later(age + 0.1)
    for _ in range(3):
        assert len(statements_of(viewer, path)) == 2
        assert viewer.get(path).content == before
    (refresh,) = run_later
    refresh()
    after = viewer.get(path).content
    assert after != before
    # A part that nobody asked for meanwhile is not shown.
    Olt.objects.update(enabled=True)
    seconds_later(age + 2.1)
    assert viewer.get(path).content != after


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_part_is_refreshed_in_its_language(
    language: str, seconds_later: Any, run_later: list[Callable[[], None]]
) -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    headers = {"Accept-Language": language}
    before = viewer.get(OVERVIEW, headers=headers).content
    seconds_later(5.1)
    viewer.get(OVERVIEW, headers=headers)
    with translation.override("es" if language == "en" else "en"):
        run_later[0]()
    assert viewer.get(OVERVIEW, headers=headers).content == before


@pytest.mark.parametrize("query", ["", "?wall=1"])
def test_the_page_has_the_parts_of_its_polls(query: str, seconds_later: Any) -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    parts = [viewer.get(path) for path in (LIVE, OVERVIEW)]
    Olt.objects.update(enabled=False)
    page = viewer.get(PAGE + query).content.decode()
    for part in parts:
        assert part.content.decode() in page
        assert f'data-etag="{escape(part.headers["ETag"])}"' in page
    seconds_later(1.1)
    page = viewer.get(PAGE + query).content.decode()
    assert viewer.get(LIVE).content.decode() in page
    assert parts[0].content.decode() not in page


def test_a_page_between_two_polls_reads_only_its_person_and_whether_there_are_olts() -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    viewer.get(PAGE)
    assert len(statements_of(logged_in(Role.VIEWER, "second"), PAGE)) == 3


def test_a_page_around_shared_parts_is_of_the_person_who_asks() -> None:
    fill(5)
    pages = {
        name: logged_in(Role.VIEWER, name).get(PAGE).content.decode() for name in ("first-one", "second-one")
    }
    assert "first-one" in pages["first-one"]
    assert "first-one" not in pages["second-one"]
    tokens = [re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page) for page in pages.values()]
    assert len({token and token[1] for token in tokens}) == 2


def test_who_changes_something_sees_it_at_once(run_later: list[Callable[[], None]]) -> None:
    fill(5)
    client = logged_in(Role.ADMINISTRATOR, "administrator")
    olt = Olt.objects.filter(enabled=True).earliest("id")
    before = client.get(OVERVIEW).content
    assert client.get(OVERVIEW).content == before
    assert client.post(f"/olts/{olt.pk}/disable/", {"reason": "works"}).status_code == 302
    assert client.get(OVERVIEW).content != before
    assert not run_later


def test_nobody_without_a_session_makes_the_server_render_again() -> None:
    fill(5)
    viewer = logged_in(Role.VIEWER, "viewer")
    viewer.get(OVERVIEW)
    Client().post("/olts/1/disable/")
    assert len(statements_of(viewer, OVERVIEW)) == 2
