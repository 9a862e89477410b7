"""The options that say which agent to ask and how, the same in every command that asks one."""

from __future__ import annotations

import enum
import os
from typing import Annotated, Final, NoReturn

import typer

from facho.snmp import SnmpError, Target, Version
from facho.snmp.address import parse_address

BAD_USE: Final = 2


class VersionName(enum.StrEnum):
    V1 = "1"
    V2C = "2c"


SnmpVersion = Annotated[VersionName, typer.Option("-v", "--version", help="SNMP version.")]
CommunityText = Annotated[
    str | None,
    typer.Option(
        "--community", metavar="TEXT", help="Community, 'public' if none. Others can see it in `ps`."
    ),
]
CommunityEnv = Annotated[
    str | None,
    typer.Option("--community-env", metavar="NAME", help="Environment variable that holds the community."),
]
Timeout = Annotated[float, typer.Option(min=0.01, help="Seconds to wait for each answer.")]
Retries = Annotated[int, typer.Option(min=0, help="How often to ask again when none comes.")]
Deadline = Annotated[float, typer.Option(min=0.01, help="Seconds for all of it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def target_of(
    address: str,
    version: VersionName,
    community: str | None,
    community_env: str | None,
    timeout: float,
    retries: int,
    *,
    bulk: bool,
) -> Target:
    try:
        host, port = parse_address(address)
    except SnmpError as error:
        refuse(str(error))
    return Target(
        host,
        _community(community, community_env),
        port,
        Version.V1 if version is VersionName.V1 else Version.V2C,
        timeout,
        retries,
        bulk,
    )


def _community(text: str | None, env: str | None) -> str:
    if text is not None and env is not None:
        refuse("give either --community or --community-env, not both")
    if env is None:
        return "public" if text is None else text
    value = os.environ.get(env)
    if value is None:
        refuse(f"the environment has no variable {env}")
    return value


def refuse(message: str) -> NoReturn:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(BAD_USE)
