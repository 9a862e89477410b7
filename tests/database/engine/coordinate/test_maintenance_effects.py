"""What a window does to slots, quotas, runs and probes, with the clock in the test's hands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaTracker
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.engine.commands.maintenance import (
    Window,
    add_window,
    change_window,
    end_window,
    remove_windows,
    switch_windows,
)
from facho.engine.commands.runs import collect_all, run_now
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.process.leases import LeaseLost
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.probes import claim_due_probes
from facho.engine.schedule.scheduler import scheduler_step
from tests.engine_day import Day, figures, reasons, violations
from tests.factories import add_job, add_olts, at, next_run, node_of, refused

pytestmark = [pytest.mark.usefixtures("brands"), pytest.mark.both_databases]

MINUTE = timedelta(minutes=1)


@pytest.fixture
def day(brands: None, monkeypatch: pytest.MonkeyPatch) -> Day:
    add_olts("north", "south")
    Olt.objects.filter(name="south").update(site="Sur")
    return Day(at("10:00"))


def every(interval: str, *olts: str, first: str = "10:05") -> None:
    add_job("state", *olts, interval=interval, now=at("09:59"))
    SnmpJobHost.objects.update(next_run_at=at(first))
    reconcile_trackers(None, at("10:00"), Config())


def window(since: str, until: str, *, olt: str = "north", site: str = "", name: str = "work") -> Window:
    return Window(name, olt="" if site else olt, site=site, starts_at=at(since), ends_at=at(until))


def skipped() -> list[tuple[str, str, str, int]]:
    rows = SkippedSlots.objects.order_by("first_slot", "olt_id")
    return [(each.why, f"{each.first_slot:%H:%M}", f"{each.last_slot:%H:%M}", each.count) for each in rows]


def test_slots_inside_are_passed_over_and_do_not_count(day: Day) -> None:
    """10:05, 10:15, ... 10:55: six, and two of them in the window. The one on its end runs."""
    every("10m", "north")
    add_window(window("10:20", "10:45"), day.now)
    assert figures() == [("get_state", "10:00-11:00", 4, 0, 0, 0, 4, "IN_PROGRESS")]

    day.pass_until(at("11:02"))

    assert figures()[0] == ("get_state", "10:00-11:00", 4, 4, 0, 0, 0, "COMPLETED")
    assert skipped() == [("maintenance", "10:25", "10:25", 1), ("maintenance", "10:35", "10:35", 1)]
    assert reasons() == []
    assert violations() == []
    assert next_run("state", "north") == "11:05:00"


def test_an_hour_that_lies_inside_has_no_tracker(day: Day) -> None:
    every("10m", "north")
    add_window(window("09:00", "11:30"), day.now)
    assert figures() == []
    day.pass_until(at("12:02"))
    assert figures()[0] == ("get_state", "11:00-12:00", 3, 3, 0, 0, 0, "COMPLETED")
    assert Execution.objects.count() == 3


def test_one_made_in_the_middle_of_the_hour_and_ended_early(day: Day) -> None:
    every("5m", "north")
    day.pass_until(at("10:22"))
    assert figures()[0][2:7] == (12, 4, 0, 0, 8)

    add_window(window("10:22", "10:52"), day.now)
    assert figures()[0][2:7] == (6, 4, 0, 0, 2)
    day.pass_until(at("10:31"))
    end_window("work", day.now)
    assert figures()[0][2:7] == (10, 4, 0, 0, 6)

    day.pass_until(at("11:02"))
    assert figures()[0] == ("get_state", "10:00-11:00", 10, 10, 0, 0, 0, "COMPLETED")
    with refused("name", "'work' is not in progress"):
        end_window("work", day.now)


def test_a_change_a_switch_and_a_removal_count_anew(day: Day) -> None:
    every("5m", "north")
    made = add_window(window("10:20", "10:30"), day.now)
    assert figures()[0][2] == 10
    change_window(made.id, window("10:20", "10:50"), day.now)
    assert figures()[0][2] == 6
    change_window(made.id, window("10:20", "10:50", olt="south"), day.now)
    assert figures()[0][2] == 12
    change_window(made.id, window("10:20", "10:50"), day.now)
    switch_windows(["work"], day.now, enabled=False)
    assert figures()[0][2] == 12
    switch_windows(["work"], day.now, enabled=True)
    assert figures()[0][2] == 6
    remove_windows(["work"], day.now)
    assert figures()[0][2] == 12


def test_what_runs_when_it_begins_is_aborted_and_stores_nothing(day: Day) -> None:
    every("10m", "north")
    add_window(window("10:06", "10:40"), day.now)
    day.now = at("10:05")
    day.queue()
    begun = day.begin()
    day.now = at("10:06")
    scheduler_step(day.now, day.config)

    (ended,) = Execution.objects.all()
    assert (ended.state, str(ended.error)) == (State.ABORTED, "the OLT is under maintenance")
    assert Attempt.objects.get().ended_at == day.now
    with pytest.raises(LeaseLost):
        day.end(begun)
    # 10:05 does not count, nor do 10:15, 10:25 and 10:35.
    assert figures()[0][2:7] == (2, 0, 0, 0, 2)
    assert Execution.objects.get().parts == []


def test_what_waits_is_ended_and_nothing_of_it_begins_before_that(day: Day) -> None:
    every("10m", "north", "south")
    day.now = at("10:05")
    add_window(window("10:05:01", "10:40"), day.now)
    day.queue()
    day.now = at("10:05:01")
    begun = day.begin()
    assert [each.olt_id for each in begun] == [Olt.objects.get(name="south").id]
    day.queue()
    states = dict(Execution.objects.values_list("olt__name", "state"))
    assert states == {"north": State.ABORTED, "south": State.RUNNING}
    assert QuotaTracker.objects.get(olt__name="north").quota_required == 2


def test_a_retry_that_would_fall_into_it_is_ended(day: Day) -> None:
    every("20m", "north")
    add_window(window("10:06", "10:20"), day.now)
    day.now = at("10:05")
    assert day.run(lambda _job: "no answer") == [State.WAITING]
    day.now = at("10:07:10")
    assert claim_executions(day.now, day.config) == []
    day.queue()
    assert Execution.objects.get().state == State.ABORTED
    day.pass_until(at("11:02"))
    assert figures()[0] == ("get_state", "10:00-11:00", 2, 2, 0, 0, 0, "COMPLETED")


def test_an_engine_that_was_stopped_tells_the_slots_apart(day: Day) -> None:
    every("10m", "north")
    add_window(window("10:20", "10:45"), day.now)
    day.now = at("11:01")
    day.queue()
    assert skipped() == [
        ("engine_stopped", "10:05", "10:15", 2),
        ("maintenance", "10:25", "10:35", 2),
        ("engine_stopped", "10:45", "10:45", 1),
    ]
    assert figures()[0][2:7] == (4, 0, 0, 3, 1)


def test_a_site_is_left_alone_as_a_whole(day: Day) -> None:
    every("10m", "north", "south")
    Olt.objects.update(site="Sur")
    Olt.objects.filter(name="north").update(site="Norte")
    add_window(window("10:00", "10:30", site="Sur"), day.now)
    day.pass_until(at("11:02"))
    done = Execution.objects.filter(state=State.SUCCESS)
    assert (done.filter(olt__name="north").count(), done.filter(olt__name="south").count()) == (6, 3)
    assert figures()[:2] == [
        ("get_state", "10:00-11:00", 6, 6, 0, 0, 0, "COMPLETED"),
        ("get_state", "10:00-11:00", 3, 3, 0, 0, 0, "COMPLETED"),
    ]


def test_what_is_suspended_is_probed_afterwards(day: Day) -> None:
    every("10m", "north", "south")
    north = Olt.objects.get(name="north")
    Olt.objects.filter(id=north.id).update(suspended_reason="silent", next_probe_at=at("10:01"))
    SnmpJobHost.objects.filter(olt__name="south").update(suspended_reason="x", next_probe_at=at("10:01"))
    add_window(window("10:00", "10:30"), day.now)
    add_window(window("10:00", "10:40", site="Sur", name="sur"), day.now)
    assert claim_due_probes(at("10:29"), day.config) == []
    assert [each.olt_id for each in claim_due_probes(at("10:30"), day.config)] == [north.id]
    assert [each.node_id is not None for each in claim_due_probes(at("10:40"), day.config)][-1]
    # Its slots are not lost because it is silent.
    day.now = at("10:05")
    day.queue()
    assert {why for why, *_ in skipped()} == {"maintenance"}


def test_who_asks_by_hand_is_told_until_when(day: Day) -> None:
    every("10m", "north")
    add_window(window("10:00", "10:30"), day.now)
    add_window(window("10:30", "11:00", name="more"), day.now)
    sentence = "the OLT north is under maintenance until 2025-06-10 11:00"
    with refused("node", sentence):
        run_now(node_of("state", "north").id, at("10:10"))
    with refused("olt", sentence):
        collect_all("north", at("10:10"))
    assert run_now(node_of("state", "north").id, at("11:00"))


def test_its_beginning_and_its_end_are_written_down_once(
    day: Day, logged: Callable[[], list[CoordinatorLog]]
) -> None:
    add_window(window("10:10", "10:20"), day.now)
    add_window(window("10:10", "10:30", site="Sur", name="sur"), day.now)
    for clock in ("10:09", "10:10", "10:11", "10:20", "10:21"):
        day.now = at(clock)
        day.coordinate()
    end_window("sur", at("10:22"))
    told = [row for row in logged() if row.event_type.startswith("MAINTENANCE")]
    assert [(row.event_type, row.details["target"], f"{row.timestamp:%H:%M}") for row in told] == [
        ("MAINTENANCE_BEGINS", "Sur", "10:10"),
        ("MAINTENANCE_BEGINS", "north", "10:10"),
        ("MAINTENANCE_ENDS", "north", "10:20"),
        ("MAINTENANCE_ENDS", "Sur", "10:22"),
    ]
    assert [row.olt and row.olt.name for row in told] == [None, "north", "north", None]


@pytest.mark.parametrize(("interval", "seconds"), [("7m", 420), ("13m", 780), ("90s", 90)])
def test_what_is_left_out_is_what_one_by_one_lies_inside(day: Day, interval: str, seconds: int) -> None:
    every(interval, "north", first="10:01:30")
    spans = [("10:02", "10:11"), ("10:15", "10:15:30"), ("10:40", "11:20")]
    for number, (since, until) in enumerate(spans):
        add_window(window(since, until, name=f"w{number}"), day.now)
    reconcile_trackers(None, at("11:30"), Config())
    slots = [at("10:01:30") + number * timedelta(seconds=seconds) for number in range(120)]
    inside = [slot for slot in slots if any(at(since) <= slot < at(until) for since, until in spans)]
    for hour in ("10:00", "11:00"):
        wanted = [slot for slot in slots if at(hour) < slot <= at(hour) + 60 * MINUTE and slot not in inside]
        tracker = QuotaTracker.objects.get(period_start=at(hour))
        assert (tracker.quota_required, tracker.quota_pending) == (len(wanted), len(wanted))
