"""SNMPv3 to an OLT that misbehaves: complete and right, or a reason; and back in step without being told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import pytest

from facho.sim.fleet import Fleet, FleetConfig
from facho.sim.olt import SimulatedOlt
from facho.sim.presets import PRESETS, WELL_MEANT
from facho.sim.scenario import Scenario
from facho.sim.usm import SIMULATED_USERS, EngineSecurity
from facho.snmp import Agent, Client, Limits, Oid, Target, Value, Version, WalkResult
from facho.snmp.errors import NoAnswer
from facho.snmp.usm import User
from tests import virtual_time

XPON = "1.3.6.1.4.1.2011.6.128.1.1.2"
SERIAL, DESCRIPTION = Oid.parse(f"{XPON}.43.1.3"), Oid.parse(f"{XPON}.43.1.9")
# Neither moves by itself in any scenario.
COLUMNS = (SERIAL, DESCRIPTION)
SYS_NAME = Oid.parse("1.3.6.1.2.1.1.5.0")
GUEST, HIDER = SIMULATED_USERS["noauth"], SIMULATED_USERS["sha-256-aes"]

Table = dict[Oid, dict[bytes, Value]]
T = TypeVar("T")


class Clock:
    """The OLT's: it goes on as ours does, and jumps when told."""

    def __init__(self) -> None:
        self.ahead = 1_700_000_000.0
        self._time = asyncio.get_running_loop().time

    def __call__(self) -> float:
        return self._time() + self.ahead


@dataclass
class Line:
    olt: SimulatedOlt
    clock: Clock
    client: Client
    truth: Table

    @property
    def engine(self) -> EngineSecurity:
        security = self.olt._security
        assert isinstance(security, EngineSecurity)
        return security

    async def agent(self, user: User = HIDER, patience: float = 5.0) -> Agent:
        host, port = self.olt.address
        target = Target(
            host,
            port=port,
            version=Version.V3,
            user=user,
            timeout=patience,
            retries=2,
            limits=Limits(in_flight=4, varbinds=10),
        )
        return await self.client.agent(target)


@asynccontextmanager
async def line(scenario: Scenario) -> AsyncIterator[Line]:
    """The OLT has told the truth once, to somebody else, and is in the scenario from then on."""
    clock = Clock()
    async with Fleet(FleetConfig(onus=50), clock) as fleet, Client() as client:
        olt = fleet.olts[0]
        host, port = olt.address
        async with Client() as other:
            told = await (await other.agent(Target(host, "public", port, timeout=5.0))).walk_table(COLUMNS)
        assert told.complete
        olt.scenario = scenario
        yield Line(olt, clock, client, table(told))
        assert client.pending == 0


def table(result: WalkResult) -> Table:
    return {oid: column.rows for oid, column in result.columns.items()}


def on_line(conversation: Callable[[Line], Awaitable[T]], scenario: Scenario | None = None) -> T:
    async def run() -> T:
        async with asyncio.timeout(600), line(scenario or Scenario()) as there:
            return await conversation(there)

    return virtual_time.run(run())


@pytest.mark.parametrize("user", [HIDER, GUEST], ids=lambda user: user.name)
@pytest.mark.parametrize("name", WELL_MEANT)
def test_a_walk_is_complete_and_right_or_says_why_not(name: str, user: User) -> None:
    scenario = PRESETS[name].scenario

    async def conversation(there: Line) -> None:
        agent = await there.agent(user, patience=0.2)
        result = await agent.walk_table(COLUMNS)
        assert result.complete == (result.reason is None)
        for oid, column in result.columns.items():
            assert column.rows.items() <= there.truth[oid].items()
        if result.complete and not scenario.churn_every:
            assert table(result) == there.truth

    on_line(conversation, scenario)


@pytest.mark.parametrize(
    "name", ["plain", "far", "duplicating", "toobig", "small", "disordered", "truncated"]
)
def test_what_can_be_lived_with_is_lived_with(name: str) -> None:
    async def conversation(there: Line) -> None:
        # A cut answer is no message at all, and may cost a time-out.
        agent = await there.agent(patience=5.0 if name != "truncated" else 0.3)
        result = await agent.walk_table(COLUMNS)
        assert result.reason is None
        assert table(result) == there.truth

    on_line(conversation, PRESETS[name].scenario)


def test_damage_on_the_way_is_always_noticed_by_who_signs() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(patience=0.1)
        while not agent.dropped.untrusted + agent.dropped.malformed:
            result = await agent.walk_table(COLUMNS)
            for oid, column in result.columns.items():
                assert column.rows.items() <= there.truth[oid].items()

    on_line(conversation, Scenario(corrupt=0.3))


@pytest.mark.parametrize("user", SIMULATED_USERS.values(), ids=SIMULATED_USERS.keys())
def test_every_simulated_user_reads_the_truth(user: User) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(user)
        result = await agent.walk_table(COLUMNS)
        assert result.reason is None
        assert table(result) == there.truth
        assert agent.dropped.untrusted == 0

    on_line(conversation)


async def reads_the_truth(there: Line, agent: Agent) -> WalkResult:
    result = await agent.walk_table(COLUMNS)
    assert result.reason is None
    assert table(result) == there.truth
    return result


Change = Callable[[Line], None]


def restart(there: Line) -> None:
    there.olt.restart()


def become_another(there: Line) -> None:
    there.engine.engine_id += b"-new"


def jump_ahead(there: Line) -> None:
    there.clock.ahead += 100_000


CHANGES: dict[str, Change] = {
    "it restarted": restart,
    "another engine answers": become_another,
    "its clock jumped": jump_ahead,
}


@pytest.mark.parametrize("user", [HIDER, GUEST], ids=lambda user: user.name)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_next_walk_is_in_step_again_by_itself(change: Change, user: User) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(user)
        await reads_the_truth(there, agent)
        change(there)
        result = await reads_the_truth(there, agent)
        assert result.load.timeouts == 0
        # Two at the first meeting and after a change; but who does not sign needs no clock.
        assert there.olt.report().reports <= 4

    on_line(conversation)


@pytest.mark.parametrize("change", [become_another, jump_ahead], ids=["another engine", "its clock jumped"])
def test_a_walk_is_in_step_again_in_its_middle(change: Change) -> None:
    """Several questions are under way when it happens, and each of them is reported."""

    async def conversation(there: Line) -> None:
        agent = await there.agent()
        changes = iter([change])

        def progress(_rows: int) -> None:
            for each in changes:
                each(there)

        result = await agent.walk_table(COLUMNS, progress=progress)
        assert next(changes, None) is None
        assert result.reason is None
        assert table(result) == there.truth
        assert result.load.timeouts == 0

    on_line(conversation, Scenario(latency_s=0.005))


def test_a_restart_in_the_middle_is_said() -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent()
        changes = iter([restart])

        def progress(_rows: int) -> None:
            for each in changes:
                each(there)

        result = await agent.walk_table(COLUMNS, progress=progress)
        assert [type(error).__name__ for error in result.errors] == ["AgentRestarted"]
        await reads_the_truth(there, agent)

    on_line(conversation)


def test_an_engine_that_restarts_without_counting_its_boots_is_met_anew() -> None:
    """Its clock went back, so what it says looks replayed: that costs one operation, not all that follow."""

    async def conversation(there: Line) -> None:
        agent = await there.agent(patience=0.2)
        await reads_the_truth(there, await there.agent())
        there.olt.restart()
        there.engine.boots -= 1
        lost = await agent.get_many([SYS_NAME])
        assert isinstance(lost.error, NoAnswer)
        assert agent.dropped.untrusted + agent.dropped.late > 0
        await reads_the_truth(there, await there.agent())

    on_line(conversation)


def test_an_olt_that_is_silent_for_a_while_is_met_again() -> None:
    async def conversation(there: Line) -> None:
        there.olt.silence()
        agent = await there.agent(patience=0.05)
        unknown = await agent.get_many([SYS_NAME])
        assert "or does not speak SNMPv3" in str(unknown.error)
        there.olt.silence(False)
        patient = await there.agent()
        await reads_the_truth(there, patient)
        there.olt.silence()
        assert "the privacy password" in str((await agent.get_many([SYS_NAME])).error)
        there.olt.silence(False)
        await reads_the_truth(there, patient)

    on_line(conversation)
