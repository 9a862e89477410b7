"""Simulated OLTs and the SNMP client that asks them in one loop, in virtual time.

It stands in for a FleetProcess where the outcome depends on time-outs: no answer is late because the machine
is busy, and nobody waits for one that does not come. Do not hold requests here: with nothing to do, the time
passes at once in which the client waits for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from facho.engine.schedule.runner import SnmpLoop
from facho.sim.fleet import Fleet, FleetConfig
from facho.sim.olt import Address
from facho.sim.process import ProcessReport
from facho.sim.scenario import Scenario
from tests.virtual_time import VirtualTimeLoop

T = TypeVar("T")
_BEGAN: Final = 1_700_000_000.0


class VirtualFleet:
    """`with VirtualFleet(FleetConfig()) as fleet: fleet.addresses`; ask through `fleet.snmp`."""

    def __init__(self, config: FleetConfig) -> None:
        self._loop = VirtualTimeLoop()
        self._fleet = Fleet(config, lambda: _BEGAN + self._loop.time())
        self.snmp = SnmpLoop(self._loop)
        self.addresses: tuple[Address, ...] = ()

    def __enter__(self) -> Self:
        self.snmp.__enter__()
        self.snmp.submit(self._fleet.__aenter__()).result()
        self.addresses = tuple(olt.address for olt in self._fleet.olts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.snmp.submit(self._fleet.__aexit__(kind, error, trace)).result()
        self.snmp.__exit__()

    def time(self) -> float:
        return self._loop.time()

    def clock(self) -> float:
        """Return the time of day of the OLTs, in seconds since 1970."""
        return _BEGAN + self._loop.time()

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which nobody asks."""
        self._in_loop(lambda: self._loop.advance(seconds))

    def moved(self, olt: int, row: int, direction: int, at: float) -> int:
        """Return what an ONU has moved up to a moment, by the account of the simulator."""
        # It changes nothing, so that it need not be done in the loop.
        return self._fleet.olts[olt].model.traffic.onu_moved(row, direction, at)

    def report(self) -> ProcessReport:
        return self._in_loop(lambda: ProcessReport(tuple(olt.report() for olt in self._fleet.olts), 0.0, 0))

    def set_scenario(self, scenario: Scenario, olt: int | None = None) -> None:
        """For one OLT, or for all of them."""

        def change() -> None:
            for each in self._fleet.olts if olt is None else [self._fleet.olts[olt]]:
                each.scenario = scenario

        self._in_loop(change)

    def call(self, olt: int, method: str, *arguments: Any) -> None:
        self._in_loop(lambda: getattr(self._fleet.olts[olt], method)(*arguments))

    def _in_loop(self, do: Callable[[], T]) -> T:
        """Progress is told in the loop itself; everybody else is in another thread."""
        if asyncio._get_running_loop() is self._loop:
            return do()

        async def done() -> T:
            return do()

        return self.snmp.submit(done()).result()
