"""`facho sim`: run simulated OLTs until Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
import uvloop
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from facho.sim.fleet import FAMILIES, MIXED, Fleet, FleetConfig, FleetError
from facho.sim.olt import SimulatedOlt
from facho.sim.presets import PRESETS, UnknownScenario, combine
from facho.sim.report import OltReport
from facho.sim.usm import AUTH_PASSWORD, PRIV_PASSWORD, SIMULATED_USERS

app = typer.Typer()

_SHOWN: Final = 20
_REFRESH_S: Final = 1.0
_WORDS: Final = {
    "requests": "requests",
    "get": "GET",
    "get_next": "GETNEXT",
    "get_bulk": "GETBULK",
    "set": "SET",
    "retransmissions": "retransmissions",
    "answers": "answers",
    "varbinds": "values",
    "bytes_in": "octets in",
    "bytes_out": "octets out",
    "queue_drops": "dropped, queue full",
    "lost_requests": "requests lost",
    "lost_answers": "answers lost",
    "unanswered": "kept silent",
    "unknown_community": "unknown community",
    "garbage": "garbage",
    "restarts": "restarts",
    "reports": "SNMPv3 reports",
    "unsolicited": "datagrams of a flood",
    "max_outstanding": "most at once",
    "overlaps": "overlapping executions",
}
_EXAMPLES: Final = """
**Examples**

`facho sim --olts 6 --onus 500`  six Huawei OLTs on ports 16100 to 16105

`facho sim --family mixed --scenario slow --scenario lossy`  weak agents at the end of a bad line

`facho sim --scenario slow --set queue=4`  the same with a shorter queue

`facho sim --olts 250 --onus 4000 --addresses`  a million ONUs on 127.1.0.1 and up, all on port 16100

`facho sim --list-users`  the SNMPv3 users that every simulated OLT knows, one for each protocol

`facho sim --recording walk.snmprec`  replays a recording of a real agent

`facho sim --profile acme.yaml`  a brand that only a vendor profile describes

`snmpbulkwalk -v2c -c public 127.0.0.1:16100 1.3.6.1.4.1.2011`  asks the first of them
"""


@app.command("sim", epilog=_EXAMPLES)
def sim(
    olts: Annotated[int, typer.Option(help="How many OLTs.", min=1)] = 1,
    onus: Annotated[int, typer.Option(help="How many ONUs each of them has.", min=0)] = 500,
    family: Annotated[
        str,
        typer.Option(
            help=f"Whose tables: {', '.join(FAMILIES)}, {MIXED}, or profiles with commas between them."
        ),
    ] = "huawei",
    base_port: Annotated[
        int, typer.Option(help="UDP port of the first OLT, the next ones follow; 0 takes free ones.", min=0)
    ] = 16100,
    addresses: Annotated[
        bool, typer.Option("--addresses", help="An address each (127.1.0.1, ...) instead of a port each.")
    ] = False,
    scenario: Annotated[
        list[str] | None, typer.Option(help="How they misbehave; repeat to combine.", show_default="plain")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A knob of the scenario, as name=value; repeat."),
    ] = None,
    community: Annotated[str, typer.Option(help="The community they answer to.")] = "public",
    recording: Annotated[
        Path | None, typer.Option(help="Replay this .snmprec file instead of a family.", metavar="FILE")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(help="Serve the tables of this vendor profile (YAML).", metavar="FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same fleet and the same faults.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print addresses and final report as a line of JSON each.")
    ] = False,
    list_scenarios: Annotated[
        bool, typer.Option("--list-scenarios", help="Show the scenarios and exit.")
    ] = False,
    list_users: Annotated[bool, typer.Option("--list-users", help="Show the SNMPv3 users and exit.")] = False,
) -> None:
    """Run a fleet of simulated OLTs on this machine, until Ctrl-C.

    They answer SNMPv1, v2c and v3 on loopback addresses, and report the requests they got.
    """
    console = Console()
    if list_scenarios:
        console.print(_scenario_table())
        return
    if list_users:
        console.print(f"Passwords: {AUTH_PASSWORD} and {PRIV_PASSWORD}", *SIMULATED_USERS, sep="\n")
        return
    try:
        config = FleetConfig(
            olts=olts,
            onus=onus,
            family=family,
            scenario=combine(scenario or (), settings or ()),
            community=community,
            seed=seed,
            base_port=base_port,
            addresses=addresses,
            recording=recording,
            profile=profile,
        )
        uvloop.run(_run(config, console, as_json))
    except (FleetError, UnknownScenario) as error:
        Console(stderr=True).print(Text(f"facho sim: {error}"), soft_wrap=True)
        raise typer.Exit(2) from error


async def _run(config: FleetConfig, console: Console, as_json: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with Fleet(config) as fleet:
        if as_json:
            _print_json({"addresses": [olt.address for olt in fleet.olts]})
            await stopping.wait()
            _print_json(_report_json(fleet))
        else:
            console.print(_address_table(fleet))
            await _watch(fleet, console, stopping)
            console.print(_final_report(fleet))


async def _watch(fleet: Fleet, console: Console, stopping: asyncio.Event) -> None:
    if not console.is_terminal:
        await stopping.wait()
        return
    before = fleet.report()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not stopping.is_set():
            now = fleet.report()
            live.update(_summary(before, now), refresh=True)
            before = now
            try:
                await asyncio.wait_for(stopping.wait(), _REFRESH_S)
            except TimeoutError:
                continue


def _print_json(message: object) -> None:
    typer.echo(json.dumps(message))


def _report_json(fleet: Fleet) -> dict[str, object]:
    return {
        "total": asdict(fleet.report()),
        "olts": [{"name": olt.name, "address": olt.address, **asdict(olt.report())} for olt in fleet.olts],
    }


def _scenario_table() -> Table:
    table = Table("scenario", "what it does", "knobs", box=None, pad_edge=False)
    for name, preset in PRESETS.items():
        knobs = ", ".join(
            f"{knob}={_format_setting(value)}" for knob, value in preset.scenario.changed().items()
        )
        table.add_row(Text(name), Text(preset.what), Text(knobs))
    return table


def _format_setting(value: object) -> str:
    """Format a value as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "yes" if value is True else str(value)


def _address_table(fleet: Fleet) -> Group:
    table = Table("OLT", "address", "ONUs", box=None, pad_edge=False)
    for olt in fleet.olts[:_SHOWN]:
        table.add_row(
            Text(olt.name), _address(olt), "" if fleet.config.recording else str(olt.model.shape.onus)
        )
    left = fleet.olts[_SHOWN:]
    if left:
        table.add_row(f"{len(left)} more", f"up to {_address(left[-1])}", "")
    return Group(table, Text("\nCtrl-C stops them.\n"))


def _address(olt: SimulatedOlt) -> str:
    return f"{olt.address[0]}:{olt.address[1]}"


def _summary(before: OltReport, now: OltReport) -> Text:
    requests = now.requests - before.requests
    values = now.varbinds - before.varbinds
    text = f"{requests:,} requests/s   {values:,} values/s   {now.requests:,} requests so far"
    for name in ("retransmissions", "queue_drops", "unknown_community", "garbage", "overlaps"):
        if getattr(now, name):
            text += f"   {_WORDS[name]}: {getattr(now, name):,}"
    return Text(text)


def _final_report(fleet: Fleet) -> Group:
    report = fleet.report()
    table = Table("counted", box=None, pad_edge=False)
    table.add_column("all", justify="right")
    shown = fleet.olts[:_SHOWN] if 1 < len(fleet.olts) <= 8 else []
    for olt in shown:
        table.add_column(Text(olt.name), justify="right")
    each = [olt.report() for olt in shown]
    for name, words in _WORDS.items():
        numbers = [getattr(one, name) for one in (report, *each)]
        if any(numbers) or name in ("requests", "answers", "overlaps"):
            table.add_row(words, *(f"{number:,}" for number in numbers))
    pairs = ", ".join(f"{first} and {second}" for first, second in report.overlapping)
    return Group(table, Text(f"\nOverlapping execution tags: {pairs}" if pairs else ""))
