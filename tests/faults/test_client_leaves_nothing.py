"""What was cancelled, closed or in vain leaves no request, task, socket or peer behind."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from facho.sim.scenario import Scenario
from facho.snmp import Client, Learned, Limits, Target, WalkResult
from facho.snmp.errors import ClientClosed, DeadlineExceeded, NoAnswer
from tests import virtual_time
from tests.faults.line import COLUMNS, SERIAL, Line, kinds, on_line

BATCH, BATCHES = 1000, 10


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that is dead on every loopback address: somebody has it and never looks."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", 0))
        yield sock.getsockname()[1]


async def left_over() -> set[asyncio.Task[object]]:
    """Tasks that are still there once everything has had its turn."""
    await asyncio.sleep(0.01)
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize("operation", ["walk", "get"])
@pytest.mark.parametrize("rate", [None, 20.0], ids=["free", "under a rate limit"])
def test_a_cancelled_operation_stops_at_once(operation: str, rate: float | None) -> None:
    sent = 0
    going = asyncio.Event()

    def count() -> None:
        nonlocal sent
        sent += 1
        if sent == 4:
            going.set()

    async def conversation(there: Line) -> None:
        agent = await there.agent(
            guard=count, learned=Learned(varbinds=2), limits=Limits(requests_per_second=rate)
        )
        oids = [SERIAL.child(1, number) for number in range(1000)]
        doing = asyncio.ensure_future(
            agent.walk_table(COLUMNS) if operation == "walk" else agent.get_many(oids)
        )
        await going.wait()
        before = sent
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
        assert sent == before
        assert there.client.pending == 0
        assert await left_over() == set()
        await asyncio.sleep(0.2)
        assert sent == before
        assert there.requests <= before
        # Its places among those in flight are free again.
        assert (await (await there.agent()).get_many([SERIAL])).complete

    on_line(Scenario(latency_s=0.005), conversation)


def test_ten_thousand_walks_of_the_dead_leave_nothing(dead_port: int) -> None:
    async def walk(client: Client, number: int) -> WalkResult:
        host = f"127.{1 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
        agent = await client.agent(Target(host, "public", dead_port, timeout=0.02, retries=0))
        return await agent.walk_table(COLUMNS)

    async def batch(client: Client, first: int) -> int:
        """How many objects there are after it."""
        results = await asyncio.gather(*(walk(client, first + number) for number in range(BATCH)))
        assert all(kinds(result.errors) == [NoAnswer] for result in results)
        assert sum(result.load.requests for result in results) == BATCH
        del results
        assert client.pending == 0
        assert await left_over() == set()
        gc.collect()
        assert len(client._peers) == 0
        return len(gc.get_objects())

    async def run() -> None:
        before = descriptors()
        async with Client() as client:
            objects = [await batch(client, number * BATCH) for number in range(BATCHES)]
            assert descriptors() == before + 1
        assert descriptors() == before
        assert objects[-1] - objects[1] < BATCH

    virtual_time.run(run())


@pytest.mark.parametrize("silent", [True, False], ids=["dead", "alive"])
def test_closing_the_client_ends_what_is_under_way(silent: bool) -> None:
    async def conversation(there: Line) -> None:
        before = descriptors()
        client = Client()
        going = asyncio.Event()
        agents = [await there.agent(client=client, timeout=600.0, guard=going.set) for _ in range(20)]
        walks = [asyncio.ensure_future(agent.walk_table(COLUMNS)) for agent in agents]
        gets = [asyncio.ensure_future(agent.get_many([SERIAL.child(1, 1)])) for agent in agents]
        await going.wait()
        assert client.pending > 0
        client.close()
        outcomes = await asyncio.gather(*walks, *gets, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {ClientClosed}
        assert client.pending == 0
        assert await left_over() == set()
        assert descriptors() == before
        client.close()

    on_line(Scenario(silent=silent, latency_s=0.02), conversation)


def test_a_closed_client_does_not_send() -> None:
    async def conversation(there: Line) -> None:
        client = Client()
        agent = await there.agent(client=client)
        client.close()
        with pytest.raises(ClientClosed, match="the SNMP client was closed"):
            await agent.walk(SERIAL)
        with pytest.raises(ClientClosed):
            await agent.get_many([SERIAL])
        assert there.requests == 0

    on_line(Scenario(), conversation)


def test_one_cancelled_walk_of_many_leaves_the_others_alone() -> None:
    """They share the agent's limits: whoever is cancelled gives its place on, and takes no other's."""

    async def conversation(there: Line) -> None:
        limits = Limits(in_flight=2)
        agents = [
            await there.agent(limits=limits, learned=Learned(varbinds=5), timeout=5.0) for _ in range(8)
        ]
        walks = [asyncio.ensure_future(agent.walk_table(COLUMNS)) for agent in agents]
        for walk in walks[::2]:
            await asyncio.sleep(0.01)
            walk.cancel()
        for walk in walks[::2]:
            with suppress(asyncio.CancelledError):
                await walk
        for result in await asyncio.gather(*walks[1::2]):
            assert result.complete
            assert {oid: column.rows for oid, column in result.columns.items()} == there.truth
        assert await left_over() == set()

    on_line(Scenario(latency_s=0.001), conversation, onus=50)


def test_a_deadline_among_repetitions_leaves_the_limit_as_it_was() -> None:
    limits = Limits(in_flight=4)

    async def conversation(there: Line) -> None:
        agent = await there.agent(
            limits=limits, learned=Learned(varbinds=2, in_flight=4), timeout=0.05, retries=9
        )
        oids = [SERIAL.child(1, number) for number in range(100)]
        for deadline in (0.07, 0.12, 0.18):
            result = await agent.get_many(oids, deadline=deadline)
            assert kinds([result.error] if result.error else []) == [DeadlineExceeded]
            await left_over()
            assert agent.in_flight == 0

    on_line(Scenario(silent=True), conversation)
