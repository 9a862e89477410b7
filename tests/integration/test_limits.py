"""What an operator allows holds at the OLT, whoever asks it and however often."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from facho.sim.scenario import Scenario
from facho.snmp import Agent, Client, Learned, Limits, WalkResult
from tests.faults.line import COLUMNS, SERIAL, WAYS, Line, on_line, table

every_way = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
# Nothing is repeated: a repetition is one more at the OLT, while the client has given up on the first.
PATIENT = 30.0
SLOW_PATH = Scenario(latency_s=0.005)
SLOW_CPU = Scenario(request_s=0.002, varbind_s=0.0001)


async def at_once(*agents: Agent) -> list[WalkResult]:
    return await asyncio.gather(*(agent.walk_table(COLUMNS) for agent in agents))


@every_way
@pytest.mark.parametrize("scenario", [SLOW_PATH, SLOW_CPU], ids=["slow path", "slow CPU"])
@pytest.mark.parametrize("most", [1, 3])
def test_no_more_are_in_flight_than_allowed(how: dict[str, Any], scenario: Scenario, most: int) -> None:
    """Two conversations with one address share what is allowed to it."""

    async def conversation(there: Line) -> None:
        limits, learned = Limits(in_flight=most), Learned(varbinds=5, in_flight=50)
        agents = [await there.agent(limits=limits, learned=learned, timeout=PATIENT, **how) for _ in range(2)]
        for result in await at_once(*agents):
            assert result.complete
            assert table(result) == there.truth
        assert there.olt.report().max_outstanding <= most
        assert agents[0].learned == agents[1].learned

    on_line(scenario, conversation, onus=15)


def test_what_is_allowed_is_used() -> None:
    async def conversation(there: Line) -> None:
        limits, learned = Limits(in_flight=4), Learned(varbinds=1, in_flight=4)
        await at_once(await there.agent(limits=limits, learned=learned, timeout=PATIENT))
        assert there.olt.report().max_outstanding > 1

    on_line(Scenario(latency_s=0.05), conversation, onus=10)


@every_way
def test_no_more_requests_a_second_are_sent_than_allowed(how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        limits = Limits(requests_per_second=50)
        agents = [await there.agent(limits=limits, timeout=PATIENT, **how) for _ in range(2)]
        results = await at_once(*agents)
        assert all(result.complete for result in results)
        seconds = max(result.load.seconds for result in results)
        assert there.requests == sum(result.load.requests for result in results)
        # n requests take n - 1 gaps; a clock's grain is forgiven.
        assert (there.requests - 1) / 50 <= seconds * 1.02 + 0.02

    on_line(Scenario(), conversation, onus=10)


@pytest.mark.parametrize("most", [1, 7])
def test_no_request_is_for_more_values_than_allowed(most: int) -> None:
    """The OLT would refuse one more, and the client remember it."""

    async def conversation(there: Line) -> None:
        agent = await there.agent(limits=Limits(varbinds=most), learned=Learned(varbinds=50))
        result = await agent.walk_table(COLUMNS)
        assert result.complete
        assert table(result) == there.truth
        assert (await agent.get_many([SERIAL.child(1, number) for number in range(50)])).complete
        assert agent.learned.varbinds <= most
        assert agent.learned.most_varbinds is None

    on_line(Scenario(toobig_varbinds=most), conversation)


def test_what_was_learned_can_be_given_back() -> None:
    async def conversation(there: Line) -> None:
        first = await there.agent(learned=Learned(varbinds=50))
        cold = await first.walk_table(COLUMNS)
        assert first.learned.most_varbinds is not None
        async with Client() as client:
            later = await there.agent(client=client, learned=first.learned)
            assert later.learned == first.learned
            warm = await later.walk_table(COLUMNS)
        assert table(cold) == table(warm) == there.truth
        assert later.learned.most_varbinds == first.learned.most_varbinds
        async with Client() as client:
            stricter = await there.agent(
                client=client, learned=first.learned, limits=Limits(in_flight=1, varbinds=2)
            )
            assert (stricter.learned.in_flight, stricter.learned.varbinds) == (1, 2)

    on_line(Scenario(toobig_varbinds=12), conversation)


def test_the_limits_last_given_hold_for_all() -> None:
    async def conversation(there: Line) -> None:
        before = await there.agent(learned=Learned(in_flight=5), timeout=PATIENT)
        await there.agent(limits=Limits(in_flight=1), timeout=PATIENT)
        assert before.learned.in_flight == 1
        assert (await before.walk_table(COLUMNS)).complete
        assert there.olt.report().max_outstanding == 1

    on_line(SLOW_PATH, conversation, onus=20)
