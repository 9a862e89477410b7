"""`facho user`: who may log in, and what they may do."""

from __future__ import annotations

import enum
import sys
from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson, refuse
from facho.core.roles import Role

app = typer.Typer(no_args_is_help=True, help="Accounts: who may log in, and what they may do.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho user add ana`  a viewer, with a password that is made up and shown once

`facho user add beto --role operator --ask`  asks for the password

`facho user add carla --role administrator --ask < password.txt`

A viewer sees; an operator also runs, enables and acknowledges; an administrator also configures.

Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho user list`

`facho user list --json`
"""
_EXAMPLES_ROLE: Final = """
**Examples**

`facho user role ana operator`  at once; she logs in again
"""
_EXAMPLES_ANEW: Final = """
**Examples**

`facho user password ana`  a new one, made up and shown once; who was logged in as ana is not any more

`facho user password ana --ask`
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho user disable ana`  she is logged out, and her tokens are good for nothing

`facho user enable ana`
"""


class RoleOfPerson(enum.StrEnum):
    VIEWER = Role.VIEWER.slug
    OPERATOR = Role.OPERATOR.slug
    ADMINISTRATOR = Role.ADMINISTRATOR.slug


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]
Ask = Annotated[bool, typer.Option("--ask", help="Ask for the password, or read it from standard input.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    role: Annotated[RoleOfPerson, typer.Option(help="What they may do.")] = RoleOfPerson.VIEWER,
    ask: Ask = False,
) -> None:
    """Make an account."""
    with system():
        from facho.engine.commands.users import add_user

        made = add_user(name, role, _password() if ask else None)
        typer.echo(f"Added {made.user.username}, {role}.")
        if not ask:
            _show(made.password)


@app.command("list", epilog=_EXAMPLES_LIST)
def list_(as_json: AsJson = False) -> None:
    """List the accounts and their roles."""
    with system():
        from facho.cli.acting.access import list_users

        list_users(as_json=as_json)


@app.command(epilog=_EXAMPLES_ROLE)
def role(
    name: Name, role: Annotated[RoleOfPerson, typer.Argument(help="What they may do from now on.")]
) -> None:
    """Give an account another role."""
    with system():
        from facho.engine.commands.users import set_role, user_named

        set_role(user_named(name), role)
        typer.echo(f"{name} is {role} now.")


@app.command(epilog=_EXAMPLES_ANEW)
def password(name: Name, ask: Ask = False) -> None:
    """Give an account another password."""
    with system():
        from facho.engine.commands.users import set_password, user_named

        made = set_password(user_named(name), _password() if ask else None)
        typer.echo(f"{name} has another password now.")
        if not ask:
            _show(made)


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(name: Name) -> None:
    """Let nobody log in with an account any more."""
    _switch(name, enabled=False)


@app.command(epilog=_EXAMPLES_DISABLE)
def enable(name: Name) -> None:
    """Let an account that was disabled in again."""
    _switch(name, enabled=True)


def _switch(name: str, *, enabled: bool) -> None:
    with system():
        from facho.engine.commands.users import set_users_enabled, user_named

        set_users_enabled([user_named(name)], enabled=enabled)
        typer.echo(f"{'Enabled' if enabled else 'Disabled'} {name}.")


def _show(password: str) -> None:
    typer.echo(f"Password: {password}  (it is not shown again)")


def _password() -> str:
    """Never from the command line, where every user of the machine can read it."""
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    if not (given := sys.stdin.readline().rstrip("\r\n")):
        refuse("--ask: there is no password on standard input")
    return given
