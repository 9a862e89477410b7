"""`facho user`: accounts and their roles."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.errors import refuse
from facho.cli.output import AsJson, print_list
from facho.cli.system import system
from facho.core.roles import Role

if TYPE_CHECKING:
    from django.contrib.auth.models import User

app = typer.Typer(no_args_is_help=True, help="Accounts: who may log in, and what they may do.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho user add ana`  a viewer, with a generated password that is shown once

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
_EXAMPLES_RENEW: Final = """
**Examples**

`facho user password ana`  generates one and shows it once; sessions of ana end

`facho user password ana --ask`
"""
_EXAMPLES_ZONE: Final = """
**Examples**

`facho user zone ana America/Santiago`

`facho user zone ana`  the operator's again (FACHO_TIME_ZONE)
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho user disable ana`  she is logged out, and her tokens are refused

`facho user enable ana`
"""


_COLUMNS: Final = ("name", "role", "enabled", "last_login")


class RoleOfPerson(enum.StrEnum):
    VIEWER = Role.VIEWER.slug
    OPERATOR = Role.OPERATOR.slug
    ADMINISTRATOR = Role.ADMINISTRATOR.slug


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]
Ask = Annotated[bool, typer.Option("--ask", help="Ask for the password, or read it from standard input.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    role: Annotated[RoleOfPerson, typer.Option(help="Role of the account.")] = RoleOfPerson.VIEWER,
    ask: Ask = False,
) -> None:
    """Add an account."""
    with system():
        from facho.engine.commands.users import add_user

        made = add_user(name, role, _read_password() if ask else None)
        typer.echo(f"Added {made.user.username}, {role}.")
        if not ask:
            _print_password(made.password)


@app.command("list", epilog=_EXAMPLES_LIST)
def list_users(as_json: AsJson = False) -> None:
    """List accounts and their roles."""
    with system():
        from django.contrib.auth.models import User

        users = User.objects.order_by("username").prefetch_related("groups")
        rows = [_user_row(user) for user in users]
        print_list(rows, _COLUMNS, "There are no accounts: facho user add", as_json=as_json)


def _user_row(user: User) -> dict[str, Any]:
    from facho.apps.access.selectors import role_of_account

    role = role_of_account(user)
    return {
        "name": user.username,
        "role": role.slug if role is not None else None,
        "enabled": user.is_active,
        "last_login": user.last_login,
    }


@app.command(epilog=_EXAMPLES_ROLE)
def role(name: Name, role: Annotated[RoleOfPerson, typer.Argument(help="The new role.")]) -> None:
    """Give an account another role."""
    with system():
        from facho.engine.commands.users import set_role, user_named

        set_role(user_named(name), role)
        typer.echo(f"{name} is {role} now.")


@app.command(epilog=_EXAMPLES_RENEW)
def password(name: Name, ask: Ask = False) -> None:
    """Give an account another password."""
    with system():
        from facho.engine.commands.users import set_password, user_named

        made = set_password(user_named(name), _read_password() if ask else None)
        typer.echo(f"{name} has another password now.")
        if not ask:
            _print_password(made)


@app.command(epilog=_EXAMPLES_ZONE)
def zone(
    name: Name,
    zone: Annotated[str, typer.Argument(metavar="[ZONE]", help="The time zone; else the operator's.")] = "",
) -> None:
    """Show the pages to an account in a time zone of its own."""
    with system() as config:
        from facho.engine.commands.users import set_time_zone, user_named

        set_time_zone(user_named(name), zone)
        typer.echo(f"{name} sees times in {zone or config.time_zone}.")


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(name: Name) -> None:
    """Disable an account: nobody can log in with it."""
    _switch(name, enabled=False)


@app.command(epilog=_EXAMPLES_DISABLE)
def enable(name: Name) -> None:
    """Enable an account again."""
    _switch(name, enabled=True)


def _switch(name: str, *, enabled: bool) -> None:
    with system():
        from facho.engine.commands.users import set_users_enabled, user_named

        set_users_enabled([user_named(name)], enabled=enabled)
        typer.echo(f"{'Enabled' if enabled else 'Disabled'} {name}.")


def _print_password(password: str) -> None:
    typer.echo(f"Password: {password}  (it is not shown again)")


def _read_password() -> str:
    """Read it from a prompt or standard input: every user of the machine can read command lines."""
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    if not (given := sys.stdin.readline().rstrip("\r\n")):
        refuse("--ask: there is no password on standard input")
    return given
