"""A simulated OLT that misbehaves, a client that asks it, and what the OLT would say if it behaved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from facho.sim.fleet import Fleet, FleetConfig
from facho.sim.olt import SimulatedOlt
from facho.sim.scenario import Scenario
from facho.snmp import Agent, Client, Learned, Oid, Target, Value, Version, WalkResult, values
from tests import virtual_time

XPON: Final = "1.3.6.1.4.1.2011.6.128.1.1"
SERIAL: Final = Oid.parse(f"{XPON}.2.43.1.3")
DESCRIPTION: Final = Oid.parse(f"{XPON}.2.43.1.9")
RUN_STATUS: Final = Oid.parse(f"{XPON}.2.46.1.15")
DISTANCE: Final = Oid.parse(f"{XPON}.2.46.1.20")
COLUMNS: Final = (SERIAL, DESCRIPTION, RUN_STATUS, DISTANCE)

# The three ways of walking.
BULK: Final[dict[str, Any]] = {}
GETNEXT: Final[dict[str, Any]] = {"bulk": False}
V1: Final[dict[str, Any]] = {"version": Version.V1}
WAYS: Final = {"v2c": BULK, "v2c without GETBULK": GETNEXT, "v1": V1}

# The time of day at which a test begins.
BEGAN: Final = 1_700_000_000.0

Table = dict[Oid, dict[bytes, Value]]
T = TypeVar("T")


@dataclass
class Line:
    olt: SimulatedOlt
    client: Client
    truth: Table
    _before: int

    async def agent(
        self,
        *,
        learned: Learned | None = None,
        guard: Callable[[], None] | None = None,
        tag: int = 0,
        client: Client | None = None,
        **how: Any,
    ) -> Agent:
        host, port = self.olt.address
        settings = {"community": "public", "timeout": 0.25, "retries": 2, **how}
        target = Target(host, port=port, **settings)
        return await (client or self.client).agent(target, learned=learned, guard=guard, tag=tag)

    @property
    def requests(self) -> int:
        """That reached the OLT since it began to misbehave."""
        return self.olt.report().requests - self._before

    @property
    def rows(self) -> dict[bytes, Value]:
        return self.truth[SERIAL]

    def row(self, number: int) -> str:
        """The index of a row, as errors name it."""
        return ".".join(map(str, values.decode_arcs([*self.rows][number])))

    def without(self, *numbers: int) -> dict[bytes, Value]:
        rows = enumerate(self.rows.items())
        return {index: value for number, (index, value) in rows if number not in numbers}


@asynccontextmanager
async def line(scenario: Scenario, *, onus: int = 100, seed: int = 1) -> AsyncIterator[Line]:
    """The OLT has told the truth once, to somebody else, and is in the scenario from then on."""
    now = asyncio.get_running_loop().time
    async with Fleet(FleetConfig(onus=onus, seed=seed), lambda: BEGAN + now()) as fleet, Client() as client:
        olt = fleet.olts[0]
        truth = await _truth(olt)
        before = olt.report().requests
        olt.scenario = scenario
        yield Line(olt, client, truth, before)


async def _truth(olt: SimulatedOlt) -> Table:
    host, port = olt.address
    async with Client() as client:
        agent = await client.agent(Target(host, "public", port, timeout=5.0))
        result = await agent.walk_table(COLUMNS)
    assert result.complete
    return table(result)


def table(result: WalkResult) -> Table:
    return {oid: column.rows for oid, column in result.columns.items()}


def on_line(
    scenario: Scenario, conversation: Callable[[Line], Awaitable[T]], *, onus: int = 100, seed: int = 1
) -> T:
    async def run() -> T:
        async with line(scenario, onus=onus, seed=seed) as there:
            return await conversation(there)

    return virtual_time.run(run())


def kinds(errors: Iterable[Exception]) -> list[type[Exception]]:
    return [type(error) for error in errors]
