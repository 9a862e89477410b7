"""A long list is narrowed by what there is an index for, and by nothing else alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.http import urlencode

from facho.core.roles import Role
from facho.web.api.filters import Filters, allowed_orderings, filter_names
from facho.web.api.pagination import Order
from facho.web.api.v1 import urls
from tests.api_clients import asking, refused_at

pytestmark = pytest.mark.django_db

# Lists that are short on any fleet, some thousands of rows for each hundred OLTs: they may be looked through.
SHORT = {
    "brands", "collected", "forecasts", "health", "jobs", "maintenance-windows", "models", "nodes",
    "notification-channels", "notification-rules", "oids", "olts", "outages", "plans", "poller-stats",
    "pollers", "pollers/nodes", "ports", "tokens", "traffic", "unprovisioned",
    "unreadable-rows", "uplinks",
}  # fmt: skip
# Of a long list, what nearly every row has: whoever looks for it finds a page of it at once.
NEARLY_ALL = {("onus", "presence", "present"), ("onus", "weak", "false")}
# Looks for ids of its own, by its own indexes, and refuses what is too short.
ELSEWHERE = {("onus", "q")}
# Of these rows alone, and in the order of the list.
OWN_INDEXES = (
    "USING INDEX onu_data_weak", "USING INDEX onu_data_absent", "USING INDEX quota_violations_acknowledged",
    "USING INDEX quota_violations_open",
)  # fmt: skip
GIVEN = {
    "from": "2025-06-10T10:00:00Z", "until": "2025-06-10T11:00:00Z", "since": "2025-06-10T10:00:00Z",
    "late": "true", "weak": "true", "at_risk": "true", "run_now": "true", "everybody": "true",
    "notified": "true", "acknowledged": "true", "presence": "absent",
    "other_fact": "mac_count=1", "frame": "1", "slot": "1", "port": "1",
}  # fmt: skip


def long_lists() -> Iterator[tuple[str, Any]]:
    for prefix, view, _name in urls.router.registry:
        if hasattr(view, "filterset_class") and prefix not in SHORT:
            yield prefix, view


def questions() -> Iterator[tuple[str, dict[str, str]]]:
    """Each filter alone; with each that it needs, if it is refused alone."""
    for prefix, view in long_lists():
        filters: Any = view.filterset_class
        needs = {**filters.only_with, **dict.fromkeys(("frame", "slot", "port"), ("olt",))}
        for name, each in filters.base_filters.items():
            choices = dict(getattr(each, "extra", {}).get("choices") or ())
            value = GIVEN.get(name) or next(iter(choices), "1")
            if (prefix, name) in ELSEWHERE or (prefix, name, value) in NEARLY_ALL:
                continue
            for other in needs.get(name, ("",)):
                company = {other: _value(filters, other)} if other else {}
                if other in ("from", "since"):
                    company["until"] = GIVEN["until"]
                yield prefix, {name: value, **company}
    # The ones still to be looked at are another part of the table than the others.
    yield "violations", {"acknowledged": "false"}


def _value(filters: Any, name: str) -> str:
    choices = dict(filters.base_filters[name].extra.get("choices") or ())
    return GIVEN.get(name) or next(iter(choices), "1")


def plan_of(rows: QuerySet[Any]) -> list[str]:
    sql, params = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return [row[3] for row in cursor.fetchall()]


@pytest.mark.parametrize(("prefix", "asked"), list(questions()), ids=str)
def test_every_filter_of_a_long_list_is_looked_up_by_an_index(prefix: str, asked: dict[str, str]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads the whole of an empty table, whatever indexes it has")
    view: Any = dict(long_lists())[prefix]
    filters: Any = view.filterset_class(data=QueryDict(urlencode(asked)), queryset=view.queryset)
    assert filters.is_valid(), filters.errors
    rows = Order.read(allowed_orderings(view, asked)[0]).sort(filters.qs)[:101]
    table = view.queryset.model._meta.db_table
    (step,) = (step for step in plan_of(rows) if step.split()[1] == table)
    assert step.startswith("SEARCH") or step.endswith(OWN_INDEXES), plan_of(rows)


def test_every_list_that_is_not_short_has_filters_of_our_own() -> None:
    """Which alone refuse what they have no index for; and no name in the list above is out of date."""
    assert all(issubclass(view.filterset_class, Filters) for _prefix, view in long_lists())
    assert {prefix for prefix, *_ in urls.router.registry} >= SHORT
    every = {prefix: filter_names(view(), view.queryset) for prefix, view in long_lists()}
    assert every.keys() == {
        "audit", "events", "executions", "logs", "onus", "quotas", "skipped-slots", "violations",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("executions/?late=true", "late"),
        # A job may be of all OLTs, and most events are of a few kinds.
        ("executions/?job=1&why_late=olt_busy", "why_late"),
        ("skipped-slots/?job=1&why=olt_busy", "why"),
        ("events/?kind=offline&cause=los", "cause"),
        ("audit/?object_id=1", "object_id"),
    ],
)
def test_what_has_no_index_is_refused_with_what_to_give_too(path: str, name: str) -> None:
    answer = asking(Role.ADMINISTRATOR).get(f"/api/v1/{path}")
    assert answer.status_code == 400
    assert "give" in refused_at(answer)[name] or "indique" in refused_at(answer)[name]


@pytest.mark.parametrize(
    ("path", "name", "begin"),
    [
        ("executions/?run_now=true", "run_now", "from"),
        ("events/?cause=los", "cause", "from"),
        ("audit/?how=cli", "how", "since"),
    ],
)
def test_a_time_narrows_a_list_only_if_it_is_short(
    path: str, name: str, begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2025, 6, 10, tzinfo=UTC)
    monkeypatch.setattr("facho.web.api.filters.timezone", SimpleNamespace(now=lambda: now))
    client = asking(Role.ADMINISTRATOR)

    def ask(**times: str) -> Any:
        return client.get(f"/api/v1/{path}&{urlencode(times)}", headers={"accept-language": "en"})

    for long in ({begin: "1971-01-01"}, {begin: "2025-04-09T00:00:00Z", "until": "2025-06-10T00:00:00Z"}):
        answer = ask(**long)
        assert answer.status_code == 400, long
        assert f"{begin} (at most 31 days before until or now)" in refused_at(answer)[name]
    for short in ({begin: "2025-05-10T00:00:00Z"}, {begin: "2020-01-01", "until": "2020-02-01"}):
        assert ask(**short).status_code == 200, short
