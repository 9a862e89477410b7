"""Agents that attack: whatever they send, a walk ends with a reason, and nothing raises or fills memory."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from facho.engine.collect.identify import Identified
from facho.engine.commands import connection_test
from facho.sim.fleet import FleetConfig
from facho.sim.presets import HOSTILE, PRESETS
from facho.sim.process import FleetProcess
from facho.sim.usm import SIMULATED_USERS
from facho.snmp import Client, Target, Version, transport
from tests.faults.line import COLUMNS, RUN_STATUS, SERIAL, WAYS, Line, on_line, table
from tests.services import warm

MOST_ROWS, MOST_OCTETS = 300, 2_000_000
# The error that a walk ends with; None where it is complete.
ENDS = {
    "endless-table": "TooMuch",
    "huge-oids": "CorruptAnswer",
    "long-oids": "CorruptAnswer",
    "large-arcs": "CorruptAnswer",
    "new-shapes": "TooMuch",
    "odd-indexes": None,
    "bad-rows": "UnreadableRows",
    "huge-values": "TooMuch",
    "wrong-community": "NoAnswer",
    "forged-reports": None,
    "flood": None,
}
# In these the rows are those that there are.
RIGHT = ("forged-reports", "flood")
UNREADABLE = ("huge-oids", "long-oids", "large-arcs")


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("name", HOSTILE)
def test_a_walk_ends_and_says_why(name: str, how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        patience = 5.0 if ENDS.get(name, "") != "NoAnswer" and name != "hostile" else 0.2
        agent = await there.agent(
            timeout=patience, retries=1, most_rows=MOST_ROWS, most_octets=MOST_OCTETS, **how
        )
        result = await agent.walk_table([SERIAL, RUN_STATUS])
        said = {type(error).__name__ for error in result.errors}
        if name == "hostile":
            assert said
            return
        assert said == ({ENDS[name]} if ENDS[name] else set())
        assert all(len(column.rows) <= MOST_ROWS + 50 for column in result.columns.values())
        if name in RIGHT:
            assert table(result)[SERIAL] == there.truth[SERIAL]
        assert there.client.pending == 0

    on_line(PRESETS[name].scenario, conversation, onus=45)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_walk_with_snmpv3_ends_and_says_why(name: str) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(
            version=Version.V3,
            user=SIMULATED_USERS["sha-256-aes"],
            timeout=5.0 if name != "hostile" else 0.2,
            most_rows=MOST_ROWS,
            most_octets=MOST_OCTETS,
        )
        result = await agent.walk_table([SERIAL, RUN_STATUS])
        said = {type(error).__name__ for error in result.errors}
        if name == "hostile":
            # All in turns: now and then a walk comes to an end. It ends, that is all there is to say.
            return
        if name == "wrong-community" or ENDS[name] is None:
            # A community is no matter of SNMPv3.
            assert not said
        else:
            assert said == {ENDS[name]}
        if name in (*RIGHT, "wrong-community"):
            assert table(result)[SERIAL] == there.truth[SERIAL]

    on_line(PRESETS[name].scenario, conversation, onus=45)


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(onus=20)) as fleet:
        yield fleet


@pytest.mark.parametrize("name", HOSTILE)
def test_who_tests_a_connection_is_told_what_it_is_or_what_is_wrong(fleet: FleetProcess, name: str) -> None:
    fleet.set_scenario(PRESETS[name].scenario)
    host, port = fleet.addresses[0]
    answer = connection_test.ask(Target(host, port=port, timeout=0.3, retries=1))
    assert answer.sys_descr is not None if isinstance(answer, Identified) else str(answer.reason)


@pytest.mark.parametrize("name", UNREADABLE)
def test_facho_snmp_walk_says_in_a_sentence_what_is_wrong(fleet: FleetProcess, name: str) -> None:
    fleet.set_scenario(PRESETS[name].scenario)
    host, port = fleet.addresses[0]
    words = ["snmp", "walk", f"{host}:{port}", str(SERIAL), "--timeout", "5"]
    done = warm.run(words, env=dict(os.environ))
    assert "Traceback" not in done.stderr
    assert "answered with a broken message: an OID has" in done.stderr
    assert done.returncode not in (0, 1)


def test_the_port_that_is_asked_from_changes_and_no_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request from another port: each answer comes to the port before it."""
    monkeypatch.setattr(transport, "PORT_CHANGES_AFTER_S", 0.0)
    opened: list[transport._Socket] = []
    open_socket = transport._Socket.__init__

    def note(self: transport._Socket, *arguments: Any) -> None:
        opened.append(self)
        open_socket(self, *arguments)

    monkeypatch.setattr(transport._Socket, "__init__", note)

    async def conversation(there: Line) -> None:
        client = Client()
        agent = await there.agent(timeout=5.0, client=client)
        result = await agent.walk_table(COLUMNS[:1])
        assert result.complete
        assert result.load.timeouts == 0
        assert table(result)[SERIAL] == there.truth[SERIAL]
        mine = opened[-result.load.requests :]
        assert len(mine) == result.load.requests
        # All but the last two are closed.
        assert [each._socket.fileno() != -1 for each in mine] == [False] * (len(mine) - 2) + [True] * 2
        ports = {each.port for each in mine[-2:]}
        assert len(ports) == 2
        client.close()

    on_line(PRESETS["plain"].scenario, conversation, onus=200)


def test_a_flood_from_addresses_that_were_not_asked_costs_next_to_nothing() -> None:
    """Of a flood only a few datagrams a second are compared with the requests of all OLTs."""

    async def run() -> None:
        async with Client() as client:
            looked: list[int] = []

            class Watched:
                def is_waiting_for(self, request_id: int) -> bool:
                    looked.append(request_id)
                    return False

            watched = Watched()
            client._peers[("192.0.2.1", 161)] = watched  # type: ignore[assignment]
            datagram = bytes.fromhex("301b020101040670 75626c6963a20e020412345678020100020100 3000")
            for number in range(5_000):
                client._received(datagram, ("198.51.100.1", 1024 + number))
            assert client.strangers == 5_000
            # A second may have ended meanwhile, and on a slow machine a few of them.
            assert len(looked) < 1_000
            del client._peers[("192.0.2.1", 161)]

    asyncio.run(run())


def test_after_some_time_the_loop_gets_its_turn_though_datagrams_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_BURST_S", -1.0)

    async def run() -> None:
        came: list[bytes] = []
        loop = asyncio.get_running_loop()
        one = transport._Socket(loop, socket.AF_INET, lambda data, _address: came.append(data))
        one._socket.bind(("127.0.0.1", 0))
        loop.remove_reader(one._socket)
        for _ in range(5):
            one.send(b"x", ("127.0.0.1", one.port))
        one._read()
        assert len(came) == 1
        one._read()
        assert len(came) == 2
        one.close()

    asyncio.run(run())


def test_a_simulated_agent_sees_requests_from_more_than_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PORT_CHANGES_AFTER_S", 0.0)

    async def run() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
            there.bind(("127.0.0.1", 0))
            there.setblocking(False)
            loop = asyncio.get_running_loop()
            endpoint = transport.Endpoint(loop, socket.AF_INET, lambda _data, _address: None)
            ports = set()
            for _ in range(3):
                endpoint.send(b"x", there.getsockname())
                ports.add((await loop.sock_recvfrom(there, 10))[1][1])
            endpoint.close()
            assert len(ports) > 1

    asyncio.run(run())


def test_the_port_is_another_one_after_ten_minutes() -> None:
    class Loop:
        now = 0.0

        def time(self) -> float:
            return self.now

        def add_reader(self, *_: object) -> None: ...

        def remove_reader(self, *_: object) -> None: ...

        def remove_writer(self, *_: object) -> None: ...

    loop = Loop()
    endpoint = transport.Endpoint(
        cast(asyncio.AbstractEventLoop, loop), socket.AF_INET, lambda _data, _address: None
    )
    ports = []
    for loop.now in (0.0, 599.0, 601.0, 1_202.0):
        endpoint.send(b"x", ("127.0.0.1", 9))
        ports.append(endpoint.port)
    endpoint.close()
    assert ports[0] == ports[1]
    assert len(set(ports)) == 3
