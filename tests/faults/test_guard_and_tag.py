"""The guard stands before every datagram, and the tag is in every request id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from facho.sim.report import Tally
from facho.sim.scenario import Scenario
from facho.snmp import Agent, Client, Learned
from facho.snmp.errors import NoAnswer
from tests.faults.line import COLUMNS, SERIAL, WAYS, Line, on_line

every_way = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())


VALUES = [SERIAL.child(1, number) for number in range(100)]
OPERATIONS: dict[str, Callable[[Agent], Awaitable[object]]] = {
    "walk of a column": lambda agent: agent.walk(SERIAL),
    "walk of several": lambda agent: agent.walk_table(COLUMNS),
    "values": lambda agent: agent.get_many(VALUES),
    "with a deadline": lambda agent: agent.walk_table(COLUMNS, deadline=600.0),
}


class LeaseLost(Exception):
    pass


class Guard:
    """Counts, and from the given call on raises."""

    def __init__(self, error: BaseException | None = None, at: int = 0) -> None:
        self.calls = 0
        self._error = error
        self._at = at

    def __call__(self) -> None:
        self.calls += 1
        if self._error is not None and self.calls >= self._at:
            raise self._error


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The request ids that reached the OLT."""
    seen: list[int] = []
    see = Tally.count_request

    def recorded(self: Tally, tag: int, request_id: int) -> None:
        seen.append(request_id)
        see(self, tag, request_id)

    monkeypatch.setattr(Tally, "count_request", recorded)
    return seen


@every_way
def test_the_guard_is_asked_before_every_datagram(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        guard = Guard()
        agent = await there.agent(guard=guard, timeout=0.05, retries=2, **how)
        walked = await agent.walk_table(COLUMNS)
        got = await agent.get_many(VALUES)
        await asyncio.sleep(0.05)
        assert guard.calls == walked.load.requests + got.load.requests
        assert guard.calls == there.requests + there.olt.report().lost_requests
        assert walked.load.timeouts + got.load.timeouts > 0

    on_line(Scenario(request_loss=0.1, answer_loss=0.1), conversation, onus=20)


@pytest.mark.parametrize("error", [LeaseLost("mine"), TimeoutError("mine"), NoAnswer("mine")], ids=repr)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("at", [1, 2, 6])
def test_what_the_guard_raises_ends_it_at_once(error: Exception, operation: str, at: int) -> None:
    async def conversation(there: Line) -> None:
        guard = Guard(error, at)
        agent = await there.agent(guard=guard, learned=Learned(varbinds=5, in_flight=3), timeout=5.0)
        with pytest.raises(type(error)) as raised:
            await OPERATIONS[operation](agent)
        assert raised.value is error
        assert there.client.pending == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        calls = guard.calls
        await asyncio.sleep(0.05)
        assert guard.calls == calls
        assert there.requests == at - 1

    on_line(Scenario(latency_s=0.002), conversation)


def test_the_guard_of_one_conversation_does_not_end_another_with_the_same_agent() -> None:
    async def conversation(there: Line) -> None:
        stopped = await there.agent(guard=Guard(LeaseLost(), 5), learned=Learned(varbinds=5), timeout=5.0)
        free = await there.agent(timeout=5.0)
        outcome, result = await asyncio.gather(
            stopped.walk_table(COLUMNS), free.walk_table(COLUMNS), return_exceptions=True
        )
        assert isinstance(outcome, LeaseLost)
        assert not isinstance(result, BaseException)
        assert result.complete

    on_line(Scenario(latency_s=0.002), conversation)


@every_way
@pytest.mark.parametrize("tag", [1, 0x1234, 0x7FFF])
def test_the_tag_is_in_every_request_id(how: dict[str, Any], tag: int, ids: list[int]) -> None:
    async def conversation(there: Line) -> None:
        ids.clear()
        agent = await there.agent(tag=tag, **how)
        for operation in OPERATIONS.values():
            await operation(agent)
        assert {request_id >> 16 for request_id in ids} == {tag}
        assert all(0 < request_id <= 0x7FFF_FFFF for request_id in ids)
        assert len(set(ids)) == len(ids) == there.requests

    on_line(Scenario(), conversation, onus=40)


def test_repetitions_carry_the_tag_and_ids_of_their_own(ids: list[int]) -> None:
    async def conversation(there: Line) -> None:
        ids.clear()
        await (await there.agent(tag=5, timeout=0.05, retries=3)).walk(SERIAL)
        assert [request_id >> 16 for request_id in ids] == [5] * 4
        assert len(set(ids)) == 4

    on_line(Scenario(silent=True), conversation)


@pytest.mark.parametrize("tag", [-1, 0x8000])
def test_a_tag_that_does_not_fit_is_refused(tag: int) -> None:
    async def conversation(there: Line) -> None:
        with pytest.raises(ValueError, match="tag must be 0 to 32767"):
            await there.agent(tag=tag)

    on_line(Scenario(), conversation)


def test_the_simulator_tells_walks_that_overlap() -> None:
    async def conversation(there: Line) -> None:
        async with Client() as other:
            first = await there.agent(tag=7, learned=Learned(varbinds=5))
            second = await there.agent(tag=8, learned=Learned(varbinds=5), client=other)
            await asyncio.gather(first.walk_table(COLUMNS), second.walk_table(COLUMNS))
        report = there.olt.report()
        assert report.overlaps > 0
        assert report.overlapping == ((7, 8),)

    on_line(Scenario(latency_s=0.002), conversation)


def test_walks_one_after_the_other_do_not_overlap() -> None:
    async def conversation(there: Line) -> None:
        for tag in (7, 8, 9):
            assert (await (await there.agent(tag=tag)).walk_table(COLUMNS)).complete
        assert there.olt.report().overlaps == 0

    on_line(Scenario(latency_s=0.002), conversation)


def test_a_walk_without_a_tag_overlaps_with_nothing() -> None:
    async def conversation(there: Line) -> None:
        tagged = await there.agent(tag=7, learned=Learned(varbinds=5))
        untagged = await there.agent(learned=Learned(varbinds=5))
        await asyncio.gather(tagged.walk_table(COLUMNS), untagged.walk_table(COLUMNS))
        assert there.olt.report().overlaps == 0

    on_line(Scenario(latency_s=0.002), conversation)
