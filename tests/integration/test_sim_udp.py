"""Simulated OLTs over real UDP, with what happens on the way to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from facho.sim.fleet import Fleet, FleetConfig, FleetError
from facho.sim.gate import Gate
from facho.sim.olt import Address, SimulatedOlt
from facho.sim.pdu import GET, GET_BULK, encode_request
from facho.sim.presets import combine
from facho.sim.scenario import Scenario
from facho.snmp.errors import BerError
from facho.snmp.values import Oid
from tests import virtual_time
from tests.unit.sim.asking import RUN_STATUS, RX_POWER, SERIAL, UPTIME, Said, message, read

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """In virtual time: what is waited for in vain ends at once."""

    async def within() -> T:
        async with asyncio.timeout(600):
            return await main

    return virtual_time.run(within())


class Socket(asyncio.DatagramProtocol):
    """A client that keeps every datagram together with where and when it came from."""

    def __init__(self) -> None:
        self.arrived: list[tuple[bytes, Address, float]] = []
        self.transport: Any = None
        self.asked_at = asyncio.get_running_loop().time()
        self._came = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.arrived.append((data, addr, asyncio.get_running_loop().time()))
        self._came.set()

    def ask(self, address: Address, oid: str, repetitions: int = 10, request_id: int = 1) -> None:
        pdu = encode_request(GET_BULK, request_id, 0, repetitions, [Oid.parse(oid).content])
        self.transport.sendto(message(pdu), address)

    def ask_one(self, address: Address, oid: str, request_id: int = 1) -> None:
        self.transport.sendto(
            message(encode_request(GET, request_id, 0, 0, [Oid.parse(oid).content])), address
        )

    async def arrivals(self, count: int) -> None:
        while len(self.arrived) < count:
            self._came.clear()
            await self._came.wait()

    @property
    def answers(self) -> list[Said]:
        return [read(data) for data, _, _ in self.arrived]


@asynccontextmanager
async def open_socket() -> AsyncIterator[Socket]:
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_datagram_endpoint(Socket, local_addr=("127.0.0.1", 0))
    try:
        yield client
    finally:
        transport.close()


async def seen(olt: SimulatedOlt, requests: int) -> None:
    """Waits until the OLT has seen, or lost, so many requests."""
    while (report := olt.report()).requests + report.lost_requests < requests:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def ask_all(
    scenario: Scenario, oids: list[str], *, expect: int, repetitions: int = 10
) -> tuple[Socket, Fleet]:
    """One request per OID, all at once, to one OLT; waits for `expect` answers, then a little for more."""

    async def main() -> tuple[Socket, Fleet]:
        async with Fleet(FleetConfig(onus=100, scenario=scenario)) as fleet, open_socket() as client:
            for number, oid in enumerate(oids):
                client.ask(fleet.olts[0].address, oid, repetitions, request_id=number + 1)
            await client.arrivals(expect)
            await seen(fleet.olts[0], len(oids))
            await asyncio.sleep(0.05)
            return client, fleet

    return run(main())


def test_each_olt_of_a_fleet_has_a_port_of_its_own() -> None:
    async def main() -> None:
        async with Fleet(FleetConfig(olts=3, onus=5, family="mixed")) as fleet, open_socket() as client:
            for number, olt in enumerate(fleet.olts):
                client.ask_one(olt.address, "1.3.6.1.2.1.1.5.0", request_id=number)
            await client.arrivals(3)
            names = {said.request_id: said.values[0] for said in client.answers}
            assert names == {0: b"huawei-000", 1: b"zte-001", 2: b"huawei-002"}
            assert len({olt.address for olt in fleet.olts}) == 3
            assert fleet.report().requests == 3

    run(main())


def test_each_olt_can_have_an_address_of_its_own() -> None:
    async def main() -> None:
        async with Fleet(FleetConfig(olts=2, onus=5, addresses=True)) as fleet:
            hosts, ports = zip(*(olt.address for olt in fleet.olts), strict=True)
            assert hosts == ("127.1.0.1", "127.1.0.2")
            assert len(set(ports)) == 1
            async with open_socket() as client:
                client.ask_one(fleet.olts[1].address, "1.3.6.1.2.1.1.5.0")
                await client.arrivals(1)
                assert client.arrived[0][1] == fleet.olts[1].address

    run(main())


def test_a_busy_port_is_told_in_a_sentence_and_nothing_stays_open() -> None:
    async def main() -> None:
        async with Fleet(FleetConfig(onus=5)) as fleet:
            port = fleet.olts[0].address[1]
            with pytest.raises(
                FleetError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"
            ):
                async with Fleet(FleetConfig(onus=5, base_port=port)):
                    pass

    run(main())


def test_a_slow_agent_answers_one_after_the_other_and_optics_last() -> None:
    scenario = Scenario(request_s=0.02, varbind_s=0.001, optics_s=0.01, queue=10)
    client, fleet = ask_all(scenario, [RX_POWER, SERIAL], expect=2)
    first, second = (arrived - client.asked_at for _, _, arrived in client.arrived)
    assert [said.request_id for said in client.answers] == [1, 2]
    assert first > 0.12
    assert second > 0.15
    assert fleet.report().max_outstanding == 2


def test_a_slow_agent_drops_what_its_queue_cannot_hold() -> None:
    client, fleet = ask_all(Scenario(request_s=0.2, queue=3), [SERIAL] * 8, expect=3)
    assert [said.request_id for said in client.answers] == [1, 2, 3]
    assert fleet.report().queue_drops == 5


def test_a_distant_agent_answers_later() -> None:
    async def main() -> float:
        async with (
            Fleet(FleetConfig(onus=5, scenario=Scenario(latency_s=0.1))) as fleet,
            open_socket() as client,
        ):
            start = asyncio.get_running_loop().time()
            client.ask_one(fleet.olts[0].address, UPTIME)
            await client.arrivals(1)
            return client.arrived[0][2] - start

    assert run(main()) == pytest.approx(0.1, abs=0.002)


def test_some_answers_come_twice() -> None:
    client, _ = ask_all(Scenario(duplicate=1.0), [SERIAL], expect=2)
    assert client.arrived[0][0] == client.arrived[1][0]


def test_some_answers_come_after_later_ones() -> None:
    client, _ = ask_all(Scenario(reorder=0.5), [SERIAL] * 20, expect=20)
    ids = [said.request_id for said in client.answers]
    assert sorted(ids) == list(range(1, 21))
    assert ids != sorted(ids)


def test_lost_requests_and_lost_answers_are_counted_apart() -> None:
    client, fleet = ask_all(Scenario(request_loss=0.3, answer_loss=0.3), [SERIAL] * 100, expect=20)
    report = fleet.report()
    assert report.lost_requests + report.requests == 100
    assert report.lost_answers + len(client.arrived) == report.requests
    assert report.lost_requests > 10
    assert report.lost_answers > 10


def test_large_answers_are_lost_where_fragments_are() -> None:
    client, fleet = ask_all(combine(["fragments-lost"]), [SERIAL], expect=0, repetitions=60)
    assert client.arrived == []
    assert fleet.report().lost_answers == 1
    client, _ = ask_all(combine(["fragments-lost"]), [SERIAL], expect=1, repetitions=20)
    assert len(client.answers[0].rows) == 20


def test_truncated_answers_cannot_be_read() -> None:
    client, _ = ask_all(combine(["truncated"]), [SERIAL], expect=1, repetitions=30)
    assert len(client.arrived[0][0]) == 400
    with pytest.raises(BerError):
        read(client.arrived[0][0])


def test_answers_come_from_another_port() -> None:
    client, fleet = ask_all(combine(["other-port"]), [SERIAL], expect=1)
    host, port = client.arrived[0][1]
    assert host == fleet.olts[0].address[0]
    assert port != fleet.olts[0].address[1]


def test_answers_come_from_another_address() -> None:
    client, fleet = ask_all(combine(["other-address"]), [SERIAL], expect=1)
    assert client.arrived[0][1][0] not in ("127.0.0.1", fleet.olts[0].address[0])


def test_answers_on_their_way_are_lost_when_the_agent_restarts() -> None:
    async def main() -> tuple[int, int]:
        async with Fleet(FleetConfig(onus=5, scenario=Scenario(latency_s=0.2))) as fleet:
            olt = fleet.olts[0]
            async with open_socket() as client:
                client.ask_one(olt.address, UPTIME)
                await seen(olt, 1)
                olt.restart()
                await asyncio.sleep(0.3)
                before = len(client.arrived)
                client.ask_one(olt.address, UPTIME, request_id=2)
                await client.arrivals(1)
                uptime = client.answers[0].values[0]
                assert isinstance(uptime, int)
                return before, uptime

    lost, uptime = run(main())
    assert lost == 0
    assert uptime < 1000


def test_a_scenario_can_change_while_the_olt_is_asked() -> None:
    async def main() -> list[int]:
        async with Fleet(FleetConfig(onus=100)) as fleet:
            olt = fleet.olts[0]
            async with open_socket() as client:
                client.ask(olt.address, RUN_STATUS, request_id=1)
                await client.arrivals(1)
                olt.scenario = combine(["silent"])
                client.ask(olt.address, RUN_STATUS, request_id=2)
                await seen(olt, 2)
                olt.scenario = Scenario()
                client.ask(olt.address, RUN_STATUS, request_id=3)
                await client.arrivals(2)
                return [said.request_id for said in client.answers]

    assert run(main()) == [1, 3]


def test_a_gate_is_waited_for_and_released_beside_the_loop_of_its_olt() -> None:
    async def main() -> None:
        async with Fleet(FleetConfig(onus=50)) as fleet, open_socket() as client:
            gate = fleet.olts[0].hold()
            client.ask(fleet.olts[0].address, SERIAL, request_id=5)
            await asyncio.to_thread(gate.wait_until_held)
            assert client.arrived == []
            await asyncio.to_thread(gate.release)
            await client.arrivals(1)
            assert [said.request_id for said in client.answers] == [5]

    asyncio.run(main())


def test_a_gate_may_be_released_after_its_fleet_has_ended() -> None:
    async def main() -> Gate:
        async with Fleet(FleetConfig(onus=5)) as fleet, open_socket() as client:
            gate = fleet.olts[0].hold()
            client.ask(fleet.olts[0].address, SERIAL)
            await asyncio.to_thread(gate.wait_until_held)
            return gate

    gate = asyncio.run(main())
    gate.release()
    assert gate.is_released
