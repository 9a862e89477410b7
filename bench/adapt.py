"""The adaptive client beside every fixed setting, against agents with a single CPU.

Each OLT of the simulated fleet has a CPU of its own, which costs us nothing, so the settings are tried side
by side on OLTs of equal make. The adaptive client starts without having learned anything.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table

from bench.harness import AsJson, Note, run_benchmark
from bench.snmp import COLUMNS as BENCH_COLUMNS
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp import Client, Learned, Limits, Oid, Target, WalkResult
from facho.snmp.pacing import Decide, Epoch, Pace, decide

Address = tuple[str, int]

ONUS: Final = 1000
LIMITS: Final = Limits(in_flight=5, varbinds=50, most_varbinds=200)
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


app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench adapt`  a table for each kind of agent: seconds at every fixed setting, and adaptive

`facho bench adapt --json`  `ratio` to the best fixed setting and `timeout_share`, the worst of all `agents`
"""


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

    def __str__(self) -> str:
        lost = f" ({self.timeout_share:.0%} lost)" if self.timeouts else ""
        return f"{self.seconds:.2f} s{lost}" if self.complete else "not complete"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fixed settings and the adaptive runs against one kind of agent."""

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

    def print(self) -> None:
        table = Table("values a request", title=f"{self.agent}; {ONUS:,} ONUs")
        in_flight = sorted({setting.in_flight for setting in self.fixed})
        for number in in_flight:
            table.add_column(f"{number} in flight", justify="right")
        for varbinds in sorted({setting.varbinds for setting in self.fixed}):
            table.add_row(str(varbinds), *(str(self.fixed[Learned(varbinds, each)]) for each in in_flight))
        ended = ", ".join(f"{run.ended_at.varbinds} x {run.ended_at.in_flight}" for run in self.adaptive)
        seconds = ", ".join(f"{run.seconds:.2f} s" for run in self.adaptive)
        console = Console()
        console.print(table)
        console.print(
            f"Adaptive: {seconds} (ended at {ended}); {self.ratio:.2f} times the best fixed setting, "
            f"{self.timeout_share:.2%} time-outs.\n"
        )


@dataclass(frozen=True, slots=True)
class Result:
    comparisons: tuple[Comparison, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "ratio": round(max(comparison.ratio for comparison in self.comparisons), 3),
            "timeout_share": round(max(comparison.timeout_share for comparison in self.comparisons), 4),
            "agents": [comparison.as_json() for comparison in self.comparisons],
        }

    def print(self) -> None:
        for comparison in self.comparisons:
            comparison.print()


@app.command(epilog=_EXAMPLES)
def adapt(as_json: AsJson = False) -> None:
    """Walk slow simulated OLTs at every fixed setting, and with the client adapting its own."""
    run_benchmark(measure, as_json=as_json)


def measure(note: Note) -> Result:
    return Result(tuple(asyncio.run(_compare(agent, scenario, note)) for agent, scenario in AGENTS.items()))


def _keep_pace(pace: Pace, _epoch: Epoch, _limits: Limits, _timeout: float) -> Pace:
    """Never adapt: for the fixed settings of the grid."""
    return pace


async def _compare(agent: str, scenario: Scenario, note: Note) -> Comparison:
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
    return await _walk(address, _keep_pace, limits, setting)


async def _walk(address: Address, how: Decide, limits: Limits, learned: Learned | None) -> Run:
    host, port = address
    async with Client(how) as client:
        agent = await client.agent(Target(host, "public", port, limits=limits), learned=learned)
        result: WalkResult = await agent.walk_table(COLUMNS)
        load = result.load
        return Run(load.seconds, load.requests, load.timeouts, result.complete, agent.learned)
