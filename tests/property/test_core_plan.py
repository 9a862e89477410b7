"""The hour of any OLT, as the plan says it will be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from facho.core.plan import Plan, Task, simulate
from facho.core.pool import Waiting, within_olt
from facho.core.quota import Hour, slots_from

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
HOUR = Hour(NOW, NOW + timedelta(hours=1))
SECOND = timedelta(seconds=1)


def seconds(least: int, most: int) -> st.SearchStrategy[timedelta]:
    return st.integers(least, most).map(lambda number: number * SECOND)


TASKS = st.lists(
    st.builds(
        Task,
        node_id=st.integers(1, 1000),
        job=st.just("job"),
        task_types=st.just(("get",)),
        next_slot=seconds(1, 900).map(lambda ahead: NOW + ahead),
        interval=st.sampled_from([60 * SECOND, 300 * SECOND, 600 * SECOND]),
        priority=st.sampled_from([40, 60, 90]),
        p50=seconds(1, 400),
        p95=st.just(400 * SECOND),
    ),
    max_size=6,
    unique_by=lambda task: task.node_id,
)
CLOSED = st.lists(
    st.tuples(seconds(0, 3600), seconds(1, 900)).map(
        lambda chosen: (NOW + chosen[0], NOW + chosen[0] + chosen[1])
    ),
    max_size=2,
)


def plan_of(tasks: list[Task]) -> Plan:
    return simulate(tasks, NOW, HOUR.end)


@given(TASKS, CLOSED)
def test_never_two_at_once_and_never_before_the_slot(
    tasks: list[Task], closed: list[tuple[datetime, datetime]]
) -> None:
    entries = simulate(tasks, NOW, HOUR.end, closed=closed).entries
    for before, after in pairwise(entries):
        assert before.end <= after.start
    for entry in entries:
        assert entry.start >= entry.slot
        assert not any(start <= entry.start < end for start, end in closed)


@given(TASKS)
def test_every_slot_is_run_once_or_lost(tasks: list[Task]) -> None:
    plan = plan_of(tasks)
    told = [(node_id, slot) for node_id, slot, _ in plan.slots()]
    assert len(told) == len(set(told))
    assert len(told) == sum(slots_from(task.next_slot, task.interval, HOUR) for task in tasks)


@given(TASKS)
def test_the_olt_rests_only_when_nothing_waits(tasks: list[Task]) -> None:
    """Each run begins at its slot, or at the very end of another one."""
    entries = plan_of(tasks).entries
    ends = {entry.end for entry in entries}
    for entry in entries:
        assert entry.start == entry.slot or entry.start in ends


@given(TASKS)
def test_who_waits_goes_first_by_the_rules_of_the_engine(tasks: list[Task]) -> None:
    plan = plan_of(tasks)
    by_node = {task.node_id: task for task in tasks}

    def place(node_id: int, slot: datetime) -> Waiting:
        task = by_node[node_id]
        return Waiting(node_id, 0, slot, task.interval, task.priority, run_now=False)

    for entry in plan.entries:
        waiting = [each for each in plan.entries if each.slot <= entry.start <= each.start]
        first = min(waiting, key=lambda each: within_olt(place(each.node_id, each.slot), entry.start))
        assert first == entry


@given(TASKS, st.randoms())
def test_the_order_in_which_tasks_are_told_makes_no_difference(tasks: list[Task], random: object) -> None:
    shuffled = list(tasks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert plan_of(tasks) == plan_of(shuffled)


@given(TASKS)
def test_tasks_that_fit_between_two_slots_of_any_lose_none(tasks: list[Task]) -> None:
    short = [replace(task, p50=(60 // max(1, len(tasks))) * SECOND) for task in tasks]
    assert not plan_of(short).lost
