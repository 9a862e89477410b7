"""The `facho` command: one module per group of commands, registered below."""

from typing import Annotated

import typer

from facho import __version__

HELP = """
Facho Deluxe: collects SNMP data from the OLTs of fibre operators, without hurting them.
"""

main = typer.Typer(
    name="facho",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="markdown",
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
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
