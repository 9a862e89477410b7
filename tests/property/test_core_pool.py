"""Who goes first, for any queue; and that nobody waits for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from facho.core.pool import Waiting, across_olts, choose, within_olt
from facho.core.schedule import advance

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def seconds(least: int, most: int) -> st.SearchStrategy[timedelta]:
    return st.integers(least, most).map(lambda number: number * SECOND)


# Few values, so that ties are common.
QUEUES = st.lists(
    st.builds(
        Waiting,
        execution_id=st.integers(1, 10_000),
        olt_id=st.integers(1, 8),
        slot=seconds(-5, 400).map(lambda waited: NOW - waited),
        interval=st.sampled_from([60 * SECOND, 300 * SECOND]),
        priority=st.sampled_from([40, 60, 90]),
        run_now=st.sampled_from([False, False, False, True]),
    ),
    max_size=40,
    unique_by=lambda each: each.execution_id,
)


@given(QUEUES, st.sets(st.integers(1, 8), max_size=4), st.integers(0, 10))
def test_the_best_of_each_free_olt_are_chosen_in_the_order_of_what_waits_for_the_olts(
    queue: list[Waiting], busy: set[int], free: int
) -> None:
    in_order = sorted(queue, key=lambda each: across_olts(each, NOW))
    olts = [olt for olt in dict.fromkeys(each.olt_id for each in in_order) if olt not in busy]
    heads = [
        min((each for each in queue if each.olt_id == olt), key=lambda each: within_olt(each, NOW))
        for olt in olts
    ]
    assert choose(queue, busy, free, NOW) == heads[:free]


@given(QUEUES, st.integers(1, 10))
def test_the_order_of_the_queue_says_nothing(queue: list[Waiting], free: int) -> None:
    assert choose(reversed(queue), set(), free, NOW) == choose(queue, set(), free, NOW)


class Node(NamedTuple):
    olt: int
    interval: timedelta
    takes: timedelta
    priority: int


class Run(NamedTuple):
    node: int
    slot: datetime
    started: datetime


def simulate(nodes: list[Node], pollers: int, lasting: timedelta) -> list[Run]:
    """An engine that steps whenever something ends or falls due, with these nodes all due at the start.

    As in the engine, a slot that comes while the node's execution waits or runs is skipped.
    """
    due = dict.fromkeys(range(len(nodes)), NOW)
    queue: dict[int, Waiting] = {}
    running: dict[int, datetime] = {}
    runs = []
    now = NOW
    while now <= NOW + lasting:
        running = {number: end for number, end in running.items() if end > now}
        for number, node in enumerate(nodes):
            if due[number] > now:
                continue
            step = advance(due[number], node.interval, now)
            due[number] = step.next_run_at
            if number not in queue and number not in running:
                queue[number] = Waiting(number, node.olt, step.slot, node.interval, node.priority, False)
        busy = {nodes[number].olt for number in running}
        for chosen in choose(queue.values(), busy, pollers - len(running), now):
            number = chosen.execution_id
            runs.append(Run(number, chosen.slot, now))
            running[number] = now + nodes[number].takes
            del queue[number]
        now = min([*due.values(), *running.values()])
    return runs


def longest_wait(runs: list[Run], number: int, lasting: timedelta) -> timedelta:
    """From one start to the next, the time before the first and after the last too."""
    starts = [NOW, *(run.started for run in runs if run.node == number), NOW + lasting]
    return max(later - earlier for earlier, later in pairwise(starts))


NODES = st.builds(
    Node,
    olt=st.just(1),
    interval=seconds(60, 600),
    takes=seconds(1, 200),
    priority=st.integers(1, 100),
)


def most_wait(nodes: list[Node], number: int) -> timedelta:
    """A bound on what a node may wait for an OLT, however much is asked of it.

    Others precede it only while they have missed as many of their own slots. Once all have run in turn, none
    of them has waited for longer than the runs of all the others take; so a node is next when it has missed
    more slots than fit in there, and one that has started before then has to end.
    """
    round_ = sum((node.takes for node in nodes), timedelta(0))
    shortest = min(node.interval for node in nodes)
    return (round_ // shortest + 2) * nodes[number].interval + len(nodes) * round_


@settings(max_examples=60)
@given(st.lists(NODES, min_size=1, max_size=6))
def test_nothing_starves_on_an_olt_with_any_amount_of_work(nodes: list[Node]) -> None:
    bounds = [most_wait(nodes, number) for number in range(len(nodes))]
    lasting = max(bounds) + timedelta(hours=1)
    runs = simulate(nodes, 10, lasting)
    for number, bound in enumerate(bounds):
        assert longest_wait(runs, number, lasting) <= bound + nodes[number].interval


@settings(max_examples=30)
@given(seconds(60, 3600), st.integers(1, 5))
def test_a_node_that_always_has_work_leaves_room_for_those_below_it(takes: timedelta, others: int) -> None:
    """One node fills the OLT by itself, at the highest priority; gets are below it."""
    busy = Node(1, 60 * SECOND, takes, 100)
    gets = [Node(1, 300 * SECOND, 5 * SECOND, 40) for _ in range(others)]
    lasting = timedelta(hours=24)
    runs = simulate([busy, *gets], 10, lasting)
    for number in range(1, others + 1):
        wait = longest_wait(runs, number, lasting)
        assert wait <= 2 * (gets[0].interval + others * (busy.takes + 5 * SECOND))


def test_two_busy_nodes_of_high_priority_do_not_take_turns_for_ever() -> None:
    nodes = [Node(1, 60 * SECOND, 120 * SECOND, 90)] * 2 + [Node(1, 600 * SECOND, 10 * SECOND, 40)]
    runs = simulate(nodes, 10, timedelta(hours=6))
    assert longest_wait(runs, 2, timedelta(hours=6)) <= 4 * nodes[2].interval


@settings(max_examples=30)
@given(st.lists(NODES, min_size=2, max_size=8), st.integers(1, 2))
def test_no_olt_starves_for_a_poller(nodes: list[Node], pollers: int) -> None:
    apart = [node._replace(olt=number) for number, node in enumerate(nodes)]
    round_ = sum((node.takes for node in apart), timedelta(0))
    lasting = timedelta(hours=4)
    runs = simulate(apart, pollers, lasting)
    # The most delayed goes first, so each of the others precedes it once at most, and one may be running.
    assert all(run.started - run.slot <= 2 * round_ for run in runs)
    assert {run.node for run in runs} == set(range(len(apart)))
