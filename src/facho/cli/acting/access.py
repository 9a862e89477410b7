"""Accounts and tokens on a terminal."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import typer
from django.contrib.auth.models import User

from facho.apps.access.models import ApiToken
from facho.apps.access.selectors import role_of_account
from facho.apps.db.clock import database_now
from facho.cli.acting.showing import clock, print_json, print_rows
from facho.config import current
from facho.engine.commands.input_checks import parse_seconds
from facho.engine.commands.tokens import create_token
from facho.engine.commands.users import user_named

_USERS: Final = ("name", "role", "enabled", "last_login")
_TOKENS: Final = ("owner", "name", "role", "begins", "state", "expires_at", "last_used_at")


def list_users(*, as_json: bool) -> None:
    rows = [_user(user) for user in User.objects.order_by("username").prefetch_related("groups")]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _USERS, "There are no accounts: facho user add")


def _user(user: User) -> dict[str, Any]:
    role = role_of_account(user)
    return {
        "name": user.username,
        "role": role.slug if role is not None else None,
        "enabled": user.is_active,
        "last_login": user.last_login,
    }


def add_token(user: str, name: str, role: str, lasting: str, *, as_json: bool) -> None:
    now = database_now()
    end = now + timedelta(seconds=parse_seconds(lasting, "expires_at")) if lasting else None
    made = create_token(user_named(user, "owner"), name, role, now, expires_at=end)
    if as_json:
        print_json({**_token(made.token, now), "token": made.secret})
        return
    until = clock(made.token.expires_at, current().time_zone)
    typer.echo(f"Added {made.token.name} of {user}, {made.token.role}, until {until}.")
    typer.echo(f"Token: {made.secret}  (it is not shown again)")


def list_tokens(user: str, *, as_json: bool) -> None:
    tokens = ApiToken.objects.select_related("owner").order_by("owner__username", "name")
    if user:
        tokens = tokens.filter(owner=user_named(user, "owner"))
    now = database_now()
    rows = [_token(token, now) for token in tokens]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _TOKENS, "There are no tokens: facho token add")


def _token(token: ApiToken, now: datetime) -> dict[str, Any]:
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
