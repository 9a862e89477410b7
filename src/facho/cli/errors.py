"""Exit codes, the same in every command, and the two ways to end with an error."""

from __future__ import annotations

import enum
from typing import NoReturn

import typer

from facho.snmp import SnmpError
from facho.snmp.errors import AddressError, AgentRefused, NoAnswer, SecurityError, TooBig, UnreadableRows


class Exit(enum.IntEnum):
    COMPLETE = 0
    # The settings, the database, the keys or the requested work failed.
    FAILED = 1
    BAD_USE = 2
    NO_ANSWER = 3
    REFUSED = 4
    INCOMPLETE = 5


def exit_code_of(error: SnmpError) -> Exit:
    """Return the exit code for a device from which nothing was read because of this error."""
    match error:
        case NoAnswer():
            return Exit.NO_ANSWER
        case AgentRefused() | SecurityError() | TooBig() | UnreadableRows():
            return Exit.REFUSED
        case AddressError():
            return Exit.BAD_USE
        case _:
            return Exit.INCOMPLETE


def fail_device(error: SnmpError) -> NoReturn:
    """End the program because nothing could be read from a device."""
    typer.echo(f"Error: {error}", err=True)
    raise typer.Exit(exit_code_of(error)) from error


def refuse(message: str) -> NoReturn:
    """End the program because the command was used wrongly."""
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(Exit.BAD_USE)


def fail(message: str) -> NoReturn:
    """End the program because the system is not well."""
    typer.echo("\n".join(f"Error: {line}" for line in message.splitlines()), err=True)
    raise typer.Exit(Exit.FAILED)
