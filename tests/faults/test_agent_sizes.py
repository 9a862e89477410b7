"""Answers that do not fit, or do not come whole: asked for in smaller pieces, and the size is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from facho.sim import agent as sim_agent
from facho.sim import network
from facho.sim.agent import Answer
from facho.sim.pdu import Pdu
from facho.sim.scenario import Scenario
from facho.snmp import Client, Learned, Limits
from facho.snmp.errors import CorruptAnswer, NoAnswer, TooBig
from tests.faults.line import COLUMNS, DESCRIPTION, SERIAL, WAYS, Line, kinds, on_line, table

every_way = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
AMBITIOUS = Learned(varbinds=50)


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The request ids to which the OLT said tooBig."""
    seen: list[int] = []
    refuse = sim_agent.Agent.too_big

    def too_big(self: sim_agent.Agent, version: int, pdu: Pdu) -> Answer:
        seen.append(pdu.request_id)
        return refuse(self, version, pdu)

    monkeypatch.setattr(sim_agent.Agent, "too_big", too_big)
    return seen


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The answers that were damaged on their way."""
    seen: list[bytes] = []
    damage = network.Network._damage

    def damaged(self: network.Network, datagram: bytes) -> bytes:
        arrives = damage(self, datagram)
        if arrives != datagram:
            seen.append(arrives)
        return arrives

    monkeypatch.setattr(network.Network, "_damage", damaged)
    return seen


def test_too_big_is_learned_once_and_for_all(refusals: list[int]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=AMBITIOUS)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert refusals
        most = agent.learned.most_varbinds
        assert most is not None
        assert 12 // 4 <= most <= 12
        refusals.clear()
        async with Client() as later:
            agent = await there.agent(client=later, learned=agent.learned)
            result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert refusals == []
        assert agent.learned.most_varbinds == most

    on_line(Scenario(toobig_varbinds=12), conversation)


def test_too_big_holds_for_chosen_values_too(refusals: list[int]) -> None:
    async def conversation(there: Line) -> None:
        oids = [SERIAL.child(*indices(there, number)) for number in range(60)]
        agent = await there.agent(learned=AMBITIOUS)
        result = await agent.get_many(oids)
        assert result.complete
        assert [result.values[oid] for oid in oids] == list(there.rows.values())[:60]
        assert refusals
        refusals.clear()
        assert (await agent.get_many(oids)).complete
        assert refusals == []

    on_line(Scenario(toobig_varbinds=12), conversation)


def indices(there: Line, number: int) -> tuple[int, ...]:
    return tuple(map(int, there.row(number).split(".")))


@every_way
def test_an_agent_for_which_one_row_is_too_big_says_so(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(**how)
        result = await agent.walk_table(COLUMNS)
        assert kinds(result.errors) == [TooBig] * len(COLUMNS)
        assert table(result) == {oid: {} for oid in COLUMNS}
        assert f"{SERIAL}: 127.0.0.1:" in str(result.errors[0])
        assert str(result.errors[0]).endswith("says that even one row is too big to answer")
        # sysUpTime twice, and for each column no more than it takes to halve the rows down to one.
        assert there.requests <= 2 + 6 * len(COLUMNS)

    on_line(Scenario(toobig_bytes=50), conversation)


def test_an_agent_for_which_one_value_is_too_big_says_so_for_each() -> None:
    async def conversation(there: Line) -> None:
        oids = [SERIAL.child(*indices(there, number)) for number in range(7)]
        agent = await there.agent()
        result = await agent.get_many(oids)
        assert set(result.failed) == set(oids)
        assert set(kinds(result.failed.values())) == {TooBig}
        assert not result.complete
        assert result.error is None

    on_line(Scenario(toobig_bytes=50), conversation)


def test_answers_lost_above_a_size_are_asked_for_in_smaller_ones() -> None:
    async def conversation(there: Line) -> None:
        learned, lost = AMBITIOUS, [0]
        for _ in range(4):
            async with Client() as client:
                agent = await there.agent(timeout=0.1, client=client, learned=learned)
                result = await agent.walk_table(COLUMNS)
            assert result.complete
            assert table(result) == there.truth
            learned = agent.learned
            lost.append(there.olt.report().lost_answers)
        # It takes more than one loss to tell a size that never arrives from bad luck; then it is known.
        assert 0 < lost[1] <= lost[2] <= lost[3] == lost[4]
        assert learned.most_varbinds is not None

    on_line(Scenario(lose_answers_over=800), conversation, onus=200)


def test_answers_cut_at_a_size_are_asked_for_in_smaller_ones() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=AMBITIOUS)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert agent.learned.most_varbinds is not None
        assert agent.dropped.malformed > 0
        async with Client() as later:
            agent = await there.agent(client=later, learned=agent.learned)
            result = await agent.walk_table(COLUMNS)
        assert table(result) == there.truth
        assert agent.dropped.malformed == 0

    on_line(Scenario(truncate_at=800), conversation, onus=200)


@every_way
def test_answers_cut_within_their_only_row_are_corrupt(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(retries=1, **how)
        result = await agent.walk_table(COLUMNS)
        assert kinds(result.errors) == [CorruptAnswer] * len(COLUMNS)
        assert result.reason is not None
        assert "answered with a broken message: a value is longer than what holds it" in result.reason
        assert table(result) == {oid: {} for oid in COLUMNS}
        assert result.load.timeouts == 0

    # sysUpTime still fits.
    on_line(Scenario(truncate_at=52), conversation)


@every_way
def test_room_for_less_than_was_asked_for_is_no_error(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=AMBITIOUS, **how)
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth

    on_line(Scenario(max_message=484), conversation)


@every_way
@pytest.mark.parametrize("seed", range(3))
def test_broken_answers_are_never_taken(how: dict[str, Any], seed: int, broken: list[bytes]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=3, **how)
        result = await agent.walk_table(COLUMNS)
        assert broken
        assert result.complete == (result.reason is None)
        assert set(kinds(result.errors)) <= {CorruptAnswer, NoAnswer}
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
            assert column.rows == there.truth[oid] or not result.complete

    on_line(Scenario(corrupt=0.15), conversation, onus=40, seed=seed)


def test_an_agent_that_breaks_every_answer_is_corrupt_or_silent() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.1, retries=2)
        result = await agent.walk(SERIAL)
        assert not result.complete
        assert set(kinds(result.errors)) <= {CorruptAnswer, NoAnswer}
        assert result.rows == {}
        # The first sysUpTime, as often as is allowed, then the rows, in halves and then one by one.
        assert there.requests <= 40

    on_line(Scenario(corrupt=1.0), conversation)


@pytest.mark.parametrize(
    ("found", "put"),
    [(SERIAL.content, DESCRIPTION.content), (b"\x04\x08HWTC", b"\x82\x08HWTC")],
    ids=["another column's row", "an end of the MIB that has a value"],
)
def test_what_only_looks_like_the_end_of_a_column_is_not(
    found: bytes, put: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One octet is wrong in the middle of an answer that is still BER. The rows after it must not be lost."""
    left = 3

    def damaged(_self: object, datagram: bytes) -> bytes:
        nonlocal left
        head, *parts = datagram.split(found)
        if len(parts) < 5 or not left:
            return datagram
        left -= 1
        return found.join([head, *parts[:3]]) + put + found.join(parts[3:])

    monkeypatch.setattr(network.Network, "_damage", damaged)

    async def conversation(there: Line) -> None:
        agent = await there.agent(limits=Limits(varbinds=20))
        result = await agent.walk(SERIAL)
        assert left == 0
        assert result.complete
        assert result.rows == there.rows

    # A path of any kind, so that answers go by way of it.
    on_line(Scenario(latency_s=0.001), conversation)


def varbinds_told(there: Line) -> int:
    return there.olt.report().varbinds


@every_way
@pytest.mark.parametrize("expected", [100, 99, 101, 1, 40, 1000])
def test_what_is_expected_only_changes_how_far_past_the_end_is_read(
    how: dict[str, Any], expected: int
) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=AMBITIOUS, **how)
        result = await agent.walk_table(COLUMNS, expected=dict.fromkeys(COLUMNS, expected))
        assert result.complete
        assert table(result) == there.truth
        assert result.up_time is not None

    on_line(Scenario(), conversation)


def test_a_column_of_the_expected_length_is_read_one_row_past_its_end() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(learned=AMBITIOUS)
        before = varbinds_told(there)
        await agent.walk_table([SERIAL], expected={SERIAL: 100})
        uptimes, past_the_end = 2, 1
        assert varbinds_told(there) - before == 100 + past_the_end + uptimes

    on_line(Scenario(), conversation)
