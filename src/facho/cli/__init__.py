"""The `facho` command: one module per group of commands, each registered in GROUPS."""

from typing import Annotated

import typer

from facho import __version__
from facho.cli import bench, collect, demo, distributed, job, keys, olt, onu, profile, sim, snmp, up, upkeep

# A group is a module of this package with a typer app named `app`. With a name its commands are
# `facho <name> <command>`; without one they stand at the top, as `facho <command>`.
GROUPS: tuple[tuple[str | None, typer.Typer], ...] = (
    (None, demo.app),
    (None, up.app),
    (None, distributed.app),
    (None, collect.app),
    ("olt", olt.app),
    ("job", job.app),
    ("onu", onu.app),
    ("keys", keys.app),
    (None, upkeep.app),
    ("snmp", snmp.app),
    ("profile", profile.app),
    (None, sim.app),
    ("bench", bench.app),
)

HELP = "Facho Deluxe: collects SNMP data from the OLTs of fibre operators, without hurting them."

# An empty line between two examples keeps them on lines of their own.
EXAMPLES = """
**Examples**

`facho demo`  starts a simulated fleet and walks it

`facho olt add olt-7 10.0.0.7 --community-stdin`  adds an OLT, after finding out what it is

`facho job add states --kind table --fact state --interval 5m --all`  asks all OLTs every five minutes

`facho doctor`  looks whether all is well

`facho snmp walk 10.0.0.1 1.3.6.1.2.1.2.2.1.2`  reads a column of a device

`facho profile try --address 10.0.0.1`  shows what facho makes of a device: ONUs, ports, boards

`facho sim --olts 10 --scenario slow`  starts simulated OLTs and leaves them running

`facho bench snmp`  measures the SNMP client beside others

`facho COMMAND --help`  tells what a command does, with examples of its own
"""

main = typer.Typer(
    name="facho",
    help=HELP,
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    # A traceback with local variables would print the community or the key it holds.
    pretty_exceptions_show_locals=False,
)
for _name, _group in GROUPS:
    main.add_typer(_group, name=_name)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"facho {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass
