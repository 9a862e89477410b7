"""A fleet in a process of its own, so that its cost is not mixed with what is measured.

Parent and child exchange lines of JSON over the standard streams of the child: it reads the configuration and
writes the addresses, then answers every order with a report. It ends with its input, so that it never
outlives the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, Final, Self

import uvloop

from facho.sim.fleet import Fleet, FleetConfig, FleetError
from facho.sim.gate import PATIENCE_S, Gate, too_few_held
from facho.sim.model import Cause
from facho.sim.olt import Address
from facho.sim.report import OltReport, total
from facho.sim.scenario import Scenario
from facho.snmp.values import Oid

_METHODS: Final = (
    "restart", "silence", "take_offline", "bring_back", "cut_fibre", "cut_power", "restore"
)  # fmt: skip
_PATHS: Final = ("recording", "profile")
_ENDS_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class ProcessReport:
    olts: tuple[OltReport, ...]
    cpu_s: float
    max_rss_bytes: int

    @property
    def total(self) -> OltReport:
        return total(self.olts)


@dataclass(frozen=True, slots=True)
class ServedRow:
    """The index of a row, in dots, and its values before they are encoded."""

    index: str
    values: tuple[Any, ...]


class FleetGate:
    """A Gate of an OLT in another process: it is used in the same way."""

    def __init__(self, ask: Callable[[dict[str, Any]], Any], number: int) -> None:
        self._ask = ask
        self._number = number

    @property
    def held(self) -> int:
        """Return how many requests it has held so far, repetitions included."""
        return int(self._ask({"gate": self._number})["held"])

    def wait_until_held(self, count: int = 1, seconds: float = PATIENCE_S) -> None:
        """Block until so many requests were held. Raises TimeoutError."""
        until = time.monotonic() + seconds
        while (held := self.held) < count:
            if time.monotonic() > until:
                raise TimeoutError(too_few_held(held, count, seconds))
            time.sleep(_POLL_S)

    def release(self) -> None:
        """Serve the held requests as if they came now, and hold no more. Does nothing the second time."""
        self._ask({"gate": self._number, "release": True})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class FleetProcess:
    """`with FleetProcess(FleetConfig(olts=10)) as fleet: fleet.addresses`; afterwards, `fleet.final`."""

    def __init__(self, config: FleetConfig, *, prebuilt: bool = False) -> None:
        self.config = config
        self._order = {"config": _config_to_json(config), "prebuilt": prebuilt}
        self._child: subprocess.Popen[str] | None = None
        self.addresses: tuple[Address, ...] = ()
        self.final: ProcessReport | None = None

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "facho.sim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for the parent, which ends the child in its own time.
            start_new_session=True,
        )
        try:
            ready = self._ask(json.dumps(self._order))
            if "error" in ready:
                raise FleetError(ready["error"])
        except BaseException:
            self._end()
            raise
        self.addresses = tuple((host, port) for host, port in ready["addresses"])
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with contextlib.suppress(FleetError):
                self.final = self.report()
        finally:
            self._end()

    def report(self) -> ProcessReport:
        """Return the numbers so far. CPU time counts from when the fleet was ready."""
        return self._order_report({})

    def set_scenario(self, scenario: Scenario, olt: int | None = None) -> None:
        """Set the scenario of one OLT, or of all."""
        self._order_report({"scenario": scenario.changed(), "olt": olt})

    def call(self, olt: int, method: str, *arguments: Any) -> None:
        """Call a method of an OLT, such as `cut_fibre` or `restart`."""
        if method not in _METHODS:
            raise ValueError(f"an OLT in another process can {', '.join(_METHODS)}, not {method}")
        values = [each.value if isinstance(each, Cause) else each for each in arguments]
        self._order_report({"method": method, "arguments": values, "olt": olt})

    @property
    def pid(self) -> int:
        if self._child is None:
            raise FleetError("the process of the simulated fleet has not been started")
        return self._child.pid

    def values(self, olt: int, rows: Sequence[int], columns: Sequence[str], at: float) -> list[ServedRow]:
        """Return rows as the OLT served them at a moment, by the names of columns in the simulator.

        Past and future moments are possible as long as nobody changes the state of the OLT.
        """
        order = {"values": {"rows": list(rows), "columns": list(columns), "at": at}, "olt": olt}
        found = self._ask(json.dumps(order))["rows"]
        return [ServedRow(each["index"], tuple(each["values"])) for each in found]

    def hold(self, olt: int, *, skip: int = 0, under: str = "") -> FleetGate:
        """As `SimulatedOlt.hold`: hold the requests to an OLT until the gate is released."""
        if not 0 <= olt < len(self.addresses):
            raise ValueError(f"there is no OLT {olt}: they are 0 to {len(self.addresses) - 1}")
        if under:
            Oid.parse(under)
        opened = self._ask(json.dumps({"hold": {"skip": skip, "under": under}, "olt": olt}))
        return FleetGate(lambda order: self._ask(json.dumps(order)), opened["gate"])

    def _order_report(self, order: dict[str, Any]) -> ProcessReport:
        answer = self._ask(json.dumps(order))
        return ProcessReport(
            tuple(_report_from_json(olt) for olt in answer["olts"]), answer["cpu_s"], answer["max_rss_bytes"]
        )

    def _ask(self, line: str) -> Any:
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            raise FleetError("the process of the simulated fleet has not been started")
        try:
            child.stdin.write(line + "\n")
            child.stdin.flush()
            answer = child.stdout.readline()
        except OSError as error:
            raise FleetError("the process of the simulated fleet has ended") from error
        if not answer:
            raise FleetError("the process of the simulated fleet has ended")
        return json.loads(answer)

    def _end(self) -> None:
        child = self._child
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            child.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def serve(source: IO[str], sink: IO[str]) -> None:
    """Run one fleet in the child, from the first line of `source` to its end."""
    order = json.loads(source.readline())

    def write(message: object) -> None:
        sink.write(json.dumps(message) + "\n")
        sink.flush()

    try:
        uvloop.run(_serve(_config_from_json(order["config"]), order["prebuilt"], source, write))
    except FleetError as error:
        write({"error": str(error)})


async def _serve(
    config: FleetConfig, prebuilt: bool, source: IO[str], write: Callable[[object], None]
) -> None:
    async with Fleet(config) as fleet:
        if prebuilt:
            for olt in fleet.olts:
                olt.build_all()
        gates: list[Gate] = []
        started = time.process_time()
        write({"addresses": [olt.address for olt in fleet.olts]})
        while line := await asyncio.to_thread(source.readline):
            order = json.loads(line)
            if "hold" in order or "gate" in order:
                write(_execute_gate(fleet, gates, order))
                continue
            if "values" in order:
                write({"rows": fleet.olts[order["olt"]].served_rows(**order["values"])})
                continue
            _execute(fleet, order)
            write(
                {
                    "olts": [asdict(olt.report()) for olt in fleet.olts],
                    "cpu_s": time.process_time() - started,
                    "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                }
            )


def _execute(fleet: Fleet, order: dict[str, Any]) -> None:
    if "scenario" in order:
        scenario = _scenario_from_json(order["scenario"])
        for olt in fleet.olts if order["olt"] is None else [fleet.olts[order["olt"]]]:
            olt.scenario = scenario
    if "method" in order:
        arguments = [Cause(each) if isinstance(each, str) else each for each in order["arguments"]]
        getattr(fleet.olts[order["olt"]], order["method"])(*arguments)


def _execute_gate(fleet: Fleet, gates: list[Gate], order: dict[str, Any]) -> dict[str, int]:
    if "hold" in order:
        gates.append(fleet.olts[order["olt"]].hold(**order["hold"]))
        return {"gate": len(gates) - 1}
    gate = gates[order["gate"]]
    if order.get("release"):
        gate.release()
    return {"held": gate.held}


def _config_to_json(config: FleetConfig) -> dict[str, Any]:
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    values["scenario"] = config.scenario.changed()
    for name in _PATHS:
        values[name] = None if values[name] is None else str(values[name])
    return values


def _config_from_json(values: dict[str, Any]) -> FleetConfig:
    paths = {name: None if values[name] is None else Path(values[name]) for name in _PATHS}
    scenario = _scenario_from_json(values["scenario"])
    return FleetConfig(**{**values, "scenario": scenario, **paths})


def _scenario_from_json(values: dict[str, Any]) -> Scenario:
    knobs: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return Scenario(**knobs)


def _report_from_json(values: dict[str, Any]) -> OltReport:
    pairs = tuple((first, second) for first, second in values["overlapping"])
    return OltReport(**{**values, "overlapping": pairs})
