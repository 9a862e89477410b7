"""The adaptive client beside every fixed setting, against agents with a single CPU.

Each OLT of the simulated fleet has a CPU of its own, which costs us nothing, so the settings are tried side
by side on OLTs of equal make. The adaptive client starts without having learned anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from facho.bench.snmp import COLUMNS as BENCH_COLUMNS
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp import Client, Learned, Limits, Oid, Target, WalkResult
from facho.snmp.adapt import Decide, Epoch, Pace, decide

Address = tuple[str, int]

ONUS: Final = 1000
LIMITS: Final = Limits(in_flight=5, varbinds=50)
VARBINDS: Final = (5, 10, 20, 35, 50)
IN_FLIGHT: Final = (1, 2, 3, 4, 5)
ADAPTIVE_RUNS: Final = 3
COLUMNS: Final = tuple(map(Oid.parse, BENCH_COLUMNS))

AGENTS: Final = {
    "3 ms a request, 0.2 ms a value, optics 1.5 ms more, room for 12": Scenario(
        request_s=0.003, varbind_s=0.0002, optics_s=0.0015, queue=12
    ),
    "20 ms a request, 0.5 ms a value, optics 4 ms more, room for 3": Scenario(
        request_s=0.020, varbind_s=0.0005, optics_s=0.004, queue=3
    ),
    "5 ms a request, 0.1 ms a value, optics 1 ms more, 40 ms away": Scenario(
        request_s=0.005, varbind_s=0.0001, optics_s=0.001, queue=12, latency_s=0.040
    ),
    "20 ms a request, 1 ms a value, drops what comes while it works": Scenario(
        request_s=0.020, varbind_s=0.001, queue=1
    ),
}


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    requests: int
    timeouts: int
    complete: bool
    ended_at: Learned

    @property
    def timeout_share(self) -> float:
        return self.timeouts / self.requests


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kind of agent: the grid, and the adaptive runs."""

    agent: str
    fixed: dict[Learned, Run]
    adaptive: tuple[Run, ...]

    @property
    def best(self) -> Learned:
        usable = [setting for setting, run in self.fixed.items() if run.complete]
        return min(usable, key=lambda setting: self.fixed[setting].seconds)

    @property
    def ratio(self) -> float:
        """The worst adaptive run over the best fixed setting."""
        return max(run.seconds for run in self.adaptive) / self.fixed[self.best].seconds

    @property
    def timeout_share(self) -> float:
        return sum(run.timeouts for run in self.adaptive) / sum(run.requests for run in self.adaptive)

    def as_json(self) -> dict[str, Any]:
        best = self.fixed[self.best]
        return {
            "agent": self.agent,
            "best_fixed": {
                "varbinds": self.best.varbinds,
                "in_flight": self.best.in_flight,
                "seconds": best.seconds,
            },
            "fixed": [
                {
                    "varbinds": setting.varbinds,
                    "in_flight": setting.in_flight,
                    "seconds": round(run.seconds, 3),
                    "timeout_share": round(run.timeout_share, 4),
                    "complete": run.complete,
                }
                for setting, run in self.fixed.items()
            ],
            "adaptive_seconds": [round(run.seconds, 3) for run in self.adaptive],
            "ratio": round(self.ratio, 3),
            "timeout_share": round(self.timeout_share, 4),
        }


def keep(pace: Pace, _epoch: Epoch, _limits: Limits, _timeout: float) -> Pace:
    """Stay where you are: the fixed settings of the grid."""
    return pace


def compare(note: Callable[[str], None]) -> list[Comparison]:
    return [asyncio.run(_compare(agent, scenario, note)) for agent, scenario in AGENTS.items()]


async def _compare(agent: str, scenario: Scenario, note: Callable[[str], None]) -> Comparison:
    grid = [Learned(varbinds, in_flight) for varbinds in VARBINDS for in_flight in IN_FLIGHT]
    config = FleetConfig(olts=len(grid) + ADAPTIVE_RUNS, onus=ONUS, scenario=scenario)
    with FleetProcess(config, prebuilt=True) as fleet:
        note(f"{agent}: {len(grid)} fixed settings")
        fixed = await asyncio.gather(*map(_walk_fixed, fleet.addresses, grid))
        note(f"{agent}: adaptive")
        adaptive = await asyncio.gather(
            *(_walk(address, decide, LIMITS, None) for address in fleet.addresses[len(grid) :])
        )
    return Comparison(agent, dict(zip(grid, fixed, strict=True)), tuple(adaptive))


async def _walk_fixed(address: Address, setting: Learned) -> Run:
    limits = Limits(in_flight=setting.in_flight, varbinds=setting.varbinds)
    return await _walk(address, keep, limits, setting)


async def _walk(address: Address, how: Decide, limits: Limits, learned: Learned | None) -> Run:
    host, port = address
    async with Client(how) as client:
        agent = await client.agent(Target(host, "public", port, limits=limits), learned=learned)
        result: WalkResult = await agent.walk_table(COLUMNS)
        load = result.load
        return Run(load.seconds, load.requests, load.timeouts, result.complete, agent.learned)
