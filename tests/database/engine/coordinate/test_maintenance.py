"""OLTs are left alone while people work on them, and owe nothing for that time."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import closed_times, under_maintenance
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config, current
from facho.engine.schedule.scheduler import scheduler_step
from tests.factories import at, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def make_window(olt: Olt | None, since: str = "", until: str = "", **columns: Any) -> MaintenanceWindow:
    columns.setdefault("name", f"w{MaintenanceWindow.objects.count()}")
    if since:
        columns |= {"starts_at": at(since), "ends_at": at(until)}
    return MaintenanceWindow.objects.create(olt=olt, created_at=at("00:00"), **columns)


def spans(of: Olt, after: str = "00:00", until: str = "23:00") -> list[tuple[str, str]]:
    found = closed_times([of.id], at(after), at(until), current().time_zone)
    return [(f"{start:%H:%M}", f"{end:%H:%M}") for start, end in found.get(of.id, [])]


def test_an_olt_has_its_own_and_those_of_its_site() -> None:
    north, south = make_olt(site="Norte"), make_olt(site="Sur")
    make_window(north, "10:00", "10:30")
    make_window(None, "10:20", "11:00", site="Norte")
    make_window(None, "12:00", "13:00", site="Norte")
    make_window(None, "14:00", "15:00", site="Norte", enabled=False)
    assert spans(north) == [("10:00", "11:00"), ("12:00", "13:00")]
    assert spans(north, "11:00", "12:00") == []
    assert not closed_times([south.id], at("00:00"), at("23:00"), current().time_zone)
    assert set(closed_times(None, at("00:00"), at("23:00"), current().time_zone)) == {north.id}
    assert not closed_times([], at("00:00"), at("23:00"), current().time_zone)


def test_it_lasts_from_its_start_to_just_before_its_end() -> None:
    olt = make_olt()
    # The tenth of March 2026 is a Tuesday.
    make_window(olt, weekdays="tue,sat", start_time=time(10), duration_s=1800)
    moments = [at("10:00") - timedelta(microseconds=1), at("10:00"), at("10:29:59"), at("10:30")]
    assert [under_maintenance(olt.id, each) for each in moments] == [False, True, True, False]


def test_when_there_are_none_one_query_says_so() -> None:
    make_window(make_olt(), "10:00", "10:30")
    with CaptureQueriesContext(connection) as queries:
        assert not closed_times(None, at("10:30"), at("11:00"), current().time_zone)
    assert len(queries) == 1


def test_however_many_there_are_three_queries_find_them() -> None:
    olts = [make_olt(site="Norte") for _ in range(5)]
    for number, olt in enumerate(olts):
        make_window(olt, "10:00", "10:30")
        make_window(None, weekdays="tue", start_time=time(number), duration_s=60, site="Norte")
    with CaptureQueriesContext(connection) as queries:
        assert len(closed_times([olt.id for olt in olts], at("00:00"), at("23:00"), current().time_zone)) == 5
    assert len(queries) == 3


def test_a_step_takes_as_many_queries_for_many_windows_as_for_one() -> None:
    def queries(olts: int) -> int:
        for _ in range(olts):
            olt = make_olt(site="Norte")
            make_node(olt, make_job(interval=600), next_run_at=at("10:00"))
            make_window(olt, "09:00", "11:00")
        SnmpJobHost.objects.update(next_run_at=at("10:00"))
        with CaptureQueriesContext(connection) as found:
            scheduler_step(at("10:00:01"), Config())
        assert not Execution.objects.exists()
        return len(found)

    make_window(None, "09:00", "11:00", site="Norte")
    queries(1)
    assert queries(1) == queries(10)
