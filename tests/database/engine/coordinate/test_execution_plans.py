"""The plan of an OLT's hour: made, kept current, compared with what became of it; and what does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from facho.apps.execution_coordinator.models import CoordinatorLog, ExecutionPlan, PlanStatus, QuotaViolation
from facho.apps.executions.models import Execution
from facho.cli.coordinator import plans
from facho.core.plan_data import StoredPlan, decode_plan, planned_times
from facho.engine.commands.jobs import JobChanges, change_interval, update_job
from facho.engine.commands.olts import disable_olts
from facho.engine.coordinate.plan_reports import PlanAccuracy, plan_accuracy
from tests.engine_day import Day, figures
from tests.factories import add_job, add_olts, at
from tests.model.one_olt import OneOlt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.usefixtures("brands")]

SECOND = timedelta(seconds=1)
Logged = Callable[[], list[CoordinatorLog]]


@pytest.fixture
def day() -> Day:
    add_olts("north")
    return Day(at("10:00"))


def plan() -> ExecutionPlan:
    return ExecutionPlan.objects.get(status=PlanStatus.ACTIVE)


def told(row: ExecutionPlan) -> StoredPlan:
    return decode_plan(row.period_start, row.plan_data)


def statuses() -> list[tuple[str, str]]:
    rows = ExecutionPlan.objects.order_by("id")
    return [(f"{row.period_start:%H:%M}", row.status) for row in rows]


def test_a_job_that_is_added_is_planned_at_once(day: Day) -> None:
    add_job("state", "north", interval="5m")
    row = plan()
    assert (row.total_tasks, row.lost_slots, f"{row.period_end:%H:%M}") == (12, 0, "11:00")
    first = told(row).entries[0]
    assert (first.job, first.task_types, f"{first.slot:%H:%M:%S}") == ("state", ("get_state",), "10:01:00")


def test_two_jobs_at_one_moment_are_planned_one_after_the_other(day: Day) -> None:
    add_job("state", "north", interval="10m")
    add_job("names", "north", interval="10m", facts=["description"])
    OneOlt(day, {"state": 60.0, "names": 20.0}).until(at("11:00:30"))
    day.coordinate()
    entries = told(plan()).entries[:2]
    assert [each.job for each in entries] == ["state", "names"]
    assert entries[0].wait < timedelta(seconds=1)
    assert (entries[1].waits_for, round(entries[1].wait.total_seconds())) == ("state", 60)


def test_an_hour_that_is_over_is_compared_with_what_became_of_it(
    day: Day, capsys: pytest.CaptureFixture[str]
) -> None:
    add_job("state", "north", interval="5m")
    add_job("names", "north", interval="10m", facts=["description"])
    OneOlt(day, {"state": 40.0, "names": 25.0}).until(at("12:05"))
    day.coordinate()
    assert statuses()[-2:] == [("11:00", "COMPLETED"), ("12:00", "ACTIVE")]
    row = ExecutionPlan.objects.get(period_start=at("11:00"))
    assert (row.completed_tasks, row.failed_tasks, row.compared) == (18, 0, 18)
    assert row.near_pct == 100.0
    assert row.median_error_s is not None
    assert row.median_error_s < 2
    assert plan_accuracy(at("11:30")) == {"north": PlanAccuracy(1, 18, 18, row.median_error_s)}
    # By the real clock that was long ago.
    plans(1)
    assert "No hour that was planned" in capsys.readouterr().out
    plans(24 * 3650, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["within_s"], told["runs"], told["olts"][0]["olt"]) == (10.0, 36, "north")


def test_a_run_that_is_retried_began_with_its_first_attempt_and_one_that_nobody_planned_was_not_near(
    day: Day,
) -> None:
    add_job("state", "north", interval="30m")
    for moment in ("10:01", "10:31"):
        day.now = at(moment)
        day.run()
    day.now = at("11:00:30")
    day.coordinate()
    day.now = at("11:01")
    day.run(lambda _job: "it gave nothing")
    day.now = at("11:03:30")
    day.run()
    row = plan()
    row.plan_data["entries"] = row.plan_data["entries"][:1]
    row.save()
    day.now = at("11:31")
    day.run()
    day.now = at("12:00:30")
    day.coordinate()
    row.refresh_from_db()
    assert (row.completed_tasks, row.compared, row.near_pct) == (2, 2, 50.0)
    assert row.median_error_s is not None
    assert row.median_error_s < 2


def test_a_run_that_takes_longer_than_it_used_to_moves_the_others_in_the_same_plan(day: Day) -> None:
    add_job("state", "north", interval="10m")
    add_job("names", "north", interval="10m", facts=["description"])
    olt = OneOlt(day, {"state": 20.0, "names": 20.0}, coordinate=timedelta(minutes=1))
    olt.until(at("11:05"))
    before = plan()
    olt.takes = {"state": 200.0, "names": 20.0}
    olt.until(at("11:16"))
    after = plan()
    assert before.id == after.id
    names = next(each for each in told(after).entries if each.job == "names" and each.slot > at("11:10"))
    began = Execution.objects.get(node=names.node_id, slot=names.slot).started_at
    assert began is not None
    assert abs(began - names.start) < timedelta(seconds=30)
    # What was said at first is kept: the comparison is with that.
    assert names.start - names.first > timedelta(seconds=100)


def test_a_plan_is_superseded_when_its_tasks_change_and_not_by_a_new_name(day: Day) -> None:
    add_job("state", "north", interval="5m")
    update_job("state", JobChanges(name="states"), day.now)
    assert statuses() == [("10:00", "ACTIVE")]
    assert told(plan()).entries[0].job == "states"
    change_interval("states", "10m", day.now)
    assert statuses() == [("10:00", "SUPERSEDED"), ("10:00", "ACTIVE")]
    assert plan().total_tasks == 6


def test_the_plan_of_an_olt_that_is_disabled_is_aborted(day: Day) -> None:
    add_job("state", "north", interval="5m")
    disable_olts(["north"], day.now)
    assert statuses() == [("10:00", "ABORTED")]


def test_more_work_than_an_hour_holds_is_said_before_the_first_violation_with_what_would_help(
    day: Day, logged: Logged
) -> None:
    """72 minutes an hour: 6 x 3 and 12 x 4.5."""
    add_job("discovery", "north", interval="10m", kind="discovery")
    add_job("optics", "north", interval="5m", facts=["onu_rx_dbm"])
    olt = OneOlt(day, {"discovery": 180.0, "optics": 270.0})
    olt.until(at("11:00"))
    said = [entry for entry in logged() if entry.event_type == "PLAN_INFEASIBLE"]
    assert len(said) == 1
    assert not QuotaViolation.objects.exists()
    change = said[0].details["change"]
    assert (change["job"], change["before_s"], change["after_s"]) == ("optics", 300, 480)

    change_interval(change["job"], timedelta(seconds=change["after_s"]), day.now)
    olt.until(at("12:12"))
    day.coordinate()
    hour = [each for each in figures() if each[1] == "11:00-12:00"]
    assert [(task, status) for task, *_, status in hour] == [
        ("discovery", "COMPLETED"),
        ("get_onu_rx_dbm", "COMPLETED"),
    ]
    assert len([entry for entry in logged() if entry.event_type == "PLAN_INFEASIBLE"]) == 1


def test_a_plan_with_guessed_durations_is_made_again_once_they_are_learned(day: Day) -> None:
    add_job("state", "north", interval="5m")
    made = plan().updated_at
    assert not told(plan()).sure
    olt = OneOlt(day, {"state": 0.1}, coordinate=timedelta(minutes=1))
    olt.until(at("10:10"))
    # Two runs were as long as guessed, near enough, and tell no more.
    assert plan().updated_at == made
    olt.until(at("10:13"))
    assert told(plan()).sure
    learned = plan().updated_at
    olt.until(at("10:40"))
    assert plan().updated_at == learned


def test_the_times_of_a_run_are_found_without_decoding_the_whole_plan(day: Day) -> None:
    add_job("state", "north", interval="5m")
    add_job("names", "north", interval="7m", facts=["description"])
    row = plan()
    for each in told(row).entries:
        found = planned_times(row.period_start, row.plan_data, each.node_id, each.slot)
        assert found == (each.start, each.end)
        assert planned_times(row.period_start, row.plan_data, each.node_id, each.slot + SECOND) is None
