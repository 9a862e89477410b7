"""The way around rows that make an agent fail: past the bad row, over no good one, in few requests."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facho.core.oid_limits import LARGEST_ARC
from facho.snmp.bad_row_search import Index, past_bad_row
from tests.hypothesis_runs import often

# More than this, and an agent that fails would be asked for minutes.
MOST_PROBES = 300


class Agent:
    """Answers GETNEXT from its sorted rows, and fails on bad ones."""

    def __init__(self, rows: list[Index], bad: set[Index], *, bad_end: bool = False) -> None:
        self.rows = sorted(rows)
        self.bad = bad
        self.bad_end = bad_end
        self.probes = 0

    def next_row(self, index: Index) -> Index | None:
        self.probes += 1
        place = bisect_right(self.rows, index)
        if place == len(self.rows):
            return None if self.bad_end else ()
        row = self.rows[place]
        return None if row in self.bad else row

    def first_failure(self) -> Index:
        """The last good row before the first bad one: where a walk gets stuck."""
        place = self.rows.index(min(self.bad))
        return self.rows[place - 1] if place else ()


def way_around(agent: Agent, last_good: Index) -> Index | None:
    search = past_bad_row(last_good)
    probe = next(search)
    while True:
        assert all(0 <= arc <= LARGEST_ARC for arc in probe)
        assert agent.probes < MOST_PROBES
        try:
            probe = search.send(agent.next_row(probe))
        except StopIteration as found:
            past: Index | None = found.value
            return past


def walk_around(agent: Agent) -> list[Index]:
    """Every row that a walk reads when it goes around each bad one."""
    read: list[Index] = []
    cursor: Index = ()
    while (row := agent.next_row(cursor)) != ():
        if row is None:
            agent.probes = 0
            past = way_around(agent, cursor)
            if past is None:
                break
            assert past > cursor, "it would read rows twice"
            cursor = past
        else:
            read.append(row)
            cursor = row
    return read


arcs = st.integers(0, 20) | st.sampled_from([255, 4_194_304_000, 4_194_304_256, LARGEST_ARC - 1])


@st.composite
def tables(draw: st.DrawFn) -> list[Index]:
    """Indices of one depth, as nearly all tables have them."""
    depth = draw(st.integers(1, 3))
    return sorted(draw(st.sets(st.tuples(*[arcs] * depth), min_size=1, max_size=15)))


@given(tables(), st.data())
@often(500)
def test_one_bad_row_costs_that_row_alone(rows: list[Index], data: st.DataObject) -> None:
    bad = data.draw(st.sampled_from(rows))
    assert walk_around(Agent(rows, {bad})) == [row for row in rows if row != bad]


@given(tables(), st.data())
@often(500)
def test_several_bad_rows_are_all_left_behind(rows: list[Index], data: st.DataObject) -> None:
    """Good rows between them may be lost with them, but none before the first, and none is read twice."""
    bad = data.draw(st.sets(st.sampled_from(rows), min_size=1, max_size=4))
    read = walk_around(Agent(rows, bad))
    assert read == [row for row in rows if row in set(read) - bad]
    assert {row for row in rows if row < min(bad)} <= set(read)


@given(st.sets(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=20), st.data())
@often(500)
def test_one_bad_row_among_indices_that_are_names_costs_that_row_alone(
    names: set[str], data: st.DataObject
) -> None:
    """Names are written with their length first, so the indices differ in depth."""
    rows = sorted((len(name), *name.encode()) for name in names)
    bad = data.draw(st.sampled_from(rows))
    assert walk_around(Agent(rows, {bad})) == [row for row in rows if row != bad]


PORTS: list[Index] = [(port, onu) for port in (1, 2, 5) for onu in range(1, 9)]


@pytest.mark.parametrize(
    "bad",
    [(1, 1), (1, 5), (1, 8), (2, 1), (5, 1), (5, 8)],
    ids=["first row", "middle", "last of a port", "first of the next port", "port after a gap", "last row"],
)
def test_the_search_ends_at_the_bad_row_itself(bad: Index) -> None:
    agent = Agent(PORTS, {bad})
    assert way_around(agent, agent.first_failure()) == bad
    assert walk_around(Agent(PORTS, {bad})) == [row for row in PORTS if row != bad]


def test_the_bad_row_after_its_neighbour_is_found_with_one_request() -> None:
    agent = Agent(PORTS, {(1, 5)})
    assert way_around(agent, (1, 4)) == (1, 5)
    assert agent.probes == 1


def test_a_bad_first_row_with_a_large_index_is_found() -> None:
    rows: list[Index] = [(4_194_304_000, 0), (4_194_304_000, 1), (4_194_304_256, 0)]
    assert walk_around(Agent(rows, {rows[0]})) == rows[1:]


def test_a_bad_row_far_behind_its_neighbour_does_not_lead_back() -> None:
    rows: list[Index] = [(1, 1), (1, 2), (1, 4_000_000_000), (2, 1)]
    assert walk_around(Agent(rows, {rows[2]})) == [(1, 1), (1, 2), (2, 1)]


def test_a_bad_row_with_a_shorter_index_does_not_lead_back() -> None:
    rows: list[Index] = [(1, 1), (1, 2), (2,), (2, 1)]
    assert walk_around(Agent(rows, {(2,)})) == [(1, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize("last_good", [(), (7,), (1, 2, 3), (LARGEST_ARC,), (LARGEST_ARC, 5)])
def test_when_nothing_can_be_read_any_more_it_says_so(last_good: Index) -> None:
    agent = Agent([last_good] if last_good else [], set(), bad_end=True)
    assert way_around(agent, last_good) is None
