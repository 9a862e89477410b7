"""A query of a page that takes too long is cut, and said to be; the engine's and the commands' are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.test import Client

from facho.core.roles import Role
from facho.engine.commands.turns import command
from facho.web import queries
from facho.web.api.v1 import olts
from tests.database.asking_api import asking, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

# Hours of counting on SQLite, and of sleep on PostgreSQL.
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}
SHORT = {
    "sqlite": ENDLESS["sqlite"].replace(") SELECT max", " LIMIT 12000000) SELECT max"),
    "postgresql": "SELECT pg_sleep(0.8)",
}


def run(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()


@pytest.fixture
def limited() -> Iterator[None]:
    """As in a process of the web, for the connections of this test."""
    options = settings.DATABASES["default"]["OPTIONS"]
    before = options.get("options")
    connection.close()
    queries.limit_queries(timedelta(milliseconds=400))
    yield
    connection_created.disconnect(dispatch_uid=queries.__name__)
    if before is not None:
        options["options"] = before
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of PostgreSQL's
    connection.execute_wrappers.clear()
    connection.close()


@pytest.mark.usefixtures("limited")
def test_what_takes_too_long_is_cut_and_what_comes_after_is_not() -> None:
    with pytest.raises(OperationalError) as cut:
        run(ENDLESS[connection.vendor])
    assert queries.database_is_busy(cut.value)
    assert run("SELECT 1") == (1,)


@pytest.mark.usefixtures("limited")
def test_a_change_takes_as_long_as_it_has_to() -> None:
    command(run)(SHORT[connection.vendor])


@pytest.fixture
def slow_page(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def slow(*_: Any, **__: Any) -> Any:
        return run(ENDLESS[connection.vendor])

    monkeypatch.setattr(olts.Olts, "get_queryset", slow)
    monkeypatch.setattr("facho.web.views.live", slow)
    return slow


@pytest.mark.usefixtures("limited", "slow_page")
def test_people_and_programs_are_told_that_it_took_too_long(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.raise_request_exception = False
    client.force_login(person(Role.VIEWER))
    page = client.get("/coordinator/dashboard/live/", headers={"accept-language": "en"})
    assert (page.status_code, page["Retry-After"]) == (503, "30")
    assert "took too long" in page.content.decode()
    program = asking(Role.VIEWER)
    program.raise_request_exception = False
    answer = program.get("/api/v1/olts/", headers={"accept-language": "en"})
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert "took too long" in answer.json()["detail"]
    cut = [each.__dict__["path"] for each in caplog.records if each.__dict__.get("action") == "query_cut"]
    assert cut == ["/coordinator/dashboard/live/", "/api/v1/olts/"]


def test_a_bug_is_still_a_bug() -> None:
    with pytest.raises(Exception) as bug:  # another one on each database
        run("SELECT nothing FROM nowhere")
    assert not queries.database_is_busy(bug.value)
