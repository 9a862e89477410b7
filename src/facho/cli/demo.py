"""`facho demo`: a simulated fleet on this machine, walked again and again, with a table to look at."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import typer
import uvloop
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from facho.sim.fleet import FleetConfig, FleetError
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from facho.snmp import Client, Oid, Target, Value, WalkResult

app = typer.Typer()

_HUAWEI: Final = "1.3.6.1.4.1.2011.6.128.1.1.2"
_ZTE: Final = "1.3.6.1.4.1.3902.1012.3.28"


@dataclass(frozen=True, slots=True)
class Family:
    """Which columns to walk: serial, description and state, and the state that means online."""

    name: str
    columns: tuple[Oid, Oid, Oid]
    online: int

    @property
    def state(self) -> Oid:
        return self.columns[2]


# As a fleet of mixed families has them, in turn.
_FAMILIES: Final = (
    Family(
        "Huawei",
        (Oid.parse(f"{_HUAWEI}.43.1.3"), Oid.parse(f"{_HUAWEI}.43.1.9"), Oid.parse(f"{_HUAWEI}.46.1.15")),
        online=1,
    ),
    Family(
        "ZTE",
        (Oid.parse(f"{_ZTE}.1.1.5"), Oid.parse(f"{_ZTE}.1.1.3"), Oid.parse(f"{_ZTE}.2.1.4")),
        online=3,
    ),
)
_SCENARIOS: Final = ("plain", "plain", "slow", "flaky", "plain", "flapping")
_ONUS: Final = 500
_REFRESH_S: Final = 0.5
_EXAMPLES: Final = """
**Examples**

`facho demo`  six simulated OLTs, walked every ten seconds, until Ctrl-C

`facho demo --rounds 1`  walk them once, show the table, and end
"""


@dataclass(slots=True)
class Watched:
    """One OLT and what its last walk said."""

    name: str
    family: Family
    scenario: str
    address: tuple[str, int]
    rows: int = 0
    walking: bool = False
    walks: int = 0
    last: WalkResult | None = None
    changed: int = 0
    states: dict[bytes, Value] = field(default_factory=dict)

    def progress(self, rows: int) -> None:
        self.rows += rows

    def finish(self, result: WalkResult) -> None:
        self.last = result
        self.walks += 1
        states = result.columns[self.family.state].rows
        if result.complete:
            # Rows of a walk that is not complete say nothing about those that are missing.
            self.changed = sum(states.get(index) != state for index, state in self.states.items())
            self.states = states

    @property
    def online(self) -> int:
        return sum(state == self.family.online for state in self.states.values())


@app.command(epilog=_EXAMPLES)
def demo(
    rounds: Annotated[
        int, typer.Option(min=0, help="Walk so many times and end; 0 goes on until Ctrl-C.")
    ] = 0,
    every: Annotated[float, typer.Option(min=1.0, help="Seconds from one walk to the next.")] = 10.0,
) -> None:
    """Start six simulated OLTs and walk them, with a live table."""
    config = FleetConfig(olts=len(_SCENARIOS), onus=_ONUS, family="mixed")
    try:
        with FleetProcess(config) as fleet:
            for number, scenario in enumerate(_SCENARIOS):
                fleet.set_scenario(PRESETS[scenario].scenario, number)
            with contextlib.suppress(KeyboardInterrupt):
                uvloop.run(_watch(_watched(fleet.addresses), rounds, every))
    except FleetError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from error


def _watched(addresses: Sequence[tuple[str, int]]) -> list[Watched]:
    families = [_FAMILIES[number % len(_FAMILIES)] for number in range(len(addresses))]
    return [
        Watched(f"{family.name.lower()}-{number}", family, scenario, address)
        for number, (family, scenario, address) in enumerate(
            zip(families, _SCENARIOS, addresses, strict=True)
        )
    ]


async def _watch(olts: list[Watched], rounds: int, every: float) -> None:
    console = Console()
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    async with Client() as client:
        with live or contextlib.nullcontext():
            drawing = asyncio.ensure_future(_redraw(live, olts)) if live else None
            try:
                await asyncio.gather(*(_walk_regularly(client, olt, rounds, every, console) for olt in olts))
            finally:
                if drawing:
                    drawing.cancel()
                if live:
                    live.update(_picture(olts), refresh=True)
    if live is None:
        console.print(_picture(olts))


async def _redraw(live: Live, olts: list[Watched]) -> None:
    while True:
        live.update(_picture(olts), refresh=True)
        await asyncio.sleep(_REFRESH_S)


async def _walk_regularly(client: Client, olt: Watched, rounds: int, every: float, console: Console) -> None:
    """On a fixed grid: a walk that takes long does not shift the next ones, and one that takes too long skips
    some.
    """
    started = time.monotonic()
    host, port = olt.address
    agent = await client.agent(Target(host, "public", port, timeout=1.0))
    while True:
        olt.walking, olt.rows = True, 0
        result = await agent.walk_table(olt.family.columns, deadline=60.0, progress=olt.progress)
        olt.walking = False
        olt.finish(result)
        if not console.is_terminal:
            said = "complete" if result.complete else result.reason
            console.print(f"{olt.name}: {len(olt.states)} ONUs, {olt.online} online; {said}")
        if olt.walks == rounds:
            return
        elapsed = time.monotonic() - started
        await asyncio.sleep(every - elapsed % every)


def _picture(olts: list[Watched]) -> Group:
    table = Table(
        title="Simulated OLTs, walked with facho's own SNMP client", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in ("OLT", "behaves"):
        table.add_column(heading, no_wrap=True)
    for heading in ("port", "ONUs", "online", "new", "took", "asked", "lost"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("walk")
    for olt in olts:
        table.add_row(*_cells(olt))
    values = sum(olt.last.load.varbinds for olt in olts if olt.last)
    footer = (
        f"{values:,} values in the last walks. new: ONUs whose state changed since the walk before.\n"
        "Nothing here leaves this machine. Ctrl-C ends it."
    )
    return Group(table, Text(footer, style="dim"))


def _cells(olt: Watched) -> list[str | Text]:
    cells: list[str | Text] = [olt.name, olt.scenario, str(olt.address[1])]
    if olt.last is None:
        return [*cells, *[""] * 6, _verdict(olt)]
    load = olt.last.load
    numbers = (f"{len(olt.states):,}", f"{olt.online:,}", f"{olt.changed:,}", f"{load.seconds:.2f} s")
    return [*cells, *numbers, str(load.requests), str(load.timeouts), _verdict(olt)]


def _verdict(olt: Watched) -> Text:
    if olt.walking or olt.last is None:
        return Text(f"{olt.rows:,} rows", style="yellow")
    return Text("complete", style="green") if olt.last.complete else Text(f"{olt.last.reason}", style="red")
