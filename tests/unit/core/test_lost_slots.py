from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.delay import Why
from facho.core.lost_slots import LostSlots, lose_slots, merge_lost_slots, merge_tasks
from facho.core.reasons import NO_REASON
from facho.core.violation_report import reasons_of

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


def lost(minute: float, every_min: int, count: int = 1) -> LostSlots:
    at = NOW + timedelta(minutes=minute)
    return lose_slots(Why.OLT_UNREACHABLE, NO_REASON, at, every_min * 60, count)


def test_slots_of_a_task_that_follow_each_other_are_one_time_without_data() -> None:
    (found,) = merge_lost_slots([lost(5, 5), lost(10, 5), lost(40, 5)])
    assert (found.count, found.lost_s, len(found.times)) == (3, 15 * 60, 2)


def test_an_outage_of_nine_minutes_is_no_longer_with_many_tasks() -> None:
    tasks = [[lost(4, 3, 3)], [lost(5, 5, 2)], [lost(6, 15)], [lost(7, 30)], [lost(8, 60)]]
    (found,) = merge_tasks(tasks)
    assert (found.count, found.lost_s) == (8, 9 * 60)


def test_two_outages_of_an_hour_are_added() -> None:
    (found,) = merge_tasks([[lost(5, 5), lost(30, 5)], [lost(5, 15), lost(35, 15)]])
    assert found.lost_s == 5 * 60 + 10 * 60


def test_slots_lost_now_and_then_do_not_make_an_endless_list() -> None:
    (found,) = merge_lost_slots(lost(minute, 1) for minute in range(0, 60, 2))
    assert (found.count, found.lost_s, len(found.times)) == (30, 30 * 60, 20)


def test_what_is_stored_is_read_again() -> None:
    assert LostSlots.from_json(lost(5, 5).as_json()) == lost(5, 5)
    assert "times" not in LostSlots("other").as_json()


@pytest.mark.parametrize("sum_s", [3960, 600])
def test_a_report_that_has_the_sum_over_its_tasks_is_read_with_the_longest(sum_s: int) -> None:
    def reason(lost_s: int) -> dict[str, object]:
        return {"why": "olt_unreachable", "what": "", "count": 3, "lost_s": lost_s}

    figures = {"required": 4, "completed": 1, "percent": 25.0}
    tasks = [{**figures, "task_type": name, "reasons": [reason(540)]} for name in "ab"]
    assert [each.lost_s for each in reasons_of({"tasks": tasks, "reasons": [reason(sum_s)]})] == [540]
