"""Whether a part succeeded, and in which words it did not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facho.core.reasons import text_reason
from facho.engine.collect.column_reader import Answers, Rows
from facho.engine.collect.part_results import PartResult, PartState, join_results, judge_part, largest_cpu
from facho.engine.collect.request_plan import AskedColumn, Part, Work
from facho.snmp import Load, SnmpError, Target
from facho.snmp.errors import AgentRefused, DeadlineExceeded, NoAnswer, UnreadableRows
from facho.snmp.message import ErrorStatus
from facho.vendors import Decoder, Entity, Key, builtin

HUAWEI = builtin()["huawei"]
SERIAL = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"
GPON_STATE = "1.3.6.1.4.1.2011.6.128.1.1.2.46.1.15"
EPON_STATE = "1.3.6.1.4.1.2011.6.128.1.1.2.57.1.15"
CLOCK = "1.3.6.1.2.1.25.1.2"
CPU = "1.3.6.1.4.1.2011.2.6.7.1.1.2.1.5"
GOOD_INDEX = bytes.fromhex("8fd080c00001")


def part(kind: str = "get") -> Part:
    return Part(1, "job", kind, kind, (), (AskedColumn("serial", SERIAL, SERIAL),))


def outcome(answers: Answers, kind: str = "get") -> PartResult:
    work = Work(1, 1, 1, "olt", Target("10.0.0.1"), HUAWEI, (part(kind),), time_limit=timedelta(minutes=30))
    return judge_part(part(kind), answers, Decoder(HUAWEI).decode(answers.rows), work)


@pytest.mark.parametrize(("mute", "state"), [(20, PartState.SUCCESS), (21, PartState.FAILED)])
def test_more_than_a_fifth_without_an_answer_is_a_failure(mute: int, state: PartState) -> None:
    lacking = {Key(0, 1, 0, onu): text_reason("genErr") for onu in range(mute)}
    found = outcome(Answers(onus_asked=100, incomplete=lacking, silent_onus=mute, heard=True))
    assert found.state is state
    assert len(found.unanswered) == mute


def test_a_failure_says_who_was_the_first() -> None:
    found = outcome(Answers(onus_asked=2, incomplete={Key(0, 1, 0, 5): text_reason("genErr")}, silent_onus=1))
    assert (
        str(found.error)
        == "1 of 2 ONUs did not answer, and no more than 20 % may; the first is 0/1/0:5: genErr"
    )


def test_many_reasons_are_told_in_few_words() -> None:
    errors: list[SnmpError] = [UnreadableRows(f"row {row}") for row in range(8)]
    found = outcome(Answers(errors=[*errors, *errors]), "walk")
    assert str(found.error) == "row 0; row 1; row 2; row 3; row 4; and 3 more"


def test_the_time_limit_is_that_of_the_execution() -> None:
    found = outcome(Answers(errors=[DeadlineExceeded("not read in 0.2 s")]), "walk")
    assert str(found.error) == "not finished within the time limit of 1800 s"
    assert not found.silent


def test_only_who_says_nothing_at_all_is_silent() -> None:
    assert outcome(Answers(errors=[NoAnswer("no answer")], gone=True)).silent
    assert not outcome(Answers(errors=[NoAnswer("no answer")], gone=True, heard=True)).silent


def test_a_note_is_no_failure() -> None:
    found = outcome(Answers(notes=[text_reason("something")], load=Load(requests=3)))
    assert (found.state, str(found.error), found.load.requests) == (PartState.SUCCESS, "something", 3)


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ({GPON_STATE: {GOOD_INDEX: 1}}, PartState.SUCCESS),
        # Nobody knows which ONUs of GPON there are.
        ({EPON_STATE: {GOOD_INDEX: 1}}, PartState.FAILED),
        ({}, PartState.FAILED),
    ],
)
def test_a_column_that_may_not_be_read_is_left_out_only_where_another_shows_the_same_onus(
    rows: Rows, state: PartState
) -> None:
    refusal = AgentRefused("these credentials may not read it", ErrorStatus.noAccess)
    found = outcome(Answers(rows=rows, refused={part().columns[0]: [refusal]}), "discovery")
    assert (found.state, str(found.error)) == (state, "these credentials may not read it")
    assert found.refused == ({SERIAL} if state is PartState.SUCCESS else set())


@pytest.mark.parametrize(
    ("rows", "state"), [({GPON_STATE: {GOOD_INDEX: 1}}, PartState.SUCCESS), ({}, PartState.FAILED)]
)
def test_states_are_known_without_the_clock_of_the_olt(rows: Rows, state: PartState) -> None:
    clock = AskedColumn("clock", CLOCK, CLOCK, entity=Entity.OLT)
    answers = Answers(rows=rows, refused={clock: [UnreadableRows("it fails on everything")]})
    found = outcome(answers, "table")
    assert found.state is state
    assert "it fails on everything" in str(found.error)


def test_a_discovery_in_which_nobody_can_be_recognised_has_failed() -> None:
    bad = outcome(Answers(rows={SERIAL: {b"\x01\x02": b"HWTC1234", b"\x01\x03": b"HWTC1235"}}), "discovery")
    assert bad.state is PartState.FAILED
    assert str(bad.error).startswith("none of the 2 rows could be read; the first: gpon_config.serial 1.2: ")


def test_a_discovery_in_which_somebody_can_be_recognised_has_not_failed() -> None:
    rows: Rows = {SERIAL: {GOOD_INDEX: b"HWTC1234", b"\x01\x03": b"HWTC1235"}}
    found = outcome(Answers(rows=rows), "discovery")
    assert (found.state, found.rows) == (PartState.SUCCESS, 1)
    assert found.decoded is not None
    assert len(found.decoded.problems) == 1


def test_an_empty_discovery_that_is_complete_is_complete() -> None:
    assert outcome(Answers(rows={SERIAL: {}}), "discovery").state is PartState.SUCCESS


def test_the_busiest_board_counts() -> None:
    boards = outcome(Answers(rows={CPU: {b"\x00\x01": 12, b"\x00\x09": 91, b"\x00\x0a": -1}}), "table")
    assert largest_cpu([outcome(Answers()), boards]) == 91.0
    assert largest_cpu([outcome(Answers())]) is None


def walked(rows: Rows, requests: int) -> PartResult:
    """A walk that succeeded, whatever its rows were."""
    return outcome(Answers(rows=rows, load=Load(requests=requests)), "table")


UNREADABLE: Rows = {SERIAL: {b"\x01\x02": b"HWTC1234"}}
FOUND: Rows = {SERIAL: {GOOD_INDEX: b"HWTC1234"}}


@pytest.mark.parametrize(
    ("first", "second"), [(UNREADABLE, FOUND), ({}, UNREADABLE), (UNREADABLE, {}), (UNREADABLE, UNREADABLE)]
)
def test_rows_that_either_walk_of_a_discovery_could_not_read_are_kept(first: Rows, second: Rows) -> None:
    found = join_results(walked(first, 3), walked(second, 4))
    assert found.state is PartState.SUCCESS
    assert found.load.requests == 7
    assert found.has_onus == (second is FOUND)
    assert found.decoded is not None
    assert found.decoded.has_gaps(Entity.ONU)
    assert str(found.error).count("1 rows of the table gpon_config have an index") == 1
    assert [column.oid for column in found.asked] == [SERIAL, SERIAL]
