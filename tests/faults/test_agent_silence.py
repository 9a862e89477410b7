"""Agents that say nothing, or not what we can hear: the rows that came are kept, and the reason is told."""

from __future__ import annotations

from typing import Any

import pytest

from facho.sim.scenario import Scenario
from facho.snmp import Learned, Limits
from facho.snmp.errors import AgentRestarted, DeadlineExceeded, NoAnswer
from tests.faults.line import COLUMNS, DESCRIPTION, SERIAL, WAYS, Line, kinds, on_line, table

every_way = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
# Nobody waits for so long; only a deadline that does not work would.
FOR_EVER = 3600.0


@every_way
def test_a_dead_agent_is_asked_once_and_its_retries(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=2, **how)
        result = await agent.walk_table(COLUMNS)
        assert kinds(result.errors) == [NoAnswer]
        assert result.reason is not None
        assert "to 3 requests in 0.3 s: it is off or unreachable" in result.reason
        assert table(result) == {oid: {} for oid in COLUMNS}
        assert (there.requests, result.load.requests, result.load.timeouts) == (3, 3, 3)
        assert there.client.pending == 0

    on_line(Scenario(silent=True), conversation)


def test_a_dead_agent_is_not_asked_for_the_rest_of_many_values() -> None:
    async def conversation(there: Line) -> None:
        oids = [SERIAL.child(1, number) for number in range(500)]
        agent = await there.agent(timeout=0.1, retries=1, limits=Limits(in_flight=2))
        result = await agent.get_many(oids)
        assert isinstance(result.error, NoAnswer)
        assert not result.complete
        assert (result.values, result.failed, result.unanswered) == ({}, {}, oids)
        assert there.requests <= 2 * 2

    on_line(Scenario(silent=True), conversation)


@every_way
def test_an_agent_that_dies_half_way_leaves_its_rows_and_is_left_alone(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        came = 0

        def dies(rows: int) -> None:
            nonlocal came
            came += rows
            if came >= 20:
                there.olt.silence()

        agent = await there.agent(timeout=0.1, retries=1, **how)
        result = await agent.walk(SERIAL, progress=dies)
        assert NoAnswer in kinds(result.errors)
        assert result.reason is not None
        assert "no answer from 127.0.0.1" in result.reason
        assert list(result.rows.items()) == list(there.rows.items())[:came]
        # The page and the question whether it is alive, each with its retry.
        assert there.olt.report().unanswered == 4

    on_line(Scenario(), conversation)


def test_when_an_agent_dies_no_column_is_asked_for_any_more() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1, learned=Learned(varbinds=5, in_flight=2))
        result = await agent.walk_table(COLUMNS, progress=lambda _: there.olt.silence())
        assert NoAnswer in kinds(result.errors)
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
        assert any(column.rows for column in result.columns.values())
        assert there.olt.report().unanswered <= len(COLUMNS) * 4
        assert there.client.pending == 0

    on_line(Scenario(), conversation)


@every_way
def test_a_deadline_ends_a_walk_and_keeps_its_rows(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=FOR_EVER, learned=Learned(varbinds=5), **how)
        result = await agent.walk(SERIAL, deadline=0.3, progress=lambda _: there.olt.silence())
        assert kinds(result.errors) == [DeadlineExceeded]
        assert result.reason is not None
        assert result.reason.endswith("the walk was not finished in 0.3 s")
        assert 0 < len(result.rows) < len(there.rows)
        assert result.rows.items() <= there.rows.items()
        assert result.load.seconds < 30
        assert there.client.pending == 0

    on_line(Scenario(), conversation)


def test_a_deadline_holds_for_many_columns_under_a_rate_limit() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(limits=Limits(requests_per_second=10), learned=Learned(varbinds=5))
        result = await agent.walk_table(COLUMNS, deadline=0.5)
        assert kinds(result.errors) == [DeadlineExceeded]
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
        assert 1 <= there.requests <= 1 + 0.5 * 10
        assert result.load.seconds < 30
        assert there.client.pending == 0

    on_line(Scenario(), conversation)


def test_a_deadline_holds_for_chosen_values() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=FOR_EVER)
        result = await agent.get_many([SERIAL.child(1, 1), SERIAL.child(1, 2)], deadline=0.1)
        assert kinds([result.error] if result.error else []) == [DeadlineExceeded]
        assert len(result.unanswered) == 2
        assert there.client.pending == 0

    on_line(Scenario(silent=True), conversation)


@every_way
def test_loss_costs_repetitions_and_no_row(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=6, tag=1, **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        report = there.olt.report()
        assert report.lost_requests + report.lost_answers > 0
        assert result.load.timeouts >= report.lost_requests + report.lost_answers
        # Each repetition has an id of its own.
        assert report.retransmissions == 0

    on_line(Scenario(request_loss=0.03, answer_loss=0.03), conversation, onus=40)


@every_way
def test_doubled_answers_are_counted_and_taken_once(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(**how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert agent.dropped.duplicate >= there.requests // 2
        assert agent.dropped.stray == agent.dropped.malformed == 0

    on_line(Scenario(duplicate=1.0), conversation)


@every_way
def test_answers_out_of_order_reach_the_columns_they_belong_to(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=Learned(varbinds=5, in_flight=4), **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth

    on_line(Scenario(reorder=0.2, reorder_s=0.02, jitter_s=0.002), conversation, onus=50)


@every_way
def test_answers_that_come_too_late_are_never_those_of_another_question(how: dict[str, Any]) -> None:
    """Every answer comes after its time-out, when the same page has been asked for again."""

    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.05, retries=6, learned=Learned(varbinds=20, in_flight=4), **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert agent.dropped.late + agent.dropped.duplicate > 0
        assert agent.dropped.stray == 0

    on_line(Scenario(latency_s=0.08), conversation, onus=4)


def test_an_agent_answering_with_ids_of_other_requests_is_as_good_as_silent() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1)
        result = await agent.walk_table(COLUMNS)
        assert kinds(result.errors) == [NoAnswer]
        assert table(result) == {oid: {} for oid in COLUMNS}
        assert agent.dropped.stray == 2

    on_line(Scenario(wrong_id=1.0), conversation)


@pytest.mark.parametrize("seed", range(3))
def test_an_id_off_by_one_is_never_that_of_another_column(seed: int) -> None:
    """Several are under way: an answer to one must not be taken for another's, whose rows it would end."""

    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.05, retries=8, learned=Learned(varbinds=20, in_flight=4))
        result = await agent.walk_table(COLUMNS)
        for oid, column in result.columns.items():
            assert column.rows == there.truth[oid] or column.errors or not result.complete
            assert column.rows.items() <= there.truth[oid].items()
            assert set(kinds(column.errors)) <= {NoAnswer}
        assert agent.dropped.stray > 0

    on_line(Scenario(wrong_id=0.3, latency_s=0.002), conversation, seed=seed)


def test_a_community_that_is_not_known_is_met_with_silence() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1, community="privat")
        result = await agent.walk(SERIAL)
        assert kinds(result.errors) == [NoAnswer]
        assert result.reason is not None
        assert "does not accept this community and version" in result.reason
        assert "privat" not in result.reason
        assert (there.requests, there.olt.report().unknown_community) == (0, 2)

    on_line(Scenario(), conversation)


@pytest.mark.parametrize(
    ("scenario", "host"),
    [(Scenario(other_port=True), "127.0.0.1"), (Scenario(other_address=True), "127.255.0.1")],
    ids=["port", "address"],
)
def test_answers_from_elsewhere_are_not_taken_but_named(scenario: Scenario, host: str) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1)
        result = await agent.walk(SERIAL)
        assert kinds(result.errors) == [NoAnswer]
        assert result.rows == {}
        assert result.reason is not None
        assert f"; an answer came from {host}:" in result.reason
        assert result.reason.endswith(" instead: ask at that address")
        assert there.client.strangers == there.requests == 2

    on_line(scenario, conversation)


@every_way
def test_a_restart_is_told_although_every_row_came(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(**how)
        result = await agent.walk(SERIAL, progress=lambda _: there.olt.restart())
        assert kinds(result.errors) == [AgentRestarted]
        assert result.reason is not None
        assert "restarted during the walk: its sysUpTime went from " in result.reason
        assert result.rows == there.rows

    on_line(Scenario(), conversation)


@every_way
@pytest.mark.parametrize("silence", [0.0, FOR_EVER], ids=["at once", "away for long"])
def test_a_walk_over_a_restart_is_never_complete(how: dict[str, Any], silence: float) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1, learned=Learned(varbinds=10), **how)
        result = await agent.walk_table(COLUMNS)
        assert not result.complete
        assert set(kinds(result.errors)) <= {AgentRestarted, NoAnswer}
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
        assert there.olt.report().restarts == 1

    on_line(Scenario(restart_after=9, restart_silence_s=silence), conversation)


@every_way
def test_silence_on_one_row_ends_its_column_and_no_other(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        # Ten rows at a time, so that the stuck one is the first of a page.
        agent = await there.agent(timeout=0.1, retries=1, limits=Limits(varbinds=10), **how)
        result = await agent.walk_table(COLUMNS)
        stuck = result.columns[SERIAL]
        assert kinds(result.errors) == kinds(stuck.errors) == [NoAnswer]
        assert f"is alive but stays silent after row {there.row(29)} (no answer" in str(stuck.errors[0])
        assert list(stuck.rows.items()) == list(there.rows.items())[:30]
        for oid in set(COLUMNS) - {SERIAL}:
            assert result.columns[oid].rows == there.truth[oid]

    on_line(Scenario(silent_rows=(30,), columns=("serial",)), conversation)


def test_silence_on_the_first_row_says_so() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=1)
        result = await agent.walk_table([SERIAL, DESCRIPTION])
        assert "is alive but stays silent at its first row (no answer" in (result.reason or "")
        assert result.columns[SERIAL].rows == {}
        assert result.columns[DESCRIPTION].rows == there.truth[DESCRIPTION]

    on_line(Scenario(silent_rows=(0,), columns=("serial",)), conversation)
