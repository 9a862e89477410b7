"""`facho bench web`, so small that only its working is seen and not its speed."""

from __future__ import annotations

import pytest
from django.db.models import Count
from django.test import Client

from bench.pages import Page, pages
from bench.rows import Rows, insert_rows
from bench.web import PageLoad, Result, Work, headers_for, log_in, measure_pages, parse_wrk
from facho.apps.discovery.models import Onu
from facho.apps.history.models import HistoryFrame, HistoryHour

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.both_databases]

SAID = """
  Socket errors: connect 0, read 2, write 0, timeout 1
  Non-2xx or 3xx responses: 4
Requests/sec:    123.45
"""


@pytest.mark.usefixtures("brands")
def test_every_page_and_answer_is_there_to_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(olts=20, onus=200, executions=300, events=50, logs=50, hours=2, history_days=1)
    insert_rows(rows)
    assert Onu.objects.count() == 200
    # Of the ONUs of one port and of the traffic of one OLT, hour by hour. A day of traffic ends now: its last
    # collections are of an open hour, and in the last minutes of an hour fill it.
    hours = dict(HistoryHour.objects.values_list("subject").annotate(Count("pk")))
    assert hours.pop("onu") == 24
    assert hours in ({"port": 24, "link": 24}, {"port": 23, "link": 23})
    assert HistoryFrame.objects.filter(subject__in=("port", "link")).exists()
    headers, client = log_in("UTC"), Client()

    def get(path: str) -> tuple[int, bytes]:
        answer = client.get(path, headers=headers_for(headers, path))
        return answer.status_code, answer.content

    # Numbers of rows begin at any, on a database that others have used.
    wanted = [page for page in pages(rows) if not page.name.startswith("ONU,") and page.name != "ONU"]
    took, missing = measure_pages(wanted, 1, get, lambda: 0.0, lambda _note: None)
    assert set(missing.values()) <= {404}
    assert {"dashboard", "ONUs", "ONUs, far inside", "executions", "metrics", "search: middle of a MAC"} <= {
        each.page.name for each in took
    }
    result = Result(Work(rows), "sqlite", 1.0, tuple(took), missing, (PageLoad(Page("x", "/"), 10.0, 0),))
    assert result.as_json()["pages"]["ONUs"]["bytes"] > 1000
    result.print()
    assert "One process served 10 requests" in capsys.readouterr().out


def test_what_wrk_says_is_read() -> None:
    assert parse_wrk(SAID) == (123.45, 7)
