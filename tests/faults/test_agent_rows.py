"""Tables with bad rows: the others are read, and what is missing has a name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.row_faults import RowFaults
from facho.sim.scenario import Scenario
from facho.snmp import Learned, Limits, Missing, Oid, WalkResult
from facho.snmp.errors import RepeatingOids, UnreadableRows
from tests.faults.line import (
    COLUMNS,
    DESCRIPTION,
    RUN_STATUS,
    SERIAL,
    WAYS,
    XPON,
    Line,
    kinds,
    on_line,
    table,
)

every_way = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
SYS_UP_TIME = Oid.parse("1.3.6.1.2.1.1.3.0")
SYS_DESCR = Oid.parse("1.3.6.1.2.1.1.1.0")
LAST_COLUMN = Oid.parse(f"{XPON}.4.23.1.4")
LAST = 99
# Row 64 is the first of the second PON port: between 63 and it, the index jumps.
BAD_ROWS = {
    "one": (20,),
    "neighbours": (20, 21),
    "next but one": (20, 22),
    "several in a run": (40, 41, 42, 43, 44),
    "first": (0,),
    "first two": (0, 1),
    "last": (LAST,),
    "last of a port": (63,),
    "first of a port": (64,),
    "both sides of a port": (63, 64),
    "everywhere": (0, 20, 33, 63, LAST),
}


@every_way
@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_walk_goes_around_bad_rows_and_names_them(how: dict[str, Any], bad: tuple[int, ...]) -> None:
    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk(SERIAL)
        assert not result.complete
        assert set(kinds(result.errors)) == {UnreadableRows}
        assert result.rows == there.without(*bad)
        assert result.reason is not None
        for row in bad:
            if row == 0:
                assert "fails (genErr) on the row before its first readable row, up to row " in result.reason
            elif row - 1 not in bad:
                where = f"after row {there.row(row - 1)}"
                assert f"{SERIAL}: 127.0.0.1:" in result.reason
                assert f"fails (genErr) on the row {where}, up to row " in result.reason
        plain = len(there.rows) if how else 5
        assert there.requests <= plain + 10 + 160 * len(bad)

    # Where the first row of every column is bad, the end of one is too: see below.
    on_line(Scenario(generr_rows=bad, columns=("serial",) if 0 in bad else ()), conversation)


@every_way
def test_a_first_row_that_is_bad_in_every_column_is_told(how: dict[str, Any]) -> None:
    """Past the end of the column comes the next one's first row, which fails as well: there is no index from
    which a search for the second row could start.
    """

    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk(SERIAL)
        assert kinds(result.errors) == [UnreadableRows]
        assert str(result.errors[0]).endswith("fails (genErr) on everything before its first readable row")
        assert there.requests < 100

    on_line(Scenario(generr_rows=(0,)), conversation)


def test_a_bad_row_of_one_column_is_no_matter_to_the_others() -> None:
    async def conversation(there: Line) -> None:
        result = await (await there.agent()).walk_table(COLUMNS)
        assert kinds(result.errors) == [UnreadableRows]
        assert result.columns[SERIAL].rows == there.without(20)
        assert set(kinds(result.columns[SERIAL].errors)) == {UnreadableRows}
        for oid in set(COLUMNS) - {SERIAL}:
            assert result.columns[oid].rows == there.truth[oid]
            assert result.columns[oid].errors == []
        assert result.uneven_rows() == {[*there.rows][20]}

    on_line(Scenario(generr_rows=(20,), columns=("serial",)), conversation)


@every_way
def test_a_walk_of_a_tree_goes_around_what_is_not_wanted(how: dict[str, Any]) -> None:
    tree = Oid.parse(f"{XPON}.2.43.1")

    async def conversation(there: Line) -> None:
        agent = await there.agent(**how)
        whole = (await agent.walk(tree)).rows
        before = there.requests
        result = await agent.walk_table([tree], excluded=[SERIAL, DESCRIPTION, RUN_STATUS])
        unwanted = tuple(oid.content[len(tree.content) :] for oid in (SERIAL, DESCRIPTION))
        assert result.complete
        assert result.rows == {
            index: value for index, value in whole.items() if not index.startswith(unwanted)
        }
        assert 0 < len(result.rows) == len(whole) - 200
        assert not how or there.requests - before < len(whole) - 100

    on_line(Scenario(), conversation)


def test_an_agent_that_does_not_let_us_go_around_is_left() -> None:
    async def conversation(there: Line) -> None:
        # From the last row of the column it goes back to its first.
        result = await (await there.agent()).walk_table([Oid.parse(f"{XPON}.2.43.1")], excluded=[SERIAL])
        assert RepeatingOids in kinds(result.errors)

    on_line(Scenario(repeat_row=99, repeat_back_to=0, columns=("serial",)), conversation)


def test_who_cancels_a_walk_has_what_came_until_then() -> None:
    async def conversation(there: Line) -> None:
        result = WalkResult({})
        agent = await there.agent()

        def stop(_rows: int) -> None:
            walk.cancel()

        walk = asyncio.create_task(agent.walk_table([SERIAL], into=result, progress=stop))
        with pytest.raises(asyncio.CancelledError):
            await walk
        came = result.columns[SERIAL].rows
        assert 0 < len(came) < len(there.rows)
        assert came.items() <= there.rows.items()

    on_line(Scenario(), conversation)


@every_way
def test_of_chosen_values_only_the_bad_ones_fail(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        oids = [Oid(SERIAL.content + index) for index in there.rows]
        result = await (await there.agent(**how)).get_many(oids)
        bad = {oids[row] for row in (0, 20, 21, 33, LAST)}
        assert set(result.failed) == bad
        assert set(kinds(result.failed.values())) == {UnreadableRows}
        assert str(result.failed[oids[20]]).endswith("fails (genErr) on it")
        assert {oid.content for oid in result.values} == {oid.content for oid in oids if oid not in bad}
        assert all(
            result.values[oid] == there.rows[oid.content[len(SERIAL.content) :]] for oid in result.values
        )
        assert (result.error, result.unanswered, result.complete) == (None, [], False)

    on_line(Scenario(generr_rows=(0, 20, 21, 33, LAST)), conversation)


@every_way
@pytest.mark.parametrize("back_to", [None, 10, 0], ids=["the same row", "a cycle", "from the start"])
def test_a_column_without_an_end_is_left(how: dict[str, Any], back_to: int | None) -> None:
    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk_table(COLUMNS)
        assert set(kinds(result.errors)) == {RepeatingOids}
        for oid, column in result.columns.items():
            assert list(column.rows.items()) == list(there.truth[oid].items())[:41]
            assert "gave rows again that it had given before, near row " in str(column.errors[0])
        assert there.requests <= (50 if how else 10) * len(COLUMNS)

    on_line(Scenario(repeat_row=40, repeat_back_to=back_to), conversation)


@every_way
@pytest.mark.parametrize("swapped", [(30, 31), (10, 90), (0, 1), (98, 99)], ids=str)
def test_rows_out_of_order_are_all_read(how: dict[str, Any], swapped: tuple[int, int]) -> None:
    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        order = [*there.rows]
        low, high = swapped
        order[low], order[high] = order[high], order[low]
        for column in result.columns.values():
            assert [*column.rows] == order
            if how:
                assert column.pages_out_of_order > 0

    on_line(Scenario(swap_rows=swapped), conversation)


@every_way
def test_the_last_column_ends_with_the_mib(how: dict[str, Any]) -> None:
    """Where 64-bit counters are the last of all, SNMPv1 has to end without having seen any."""

    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk(LAST_COLUMN)
        assert result.complete
        assert [*result.rows] == ([] if "version" in how else [*there.rows])

    on_line(Scenario(), conversation)


@every_way
@pytest.mark.parametrize(
    "column", [f"{XPON}.2.43.1.4", "1.3.6.1.4.1.99999", "1.3.6.1.2.1.1.3.0", "0.1"], ids=str
)
def test_a_column_that_does_not_exist_is_complete_and_empty(how: dict[str, Any], column: str) -> None:
    async def conversation(there: Line) -> None:
        result = await (await there.agent(**how)).walk(Oid.parse(column))
        assert (result.complete, result.rows) == (True, {})

    on_line(Scenario(), conversation)


@every_way
def test_values_that_do_not_exist_are_told_from_those_that_do(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        nothing, no_row = Oid.parse("1.3.6.1.4.1.99999.1.0"), SERIAL.child(1, 1)
        result = await (await there.agent(**how)).get_many(
            [nothing, SYS_DESCR, no_row, LAST_COLUMN.child(1, 1)]
        )
        old = "version" in how
        assert result.complete
        assert result.values[nothing] is Missing.NO_SUCH_OBJECT
        assert result.values[no_row] is (Missing.NO_SUCH_OBJECT if old else Missing.NO_SUCH_INSTANCE)
        assert isinstance(result.values[SYS_DESCR], bytes)
        assert len(result.values) == 4

    on_line(Scenario(), conversation)


@every_way
@pytest.mark.parametrize("varbinds", [1, 2, 50])
def test_no_request_asks_for_no_rows(how: dict[str, Any], varbinds: int) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(limits=Limits(varbinds=varbinds), **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert there.olt.report().unanswered == 0

    on_line(Scenario(hang_on_zero_repetitions=True), conversation)


@every_way
def test_a_table_that_changes_has_every_row_that_stayed_and_none_twice(how: dict[str, Any]) -> None:
    scenario = Scenario(churn_every=7, churn_rows=4)

    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=Learned(varbinds=10), **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        stayed = {[*there.rows][row] for row in range(len(there.rows))} - ever_gone(there, scenario)
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
            assert stayed <= column.rows.keys()
        counts = {
            index: sum(index in column.rows for column in result.columns.values()) for index in there.rows
        }
        assert result.uneven_rows() == {index for index, count in counts.items() if 0 < count < len(COLUMNS)}
        assert result.uneven_rows() & stayed == set()

    on_line(scenario, conversation)


def ever_gone(there: Line, scenario: Scenario) -> set[bytes]:
    """Rows that were hidden at some time: as the simulator does it, over all the requests it saw."""
    faults = RowFaults(scenario, FleetConfig().seed * 100_003)
    serial = next(each for each in there.olt._tables.layout.columns if each.prefix == SERIAL.content)
    gone: set[bytes] = set()
    for requests in range(there.requests + 1):
        faults.set_requests(requests)
        gone |= {index for row, index in enumerate(there.rows) if faults.hides(serial, row)}
    assert 0 < len(gone) < len(there.rows)
    return gone


@every_way
def test_what_a_walk_without_getbulk_learns_does_not_slow_down_what_follows(how: dict[str, Any]) -> None:
    """One row at a time is how it asks, not what the agent bears."""

    async def conversation(there: Line) -> None:
        agent = await there.agent(**how)
        assert (await agent.walk_table([SERIAL, DESCRIPTION, RUN_STATUS])).complete
        assert agent.learned.most_varbinds is None
        assert agent.learned.varbinds >= Learned().varbinds
        before = there.requests
        oids = [Oid(SERIAL.content + index) for index in there.rows]
        assert (await agent.get_many([*oids, SYS_UP_TIME])).complete
        assert there.requests - before <= 6

    on_line(Scenario(), conversation)
