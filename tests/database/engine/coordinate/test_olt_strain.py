"""OLTs that answer and are not in order: found from the totals of an hour, and from their plans."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import CoordinatorState, ExecutionPlan, PlanStatus
from facho.apps.executions.models import ExecutionTotals
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.quota import running_hour
from facho.engine.coordinate.olt_strain import is_judgement_due, judge_olts
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db

CONFIG = Config()
MINUTE = timedelta(minutes=1)


def count(olt: Olt, kind: str = "discovery", **totals: int) -> None:
    ExecutionTotals.objects.update_or_create(olt=olt, kind=kind, defaults=totals)


def reasons(olt: Olt) -> tuple[str, str]:
    olt.refresh_from_db()
    return olt.degraded_reason.code, olt.overloaded_reason.code


def plan(olt: Olt, now: datetime, problem: Any) -> ExecutionPlan:
    hour = running_hour(now, CONFIG.time_zone)
    return ExecutionPlan.objects.create(
        olt=olt,
        period_start=hour.start,
        period_end=hour.end,
        infeasible=problem,
        created_at=now,
        updated_at=now,
    )


def test_an_olt_is_degraded_by_what_happened_in_the_last_hour_alone() -> None:
    north, south = make_olt("north"), make_olt("south")
    # All of it before anybody looked: whether it was in the last hour is not known.
    count(north, requests=1000, timeouts=500, succeeded=10)
    count(south, requests=1000, succeeded=10)
    now = at("10:00")
    judge_olts(now, CONFIG)
    assert reasons(north) == ("", "")
    count(north, requests=1100, timeouts=550, succeeded=12)
    count(south, "onu", requests=1000, timeouts=1000, failed=100)
    judge_olts(now + MINUTE, CONFIG)
    assert reasons(north) == ("many_timeouts", "")
    assert dict(north.degraded_reason.params) == {"timeouts": 50, "requests": 100}
    # That one ONU does not answer says nothing about its OLT.
    assert reasons(south) == ("", "")
    for minute in range(2, 80):
        judge_olts(now + minute * MINUTE, CONFIG)
    assert reasons(north) == ("", "")
    # Samples replace each other.
    assert CoordinatorState.objects.filter(name__startswith="olt_totals_").count() == 7


def test_an_olt_that_is_newer_than_the_sample_counts_from_nothing() -> None:
    judge_olts(at("10:00"), CONFIG)
    count(new := make_olt("new"), requests=100, succeeded=1, failed=9)
    judge_olts(at("10:01"), CONFIG)
    assert reasons(new) == ("many_failures", "")


def test_an_olt_is_overloaded_while_its_plan_says_that_its_work_does_not_fit() -> None:
    north, south = make_olt("north"), make_olt("south")
    made = plan(north, at("10:20"), {"minutes": 75.5, "at_risk": [], "change": None})
    plan(south, at("10:20"), None)
    judge_olts(at("10:20"), CONFIG)
    assert reasons(north) == ("", "more_work_than_fits")
    assert reasons(south) == ("", "")
    # The plan of the new hour is not made yet.
    ExecutionPlan.objects.update(status=PlanStatus.COMPLETED)
    judge_olts(at("11:01"), CONFIG)
    assert reasons(north) == ("", "more_work_than_fits")
    plan(north, at("11:02"), None)
    judge_olts(at("11:02"), CONFIG)
    assert reasons(north) == ("", "")
    # An OLT that has no tasks any more gets no plan.
    ExecutionPlan.objects.filter(id=made.id).update(status=PlanStatus.ACTIVE)
    judge_olts(at("10:40"), CONFIG)
    assert reasons(north) == ("", "more_work_than_fits")
    ExecutionPlan.objects.all().delete()
    judge_olts(at("11:30"), CONFIG)
    assert reasons(north) == ("", "")


def test_as_many_queries_are_made_for_many_olts_as_for_few() -> None:
    def statements(now: datetime) -> int:
        with CaptureQueriesContext(connection) as asked:
            judge_olts(now, CONFIG)
        return len(asked)

    judge_olts(at("10:00"), CONFIG)
    count(make_olt("first"), requests=100, timeouts=50)
    one = statements(at("10:01"))
    for number in range(30):
        count(make_olt(f"olt-{number}"), requests=100, timeouts=50)
    assert statements(at("10:02")) == one
    assert Olt.objects.exclude(degraded_reason="").count() == 31


def test_it_is_done_once_a_minute_and_when_the_clock_was_set_back() -> None:
    last = at("10:01")
    due = {now: is_judgement_due(last, at(now)) for now in ("10:00:59", "10:01", "10:01:59", "10:02")}
    assert due == {"10:00:59": True, "10:01": False, "10:01:59": False, "10:02": True}
    assert is_judgement_due(None, last)
