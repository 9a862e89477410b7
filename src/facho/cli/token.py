"""`facho token`: access for programs."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.output import AsJson, format_time, print_json, print_list
from facho.cli.system import database_now, system
from facho.core.roles import Role

if TYPE_CHECKING:
    from facho.apps.access.models import ApiToken

app = typer.Typer(no_args_is_help=True, help="Tokens: access of programs to the API and to /metrics.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho token add grafana --user ana`  reads what ana sees; it is shown once

`facho token add prometheus --user ana --role metrics --for 365d`  reads /metrics, and nothing else

`facho token add deploy --user carla --role operator --for 30d --json`

A token never has more rights than its owner. It lasts 90 days if --for is not given (FACHO_TOKEN_LASTS).

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


_COLUMNS: Final = ("owner", "name", "role", "begins", "state", "expires_at", "last_used_at")


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
    role: Annotated[RoleOfToken, typer.Option(help="Role of the token.")] = RoleOfToken.VIEWER,
    lifetime: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30d, 365d.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a token, and show it once."""
    with system():
        from facho.engine.commands.input_checks import parse_seconds
        from facho.engine.commands.tokens import create_token
        from facho.engine.commands.users import user_named

        now = database_now()
        end = now + timedelta(seconds=parse_seconds(lifetime, "expires_at")) if lifetime else None
        made = create_token(user_named(user, "owner"), name, role, now, expires_at=end)
        if as_json:
            print_json({**_token_row(made.token, now), "token": made.secret})
            return
        until = format_time(made.token.expires_at)
        typer.echo(f"Added {made.token.name} of {user}, {made.token.role}, until {until}.")
        typer.echo(f"Token: {made.secret}  (it is not shown again)")


@app.command("list", epilog=_EXAMPLES_LIST)
def list_tokens(
    user: Annotated[str, typer.Option(metavar="USER", help="Only those of this user.")] = "",
    as_json: AsJson = False,
) -> None:
    """List tokens, without their secrets."""
    with system():
        from facho.apps.access.models import ApiToken
        from facho.engine.commands.users import user_named

        tokens = ApiToken.objects.select_related("owner").order_by("owner__username", "name")
        if user:
            tokens = tokens.filter(owner=user_named(user, "owner"))
        now = database_now()
        rows = [_token_row(token, now) for token in tokens]
        print_list(rows, _COLUMNS, "There are no tokens: facho token add", as_json=as_json)


def _token_row(token: ApiToken, now: datetime) -> dict[str, Any]:
    return {
        "owner": token.owner.username,
        "name": token.name,
        "role": token.role,
        "begins": token.begins,
        "state": str(token.state_at(now).value),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
        "last_used_at": token.last_used_at,
    }


@app.command(epilog=_EXAMPLES_REVOKE)
def revoke(name: Name, user: User) -> None:
    """Refuse a token from now on."""
    with system():
        from facho.engine.commands.tokens import revoke_tokens, token_named
        from facho.engine.commands.users import user_named

        revoke_tokens([token_named(user_named(user, "owner"), name).pk], database_now())
        typer.echo(f"Revoked {name} of {user}.")
