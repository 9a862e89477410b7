"""What an OLT is owed by the hour, and what is counted when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError

from facho.apps.execution_coordinator.models import CoordinatorState, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import Config
from facho.core.reasons import text_reason
from facho.core.steps import COORDINATOR
from facho.engine.commands.jobs import change_interval, disable_jobs, enable_jobs
from facho.engine.commands.nodes import disable_nodes, enable_nodes
from facho.engine.commands.olts import disable_olts, enable_olts
from facho.engine.commands.runs import abort_execution, run_now
from facho.engine.coordinate.quota_hours import close_quota_hours
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.schedule.recovery import recover
from tests.engine_day import Day, figures, reasons, violations
from tests.factories import add_job, add_olts, at, know_brands, node_of

pytestmark = pytest.mark.django_db

TIMED_OUT = "no answer to serial"


@pytest.fixture(autouse=True)
def _brands() -> None:
    know_brands()


@pytest.fixture
def day() -> Day:
    add_olts("north")
    return Day(at("10:00"))


def node_due(job: str, clock: str) -> SnmpJobHost:
    """Its next slot is then, and was from the beginning."""
    SnmpJobHost.objects.filter(job__name=job).update(next_run_at=at(clock))
    reconcile_trackers(None, at("10:00"), Config())
    return node_of(job, "north")


def fails(_job: str) -> str:
    return TIMED_OUT


def test_a_partial_hour_requires_only_the_slots_that_fit(day: Day) -> None:
    """Enabled at 10:50, every 5 minutes: 10:55 and 11:00, then twelve an hour."""
    add_job("state", "north", interval="5m", enabled=False)
    day.now = at("10:50")
    enable_jobs(["state"], day.now)
    assert figures() == [("get_state", "10:00-11:00", 2, 0, 0, 0, 2, "IN_PROGRESS")]

    day.pass_until(at("12:01"))

    assert figures()[:2] == [
        ("get_state", "10:00-11:00", 2, 2, 0, 0, 0, "COMPLETED"),
        ("get_state", "11:00-12:00", 12, 12, 0, 0, 0, "COMPLETED"),
    ]


def test_the_database_refuses_figures_that_do_not_add_up(day: Day) -> None:
    add_job("state", "north", now=day.now)
    with pytest.raises(IntegrityError, match="quota_tracker_adds_up"):
        QuotaTracker.objects.update(quota_required=99)


def test_a_run_counts_when_it_ends_and_not_before(day: Day) -> None:
    add_job("state", "north", interval="30m")
    node_due("state", "10:10")
    day.coordinate()
    day.now = at("10:10")
    day.queue()
    begun = day.begin()
    assert figures() == [("get_state", "10:00-11:00", 2, 0, 0, 0, 2, "IN_PROGRESS")]

    day.now = at("10:12")
    day.end(begun, seconds=120)

    assert figures() == [("get_state", "10:00-11:00", 2, 1, 0, 0, 1, "IN_PROGRESS")]
    tracker = QuotaTracker.objects.get()
    assert (tracker.total_duration_ms, tracker.avg_duration_ms) == (120_000, 120_000)


def test_each_chained_part_counts_in_its_own_type_at_its_masters_slot(day: Day) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="20m")
    add_job("names", "north", facts=("description",), master="discovery", interval="20m")
    add_job("optics", "north", facts=("onu_rx_dbm",), master="discovery", interval="20m")
    node_due("discovery", "10:20")
    day.now = at("10:20")

    day.run(lambda job: TIMED_OUT if job == "names" else "")

    assert figures() == [
        ("discovery", "10:00-11:00", 3, 1, 0, 0, 2, "IN_PROGRESS"),
        ("get_description", "10:00-11:00", 3, 0, 1, 0, 2, "IN_PROGRESS"),
        ("get_onu_rx_dbm", "10:00-11:00", 3, 1, 0, 0, 2, "IN_PROGRESS"),
    ]
    assert reasons() == [("failed", TIMED_OUT, 1, 1200)]


def test_a_slot_has_one_outcome_however_often_it_was_tried(day: Day) -> None:
    add_job("state", "north", interval="1h")
    SnmpJob.objects.update(max_attempts=3, retry_delay_s=60)
    node_due("state", "10:10")
    day.now = at("10:10")
    assert day.run(fails) == [State.WAITING]
    day.now = at("10:12")
    assert day.run(fails) == [State.WAITING]
    assert figures() == [("get_state", "10:00-11:00", 1, 0, 0, 0, 1, "IN_PROGRESS")]

    day.now = at("10:14")
    assert day.run() == [State.SUCCESS]

    assert figures() == [("get_state", "10:00-11:00", 1, 1, 0, 0, 0, "IN_PROGRESS")]


def test_a_retry_that_the_next_slot_overtakes_has_failed(day: Day) -> None:
    add_job("state", "north", interval="5m")
    SnmpJob.objects.update(retry_delay_s=600)
    node_due("state", "10:50")
    day.now = at("10:50")
    day.run(fails)
    day.now = at("10:55")

    assert day.run() == [State.SUCCESS]

    assert figures() == [("get_state", "10:00-11:00", 3, 1, 1, 0, 1, "IN_PROGRESS")]
    assert reasons() == [("failed", TIMED_OUT, 1, 300)]


def test_what_a_person_asked_for_counts_for_nothing_until_it_is_a_slots_run(day: Day) -> None:
    add_job("state", "north", interval="30m")
    node = node_due("state", "10:30")
    run_now(node.id, day.now)
    day.run()
    assert figures() == [("get_state", "10:00-11:00", 2, 0, 0, 0, 2, "IN_PROGRESS")]

    run_now(node.id, at("10:29"))
    day.now = at("10:30")
    day.run()

    assert figures() == [("get_state", "10:00-11:00", 2, 1, 0, 0, 1, "IN_PROGRESS")]


def test_aborted_is_skipped_and_the_reason_is_kept(day: Day) -> None:
    add_job("state", "north", interval="30m")
    node_due("state", "10:30")
    day.now = at("10:30")
    day.queue()

    abort_execution(Execution.objects.get().id, day.now, text_reason("a person aborted it"))

    assert figures() == [("get_state", "10:00-11:00", 2, 0, 0, 1, 1, "IN_PROGRESS")]
    assert reasons() == [("aborted", "a person aborted it", 1, 1800)]


def test_slots_that_pass_while_the_olt_is_busy_name_the_job_that_kept_it(day: Day) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="1h")
    add_job("state", "north", interval="5m")
    node_due("discovery", "10:04")
    node_due("state", "10:05")
    day.now = at("10:04")
    day.queue()
    begun = day.begin()
    for minute in (5, 10, 15, 20):
        day.now = at(f"10:{minute:02}")
        day.queue()
    day.end(begun, seconds=900)

    assert figures("get_state") == [("get_state", "10:00-11:00", 12, 0, 0, 3, 9, "IN_PROGRESS")]
    assert reasons("get_state") == [("olt_busy", "discovery", 3, 900)]


def test_nodes_of_one_type_add_up(day: Day) -> None:
    add_job("state", "north", interval="10m")
    add_job("state again", "north", interval="30m")
    SnmpJob.objects.update(task_type="get_state")
    day.coordinate()
    assert figures() == [("get_state", "10:00-11:00", 6 + 2, 0, 0, 0, 8, "IN_PROGRESS")]


def test_another_interval_leaves_what_is_done_and_owes_the_rest_anew(day: Day) -> None:
    add_job("state", "north", interval="5m", now=at("10:00"))
    node_due("state", "10:05")
    day.pass_until(at("10:21"))
    assert figures() == [("get_state", "10:00-11:00", 12, 4, 0, 0, 8, "IN_PROGRESS")]

    change_interval("state", "20m", day.now)

    assert figures() == [("get_state", "10:00-11:00", 5, 4, 0, 0, 1, "IN_PROGRESS")]


def test_a_task_that_is_switched_off_and_on_owes_what_is_left(day: Day) -> None:
    add_job("state", "north", interval="10m")
    node = node_due("state", "10:10")
    day.pass_until(at("10:31"))
    disable_nodes([node.id], at("10:31"))
    assert figures() == [("get_state", "10:00-11:00", 3, 3, 0, 0, 0, "IN_PROGRESS")]
    enable_nodes([node.id], at("10:35"))
    assert figures() == [("get_state", "10:00-11:00", 5, 3, 0, 0, 2, "IN_PROGRESS")]


def test_an_hour_without_slots_has_no_tracker(day: Day) -> None:
    add_job("state", "north", interval="10m")
    assert QuotaTracker.objects.count() == 1
    disable_jobs(["state"], at("10:00:30"))
    assert not QuotaTracker.objects.exists()


def test_the_quotas_of_an_olt_that_is_switched_off_are_interrupted_and_no_violation(day: Day) -> None:
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    day.pass_until(at("10:31"))
    disable_olts(["north"], day.now)
    assert figures() == [("get_state", "10:00-11:00", 3, 3, 0, 0, 0, "INTERRUPTED")]

    day.pass_until(at("11:11"))

    assert figures() == [("get_state", "10:00-11:00", 3, 3, 0, 0, 0, "INTERRUPTED")]
    assert QuotaTracker.objects.get().closed_at == at("11:00") + timedelta(minutes=1)
    assert violations() == []


def test_an_olt_that_is_switched_off_after_the_hour_does_not_hide_what_it_missed(day: Day) -> None:
    """It would, if that came before the hour was closed: in the next seconds, or up to ten minutes later."""
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    day.pass_until(at("10:31"))
    day.now = at("11:00:10")
    day.run()
    disable_olts(["north"], day.now)

    day.coordinate()

    assert figures() == [("get_state", "10:00-11:00", 6, 4, 0, 2, 0, "QUOTA_NOT_MET")]
    assert violations() == [("LOW", "10:00")]


def test_an_olt_that_is_on_again_in_the_same_hour_owes_again(day: Day) -> None:
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    day.pass_until(at("10:31"))
    disable_olts(["north"], day.now)
    enable_olts(["north"], at("10:40"))
    assert figures() == [("get_state", "10:00-11:00", 5, 3, 0, 0, 2, "IN_PROGRESS")]


@pytest.mark.parametrize(
    ("completed", "status", "severity"),
    [
        (10, "COMPLETED", None),
        (8, "PARTIAL", None),
        (7, "QUOTA_NOT_MET", "LOW"),
        (6, "QUOTA_NOT_MET", "MEDIUM"),
        (5, "QUOTA_NOT_MET", "HIGH"),
        (2, "QUOTA_NOT_MET", "CRITICAL"),
        (0, "FAILED", "CRITICAL"),
    ],
)
def test_an_hour_is_judged_when_it_is_closed(
    day: Day, completed: int, status: str, severity: str | None
) -> None:
    add_job("state", "north", interval="6m")
    SnmpJob.objects.update(max_attempts=1)
    node = node_due("state", "10:06")
    for number in range(10):
        day.now = at("10:06") + number * timedelta(minutes=6)
        day.run(fails if number >= completed else lambda _: "")
        # What is suspended would not be asked: here each run has its own fate.
        SnmpJobHost.objects.filter(id=node.id).update(suspended_reason="", next_probe_at=None)
    day.now = at("11:00:10")
    day.coordinate()

    assert figures()[0] == ("get_state", "10:00-11:00", 10, completed, 10 - completed, 0, 0, status)
    assert violations() == ([] if severity is None else [(severity, "10:00")])


def test_an_hour_is_closed_ten_minutes_after_its_end_whatever_still_runs(day: Day) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="1h")
    node_due("discovery", "10:59")
    day.now = at("10:59")
    day.queue()
    begun = day.begin()
    day.now = at("11:10")
    day.coordinate()
    assert figures()[0][-1] == "IN_PROGRESS"

    day.now = at("11:10:05")
    day.coordinate()

    closed = ("discovery", "10:00-11:00", 1, 0, 0, 1, 0, "FAILED")
    assert figures()[0] == closed
    assert reasons("discovery") == [("still_running", "", 1, 3600)]
    assert violations() == [("CRITICAL", "10:00")]
    # It ends well, too late to count.
    assert day.end(begun) == [State.SUCCESS]
    day.coordinate()
    assert (figures()[0], violations()) == (closed, [("CRITICAL", "10:00")])


def test_what_ends_too_late_is_late_whether_or_not_somebody_closed_the_hour_before(day: Day) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="1h")
    node_due("discovery", "10:59")
    day.now = at("10:59")
    day.queue()
    begun = day.begin()
    day.now = at("11:10:05")
    assert day.end(begun) == [State.SUCCESS]
    day.coordinate()
    assert figures()[0] == ("discovery", "10:00-11:00", 1, 0, 0, 1, 0, "FAILED")
    assert reasons("discovery")[0][:3] == ("late", "", 1)


@pytest.mark.parametrize("coordinator_first", [False, True])
def test_hours_in_which_nobody_stepped_are_closed_late_and_once(day: Day, coordinator_first: bool) -> None:
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    day.pass_until(at("10:45"))
    # Then the engine is stopped, until 13:05.
    day.now = at("13:05")
    if coordinator_first:
        day.coordinate()
    day.run()
    day.coordinate()
    day.coordinate()

    assert figures()[:3] == [
        ("get_state", "10:00-11:00", 6, 4, 0, 2, 0, "QUOTA_NOT_MET"),
        ("get_state", "11:00-12:00", 6, 0, 0, 6, 0, "FAILED"),
        # The run at 13:05 is that of the slot at 13:00.
        ("get_state", "12:00-13:00", 6, 1, 0, 5, 0, "QUOTA_NOT_MET"),
    ]
    assert {(why, count) for why, _, count, _ in reasons()} == {
        ("engine_stopped", 2),
        ("engine_stopped", 6),
        ("engine_stopped", 5),
    }
    assert violations() == [("LOW", "10:00"), ("CRITICAL", "11:00"), ("CRITICAL", "12:00")]


def test_a_stop_of_months_is_accounted_for_a_week_back(day: Day) -> None:
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    day.coordinate()
    day.now = at("10:10") + timedelta(days=60)
    day.coordinate()
    day.run()
    day.coordinate()
    first, second, *_ = QuotaTracker.objects.order_by("period_start").values_list("period_start", flat=True)
    assert (first, second) == (at("10:00"), at("10:00") + timedelta(days=53))
    assert not QuotaTracker.objects.filter(closed_at=None, period_end__lt=day.now).exists()


def test_a_dead_olt_keeps_its_violations(day: Day) -> None:
    """Suspended is not disabled: its slots are skipped, with that reason."""
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    Olt.objects.update(suspended_reason="no answer", suspended_at=at("10:05"))
    day.pass_until(at("12:02"))
    assert violations() == [("CRITICAL", "10:00"), ("CRITICAL", "11:00")]
    assert reasons() == [("olt_unreachable", "no answer", 6, 3600)] * 2
    report = QuotaViolation.objects.first()
    assert report is not None
    assert report.report["reasons"] == [
        {
            "why": "olt_unreachable",
            "what": "no answer",
            "count": 6,
            "lost_s": 3600,
            "times": [[int(at(clock).timestamp()) for clock in ("11:10", "12:10")]],
        }
    ]


def test_a_run_whose_process_died_for_good_has_failed(day: Day) -> None:
    add_job("state", "north", interval="30m")
    SnmpJob.objects.update(max_attempts=1)
    node_due("state", "10:30")
    day.now = at("10:30")
    day.queue()
    day.begin()
    day.now = at("10:31")
    recover(day.now, day.config)
    assert figures() == [("get_state", "10:00-11:00", 2, 0, 1, 0, 1, "IN_PROGRESS")]


def test_what_a_raw_delete_of_a_node_takes_away_is_not_owed(day: Day) -> None:
    add_job("state", "north", interval="10m")
    SnmpJobHost.objects.all()._raw_delete("default")
    day.coordinate()
    assert not QuotaTracker.objects.exists()


@pytest.mark.parametrize(
    ("zone", "day_of", "hours"),
    [
        ("America/Santiago", datetime(2026, 4, 4, 3, tzinfo=UTC), 25),
        ("Asia/Kolkata", datetime(2026, 4, 3, 18, 30, tzinfo=UTC), 24),
    ],
)
def test_a_day_has_as_many_trackers_as_the_operators_clock_has_hours(
    day: Day, zone: str, day_of: datetime, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is set back by an hour, or differs by half an hour. The rules alone are tried with more."""
    there = Day(day_of, zone)
    add_job("state", "north", interval="30m", now=there.now)
    SnmpJobHost.objects.update(next_run_at=day_of + timedelta(minutes=30))
    QuotaTracker.objects.all().delete()
    there.pass_until(day_of + timedelta(hours=hours), every=timedelta(minutes=30))
    there.run()
    rows = QuotaTracker.objects.filter(quota_completed__gt=0)
    local = {each.period_start.astimezone(there.config.time_zone) for each in rows}
    assert len(rows) == hours
    assert {(each.minute, each.date()) for each in local} == {
        (0, day_of.astimezone(there.config.time_zone).date())
    }
    assert set(rows.values_list("quota_required", flat=True)) == {2}


def test_two_that_close_at_once_close_once(day: Day) -> None:
    add_job("state", "north", interval="10m")
    node_due("state", "10:10")
    Olt.objects.update(suspended_reason="no answer")
    day.pass_until(at("11:00"))
    day.now = at("11:00:05")
    day.queue()
    assert (close_quota_hours(day.now, day.config), close_quota_hours(day.now, day.config)) == (1, 0)
    assert CoordinatorState.objects.filter(name=COORDINATOR).exists()
