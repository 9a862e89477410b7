"""The `facho` command: one module per group of commands, imported when one of its commands is used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final

import typer
from typer.core import TyperGroup

from facho import __version__

# The module of each command. Its `app` has the command, or is the group of commands of that name.
COMMANDS: Final = {
    "demo": "demo",
    "up": "up",
    "engine": "up",
    "web": "up",
    "worker": "worker",
    "beat": "worker",
    "remote-write": "remote_write",
    "collect": "collect",
    "olt": "olt",
    "job": "job",
    "onu": "onu",
    "versions": "versions",
    "traffic": "traffic",
    "export": "export",
    "maintenance": "maintenance",
    "user": "user",
    "token": "token",
    "keys": "keys",
    "audit": "audit",
    "migrate": "migrate",
    "doctor": "doctor",
    "shell": "shell",
    "retention": "retention",
    "coordinator": "coordinator",
    "notify": "notify",
    "snmp": "snmp",
    "record": "record",
    "profile": "profile",
    "sim": "sim",
    "bench": "bench",
}
MARKUP: Final = "markdown"


class LazyGroup(TyperGroup):
    """Imports the module of a command when it is used: all at once take longer than most need to run."""

    package: ClassVar[str] = "facho.cli"
    # The module of `package` for each command.
    commands_in: ClassVar[Mapping[str, str]] = COMMANDS

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands_in, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands_in:
            return super().get_command(ctx, cmd_name)
        app = import_module(f"{self.package}.{self.commands_in[cmd_name]}").app
        app.rich_markup_mode = MARKUP
        whole = typer.main.get_command(app)
        command = getattr(whole, "commands", {}).get(cmd_name, whole)
        command.name = cmd_name
        return command


HELP = "Facho Deluxe: collects SNMP data from the OLTs of fibre operators, without hurting them."

# An empty line between two examples keeps them on lines of their own.
EXAMPLES = """
**Examples**

`facho demo`  the whole system against a simulated fleet

`facho olt add olt-7 10.0.0.7 --community-stdin`  adds an OLT, after detecting what it is

`facho job add states --kind table --fact state --interval 5m --all`  asks all OLTs every five minutes

`facho doctor`  checks the health of the system

`facho snmp walk 10.0.0.1 1.3.6.1.2.1.2.2.1.2`  reads a column of a device

`facho record olt-7 -o olt-7.snmprec --mask`  records an OLT in a file that can be shared

`facho profile try --address 10.0.0.1`  shows the facts of a device: ONUs, ports, boards

`facho sim --olts 10 --scenario slow`  starts simulated OLTs and leaves them running

`facho bench snmp`  measures the SNMP client beside others, in a source checkout

`facho COMMAND --help`  describes a command, with examples
"""

main = typer.Typer(
    name="facho",
    cls=LazyGroup,
    help=HELP,
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
    # A traceback with local variables would print the community or the key it holds.
    pretty_exceptions_show_locals=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"facho {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    version: Annotated[  # noqa: ARG001  its callback does it
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    from facho.file_modes import set_private_umask

    set_private_umask()
