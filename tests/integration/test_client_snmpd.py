"""The client against a real net-snmp agent, in both versions and over both address families."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

import pytest

from facho.snmp import Agent, Client, Missing, Oid, Target, Value, Version, WalkResult
from facho.snmp.errors import NoAnswer
from facho.snmp.values import Counter32, TimeTicks
from tests.services.snmpd import Snmpd

SYS_DESCR = Oid.parse("1.3.6.1.2.1.1.1.0")
SYS_OBJECT_ID = Oid.parse("1.3.6.1.2.1.1.2.0")
SYS_UP_TIME = Oid.parse("1.3.6.1.2.1.1.3.0")
NO_SUCH_INSTANCE = Oid.parse("1.3.6.1.2.1.1.1.1")
NO_SUCH_OBJECT = Oid.parse("1.3.6.1.2.1.99.1.0")

T = TypeVar("T")


def converse(target: Target, conversation: Callable[[Agent], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Client() as client:
            return await conversation(await client.agent(target))

    return asyncio.run(run())


def walk(target: Target, column: Oid) -> WalkResult:
    return converse(target, lambda agent: agent.walk(column))


def named(result: WalkResult) -> list[tuple[Oid, Value]]:
    """Every value under its full name, in the agent's order."""
    columns = result.columns.values()
    return [
        (Oid(each.oid.content + suffix), value) for each in columns for suffix, value in each.rows.items()
    ]


def promised(snmpd: Snmpd, column: str = "") -> list[tuple[Oid, Value]]:
    under = f"{snmpd.table}{column}."
    return [(Oid.parse(oid), value) for oid, value in snmpd.values.items() if oid.startswith(under)]


@pytest.fixture(params=["IPv4", "IPv6"])
def host(request: pytest.FixtureRequest, snmpd: Snmpd) -> str:
    if request.param == "IPv4":
        return snmpd.host
    if snmpd.host6 is None:
        pytest.skip("no IPv6 here")
    return snmpd.host6


@pytest.fixture(params=[Version.V1, Version.V2C], ids=lambda version: f"v{version.label}")
def target(request: pytest.FixtureRequest, snmpd: Snmpd, host: str) -> Target:
    return Target(host, snmpd.community, snmpd.port, version=request.param)


@pytest.fixture
def v2c(snmpd: Snmpd) -> Target:
    return Target(snmpd.host, snmpd.community, snmpd.port)


def test_chosen_values_are_read(target: Target, snmpd: Snmpd) -> None:
    result = converse(target, lambda agent: agent.get_many([SYS_DESCR, SYS_UP_TIME, SYS_OBJECT_ID]))
    assert result.complete
    assert result.values[SYS_DESCR] == snmpd.sys_descr.encode()
    assert isinstance(result.values[SYS_UP_TIME], TimeTicks)
    assert isinstance(result.values[SYS_OBJECT_ID], Oid)


def test_values_that_do_not_exist_are_said_to_be_missing(target: Target, snmpd: Snmpd) -> None:
    """The others come all the same, although version 1 fails the whole request for one of them."""
    asked = [SYS_DESCR, NO_SUCH_INSTANCE, NO_SUCH_OBJECT]
    result = converse(target, lambda agent: agent.get_many(asked))
    old = target.version == Version.V1
    assert result.complete
    assert result.values == {
        SYS_DESCR: snmpd.sys_descr.encode(),
        NO_SUCH_INSTANCE: Missing.NO_SUCH_OBJECT if old else Missing.NO_SUCH_INSTANCE,
        NO_SUCH_OBJECT: Missing.NO_SUCH_OBJECT,
    }


def test_more_values_than_fit_one_request_are_all_read(target: Target, snmpd: Snmpd) -> None:
    wanted = dict(promised(snmpd)[::10])
    result = converse(target, lambda agent: agent.get_many(wanted))
    assert result.complete
    assert result.values == wanted


def test_no_value_asked_for_is_no_request(v2c: Target) -> None:
    result = converse(v2c, lambda agent: agent.get_many([]))
    assert (result.complete, result.values, result.load.requests) == (True, {}, 0)


def test_a_walk_gives_exactly_what_the_agent_has(target: Target, snmpd: Snmpd) -> None:
    result = walk(target, Oid.parse(snmpd.table))
    assert result.reason is None
    assert named(result) == promised(snmpd)


def test_columns_are_walked_together_and_keyed_by_their_index(target: Target, snmpd: Snmpd) -> None:
    columns = [Oid.parse(f"{snmpd.table}.{column}") for column in (3, 1, 2)]
    result = converse(target, lambda agent: agent.walk_table(columns))
    assert result.reason is None
    assert list(result.columns) == columns
    assert named(result) == promised(snmpd, ".3") + promised(snmpd, ".1") + promised(snmpd, ".2")
    assert result.uneven_rows() == set()


def test_without_bulk_requests_the_walk_gives_the_same(v2c: Target, snmpd: Snmpd) -> None:
    column = Oid.parse(f"{snmpd.table}.2")
    one_by_one, bulk = walk(replace(v2c, bulk=False), column), walk(v2c, column)
    assert one_by_one.complete
    assert named(one_by_one) == named(bulk) == promised(snmpd, ".2")
    assert one_by_one.load.requests > len(bulk.rows) > 5 * bulk.load.requests


def test_a_column_that_is_not_there_is_complete_and_empty(target: Target) -> None:
    result = walk(target, Oid.parse("1.3.6.1.2.1.99"))
    assert (result.complete, named(result)) == (True, [])


def test_the_end_of_the_mib_is_the_end_of_the_walk(target: Target) -> None:
    last_subtree = walk(target, Oid.parse("1.3.6.1.6.3"))
    assert last_subtree.complete
    assert len(named(last_subtree)) > 10
    assert named(walk(target, Oid.parse("1.3.7"))) == []


def test_a_wrong_community_gives_no_rows_and_a_sentence(target: Target, snmpd: Snmpd) -> None:
    stranger = replace(target, community="wr0ng", timeout=0.3, retries=1)
    result = walk(stranger, Oid.parse(snmpd.table))
    assert not result.complete
    assert [type(error) for error in result.errors] == [NoAnswer]
    assert named(result) == []
    address = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    assert result.reason == (
        f"no answer from {address} to 2 requests in 0.6 s: "
        "it is off or unreachable, or does not accept this community and version"
    )
    assert (result.load.requests, result.load.timeouts) == (2, 2)


def test_a_wrong_community_leaves_every_value_unanswered(v2c: Target) -> None:
    stranger = replace(v2c, community="wr0ng", timeout=0.3, retries=0)
    result = converse(stranger, lambda agent: agent.get_many([SYS_DESCR, SYS_UP_TIME]))
    assert isinstance(result.error, NoAnswer)
    assert "wr0ng" not in f"{result.error}{stranger}"
    assert (result.values, result.unanswered) == ({}, [SYS_DESCR, SYS_UP_TIME])


def test_many_conversations_at_once_share_one_socket(v2c: Target, snmpd: Snmpd) -> None:
    column = Oid.parse(f"{snmpd.table}.1")

    async def run() -> tuple[list[WalkResult], int]:
        before = len(os.listdir("/proc/self/fd"))
        async with Client() as client:
            agents = [await client.agent(v2c, tag=tag) for tag in range(40)]
            results = await asyncio.gather(*(agent.walk(column) for agent in agents))
            assert client.pending == 0
            return results, len(os.listdir("/proc/self/fd")) - before

    results, sockets = asyncio.run(run())
    assert sockets == 1
    assert all(named(result) == promised(snmpd, ".1") for result in results)


def test_both_address_families_are_used_side_by_side(v2c: Target, snmpd: Snmpd) -> None:
    if snmpd.host6 is None:
        pytest.skip("no IPv6 here")
    other = replace(v2c, host=snmpd.host6)

    async def run() -> list[WalkResult]:
        async with Client() as client:
            agents = [await client.agent(v2c), await client.agent(other)]
            return await asyncio.gather(*(agent.walk(Oid.parse(snmpd.table)) for agent in agents))

    assert [named(result) for result in asyncio.run(run())] == [promised(snmpd)] * 2


@pytest.fixture
def net_snmp_walk(
    snmpd: Snmpd, net_snmp: Callable[[str], str], tmp_path: Path
) -> Callable[[Oid], dict[Oid, Value]]:
    """What net-snmp's own tool reads from the same agent."""

    def run(subtree: Oid) -> dict[Oid, Value]:
        argv = [net_snmp("snmpbulkwalk"), "-v2c", f"-c{snmpd.community}", "-m", "", "-OnqextU"]
        argv += [f"{snmpd.host}:{snmpd.port}", str(subtree)]
        env = {"SNMP_PERSISTENT_DIR": str(tmp_path)}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=True)
        # A long string goes on in the next line, where no dot begins it.
        lines = re.split(r"\n(?=\.)", done.stdout.rstrip("\n"))
        return {
            Oid.parse(name): printed_value(text) for name, _, text in (line.partition(" ") for line in lines)
        }

    return run


def printed_value(text: str) -> Value:
    if text.startswith('"'):
        return bytes.fromhex(text.strip('"'))
    if text.startswith("."):
        return Oid.parse(text)
    return IPv4Address(text) if "." in text else int(text)


def lies_between(theirs: Value, before: Value, after: Value) -> bool:
    """Counters and clocks go on between two walks."""
    if isinstance(theirs, int) and isinstance(before, int) and isinstance(after, int):
        return before <= theirs <= after
    return theirs == before == after


@pytest.mark.parametrize("subtree", ["1.3.6.1.2.1.1", "1.3.6.1.2.1.2.2", "1.3.6.1.2.1.4.20"])
def test_a_standard_subtree_is_what_net_snmp_reads(
    v2c: Target, net_snmp_walk: Callable[[Oid], dict[Oid, Value]], subtree: str
) -> None:
    root = Oid.parse(subtree)
    before = dict(named(walk(v2c, root)))
    theirs = net_snmp_walk(root)
    after = dict(named(walk(v2c, root)))
    assert list(before) == list(theirs) == list(after)
    different = [oid for oid in theirs if not lies_between(theirs[oid], before[oid], after[oid])]
    assert different == []


def test_counters_come_as_counters(v2c: Target) -> None:
    octets_in = walk(v2c, Oid.parse("1.3.6.1.2.1.2.2.1.10"))
    assert {type(value) for value in octets_in.rows.values()} == {Counter32}


@pytest.mark.parametrize("version", [Version.V1, Version.V2C])
def test_the_first_row_of_a_column_costs_one_request(snmpd: Snmpd, version: Version) -> None:
    target = Target(snmpd.host, snmpd.community, snmpd.port, version)
    names = Oid.parse(f"{snmpd.table}.2")
    assert converse(target, lambda agent: agent.first_row(names)) == (b"\x01", b"ONU 0001")
    assert converse(target, lambda agent: agent.first_row(Oid.parse("1.3.6.1.2.1.99"))) is None
    assert converse(target, lambda agent: agent.first_row(Oid.parse("2.99.1"))) is None
