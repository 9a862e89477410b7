"""The runs of a month before a demo: hours add up, and an OLT is asked one thing at a time."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from facho.core.quota import FAILED, is_met
from facho.demo.runs import (
    Member,
    Node,
    count_hours,
    failed_slots,
    outage_run,
    run_last_day,
    skipped_in_outage,
)
from facho.demo.story import EXECUTIONS, make_story

NOW = datetime(2026, 11, 18, 19, 31, 7, tzinfo=UTC)
STORY = make_story(NOW)
# One with whole hours elsewhere, and one without.
ZONES = (ZoneInfo("America/Santiago"), ZoneInfo("Asia/Kolkata"))


def node(number: int, olt: str, interval_s: int, *jobs: str) -> Node:
    members = tuple(
        Member(10 * number + place, job, "table", f"table_{job}") for place, job in enumerate(jobs)
    )
    return Node(1, olt, "127.0.0.1:161", members, interval_s, 50, 3, 120)


def nodes_of(olt: str) -> list[Node]:
    return [
        node(1, olt, 60, "state", "optics"),
        node(2, olt, 120, "description"),
        node(3, olt, 300, "discovery"),
        node(4, olt, 300, "ports"),
    ]


@pytest.fixture(params=["demo-fiberhome-1", "demo-zte-flaky", "demo-huawei-slow"])
def olt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def outage_slots(nodes: list[Node], olt: str) -> dict[int, set[datetime]]:
    runs = [outage_run(nodes, outage, STORY) for outage in STORY.outages_of(olt)]
    return {each.id: {run.slot for run in runs if run is not None and run.node is each} for each in nodes}


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_every_slot_of_the_month_has_an_outcome(olt: str, zone: ZoneInfo) -> None:
    nodes = nodes_of(olt)
    failed_first = outage_slots(nodes, olt)
    for each in nodes:
        hours = list(count_hours(each, STORY, zone, failed_first[each.id]))
        for member in each.members:
            own = [hour for hour in hours if hour.member == member]
            assert sum(hour.required for hour in own) == len(each.slots(STORY.start, NOW))
            assert all(hour.completed >= 0 for hour in own)
            assert all(
                sum(why.count for why in hour.reasons) == hour.required - hour.completed for hour in own
            )
            assert len({hour.hour for hour in own}) == len(own)


def test_quotas_are_missed_in_outages_only(olt: str) -> None:
    nodes = nodes_of(olt)
    failed_first = outage_slots(nodes, olt)
    outages = STORY.outages_of(olt)
    for each in nodes:
        missed = {
            hour.hour
            for hour in count_hours(each, STORY, UTC, failed_first[each.id])
            if not is_met(hour.required, hour.completed)
        }
        assert len(missed) == len(outages)
        assert all(any(outage.since in hour for outage in outages) for hour in missed)


def test_a_chained_task_is_skipped_when_its_master_fails() -> None:
    chained = node(1, "demo-zte-flaky", 300, "state", "optics")
    slots = failed_slots(chained, STORY)
    assert slots
    hours = list(count_hours(chained, STORY, UTC, set()))
    by_task = {
        task: (sum(each.failed for each in own), sum(each.skipped for each in own))
        for task in ("table_state", "table_optics")
        for own in [[each for each in hours if each.member.task_type == task]]
    }
    assert by_task == {"table_state": (len(slots), 0), "table_optics": (0, len(slots))}
    assert {why.why for each in hours for why in each.reasons} == {FAILED}


def test_an_olt_runs_one_execution_at_a_time_until_now(olt: str) -> None:
    runs = run_last_day(nodes_of(olt), STORY)
    assert len(runs) > 1000
    for one, next_ in pairwise(runs):
        assert one.attempts[0][1] <= next_.attempts[0][0]
    assert all(NOW - EXECUTIONS <= run.slot <= run.attempts[0][0] < run.ended_at for run in runs)
    assert max(run.ended_at for run in runs) <= NOW


def test_a_late_execution_names_one_that_held_the_olt() -> None:
    runs = run_last_day(nodes_of("demo-zte-flaky"), STORY)
    late = [run for run in runs if run.blocked_by is not None]
    assert late
    for run in late:
        assert run.blocked_by is not None
        blocker = runs[run.blocked_by]
        assert run.delay > timedelta(seconds=5)
        assert blocker.attempts[0][1] > run.slot
        assert blocker.attempts[0][1] <= run.attempts[0][0]


def test_an_outage_begins_with_one_execution_that_fails_after_its_last_attempt() -> None:
    olt = "demo-fiberhome-1"
    nodes = nodes_of(olt)
    (outage,) = STORY.outages_of(olt)
    run = outage_run(nodes, outage, STORY)
    assert run is not None
    assert run.failed
    assert len(run.attempts) == 3
    # Three attempts, two minutes apart.
    assert outage.since < run.slot <= run.ended_at <= outage.since + timedelta(minutes=6) < outage.until
    lost = [
        skipped_in_outage(each, outage, STORY, {run.slot} if each is run.node else set()) for each in nodes
    ]
    assert [len(each) for each in lost] == [40, 21, 8, 8]
