"""`facho token`: what programs get in with."""

from __future__ import annotations

import enum
from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson
from facho.core.roles import Role

app = typer.Typer(no_args_is_help=True, help="Tokens: what programs show to the API and to /metrics.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho token add grafana --user ana`  reads what ana sees; it is shown once

`facho token add prometheus --user ana --role metrics --for 365d`  reads /metrics, and nothing else

`facho token add deploy --user carla --role operator --for 30d --json`

A token is never above its owner, and is good for 90 days if nothing is said (FACHO_TOKEN_LASTS).

Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho token list`

`facho token list --user ana --json`
"""
_EXAMPLES_REVOKE: Final = """
**Examples**

`facho token revoke grafana --user ana`  from now on it is refused
"""


class RoleOfToken(enum.StrEnum):
    METRICS = Role.METRICS.slug
    VIEWER = Role.VIEWER.slug
    OPERATOR = Role.OPERATOR.slug
    ADMINISTRATOR = Role.ADMINISTRATOR.slug


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]
User = Annotated[str, typer.Option("--user", metavar="USER", help="Whose it is.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    user: User,
    role: Annotated[RoleOfToken, typer.Option(help="What it may do.")] = RoleOfToken.VIEWER,
    lasting: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30d, 365d.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a token, and show it once."""
    with system():
        from facho.cli.acting.access import add_token

        add_token(user, name, role, lasting, as_json=as_json)


@app.command("list", epilog=_EXAMPLES_LIST)
def list_(
    user: Annotated[str, typer.Option(metavar="USER", help="Only those of this user.")] = "",
    as_json: AsJson = False,
) -> None:
    """List tokens, without what they are."""
    with system():
        from facho.cli.acting.access import list_tokens

        list_tokens(user, as_json=as_json)


@app.command(epilog=_EXAMPLES_REVOKE)
def revoke(name: Name, user: User) -> None:
    """Refuse a token from now on."""
    with system():
        from facho.apps.db.clock import database_now
        from facho.engine.commands.tokens import revoke_tokens, token_named
        from facho.engine.commands.users import user_named

        revoke_tokens([token_named(user_named(user, "owner"), name).pk], database_now())
        typer.echo(f"Revoked {name} of {user}.")
