"""A query of a page that takes too long is cut, and said to be; the engine's and the commands' are not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.test import Client

from facho.core.roles import Role
from facho.engine.process.command_transaction import command
from facho.web.api.v1 import olts
from facho.web.server import query_limits
from tests.api_clients import asking, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

# Hours of counting on SQLite, and of sleep on PostgreSQL.
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}
# What else a page asks must never take as long, however busy the machine is.
LIMIT_S = 2
# Longer than the limit. SQLite looks at the clock only while it counts.
LONG = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT wait() UNION ALL SELECT i + 1 FROM n LIMIT 100000)"
    " SELECT max(i) FROM n",
    "postgresql": f"SELECT pg_sleep({LIMIT_S + 1})",
}


def run(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()


def wait() -> int:
    time.sleep(LIMIT_S + 1)
    return 1


def run_long() -> Any:
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.create_function("wait", 0, wait)
    return run(LONG[connection.vendor])


@contextmanager
def limited() -> Iterator[None]:
    """As in a process of the web, for the connections that are opened meanwhile."""
    options = settings.DATABASES["default"]["OPTIONS"]
    before = options.get("options")
    connection.close()
    query_limits.limit_queries(timedelta(seconds=LIMIT_S))
    try:
        yield
    finally:
        connection_created.disconnect(dispatch_uid=query_limits.__name__)
        if before is not None:
            options["options"] = before
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]  # of PostgreSQL's
        connection.execute_wrappers.clear()
        connection.close()


def test_what_takes_too_long_is_cut_and_what_comes_after_is_not() -> None:
    with limited():
        with pytest.raises(OperationalError) as cut:
            run(ENDLESS[connection.vendor])
        assert query_limits.database_is_busy(cut.value)
        assert run("SELECT 1") == (1,)


def test_a_change_takes_as_long_as_it_has_to() -> None:
    with limited():
        with pytest.raises(OperationalError):
            run_long()
        command(run_long)()


@pytest.fixture
def slow_page(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def slow(*_: Any, **__: Any) -> Any:
        return run(ENDLESS[connection.vendor])

    monkeypatch.setattr(olts.Olts, "get_queryset", slow)
    monkeypatch.setattr("facho.web.dashboard.views.read_live", slow)
    return slow


@pytest.mark.usefixtures("slow_page")
def test_people_and_programs_are_told_that_it_took_too_long(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.raise_request_exception = False
    client.force_login(person(Role.VIEWER))
    program = asking(Role.VIEWER)
    program.raise_request_exception = False
    with limited():
        page = client.get("/coordinator/dashboard/live/", headers={"accept-language": "en"})
        answer = program.get("/api/v1/olts/", headers={"accept-language": "en"})
    assert (page.status_code, page["Retry-After"]) == (503, "30")
    assert "took too long" in page.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert "took too long" in answer.json()["detail"]
    cut = [each.__dict__["path"] for each in caplog.records if each.__dict__.get("action") == "query_cut"]
    assert cut == ["/coordinator/dashboard/live/", "/api/v1/olts/"]


def test_a_bug_is_still_a_bug() -> None:
    with pytest.raises(Exception) as bug:  # another one on each database
        run("SELECT nothing FROM nowhere")
    assert not query_limits.database_is_busy(bug.value)
