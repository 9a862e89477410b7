"""The options with which a command is told whom to ask, and how: shared by all that talk to a device.

Secrets are never needed on the command line, where every user of the machine can read them: a community may
come from the environment, and SNMPv3 passwords come from there or from a prompt.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Final, NoReturn

import typer

from facho.cli.exits import Exit
from facho.snmp import Oid, SnmpError, Target, Version
from facho.snmp.address import parse_address
from facho.snmp.usm import Auth, Priv, User


class VersionName(enum.StrEnum):
    V1 = "1"
    V2C = "2c"
    V3 = "3"

    @property
    def version(self) -> Version:
        return {"1": Version.V1, "2c": Version.V2C, "3": Version.V3}[self.value]


class AuthName(enum.StrEnum):
    MD5 = Auth.MD5.label
    SHA1 = Auth.SHA1.label
    SHA224 = Auth.SHA224.label
    SHA256 = Auth.SHA256.label
    SHA384 = Auth.SHA384.label
    SHA512 = Auth.SHA512.label


class PrivName(enum.StrEnum):
    DES = Priv.DES.label
    AES128 = Priv.AES128.label
    AES192 = Priv.AES192.label
    AES256 = Priv.AES256.label
    AES192C = Priv.AES192C.label
    AES256C = Priv.AES256C.label


Address = Annotated[
    str, typer.Argument(metavar="ADDRESS[:PORT]", help="IPv4, [IPv6] or name; port 161 if none.")
]
Oids = Annotated[list[str], typer.Argument(metavar="OID...", help="Numbers with dots: 1.3.6.1.2.1.1.1.0")]
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
UserName = Annotated[str | None, typer.Option("--user", metavar="NAME", help="SNMPv3 user.")]
AuthProtocol = Annotated[
    AuthName | None, typer.Option("--auth", help="SNMPv3 authentication; its password is asked for.")
]
PrivProtocol = Annotated[
    PrivName | None,
    typer.Option(
        "--priv", help="SNMPv3 encryption; its password is asked for. -C: the key is stretched as Cisco does."
    ),
]
AuthPasswordEnv = Annotated[
    str, typer.Option(metavar="NAME", help="Environment variable with the authentication password.")
]
PrivPasswordEnv = Annotated[
    str, typer.Option(metavar="NAME", help="Environment variable with the privacy password.")
]
Context = Annotated[str, typer.Option(metavar="NAME", help="SNMPv3 context.")]
Timeout = Annotated[float, typer.Option(min=0.01, help="Seconds to wait for each answer.")]
Retries = Annotated[int, typer.Option(min=0, help="How often to ask again when none comes.")]
Deadline = Annotated[float, typer.Option(min=0.01, help="Seconds for all of it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

AUTH_ENV: Final = "FACHO_AUTH_PASSWORD"
PRIV_ENV: Final = "FACHO_PRIV_PASSWORD"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the options said about who asks. Nothing in it is secret but `community`."""

    version: VersionName
    community: str | None = field(default=None, repr=False)
    community_env: str | None = None
    user: str | None = None
    auth: AuthName | None = None
    priv: PrivName | None = None
    auth_password_env: str = AUTH_ENV
    priv_password_env: str = PRIV_ENV
    context: str = ""


def target_of(
    address: str, who: Credentials, timeout: float = 3.0, retries: int = 2, *, bulk: bool = True
) -> Target:
    """Ends the program with a sentence and exit code 2 when the options do not make sense."""
    try:
        host, port = parse_address(address)
        version = who.version.version
        if version is Version.V3:
            return Target(
                host, port=port, version=version, timeout=timeout, retries=retries, bulk=bulk, user=_user(who)
            )
        if who.user or who.auth or who.priv:
            refuse("--user, --auth and --priv are for SNMPv3: add -v 3")
        return Target(host, _community(who), port, version, timeout, retries, bulk)
    except (SnmpError, ValueError) as error:
        refuse(str(error))


def oids_of(texts: Iterable[str]) -> list[Oid]:
    try:
        return [Oid.parse(text) for text in texts]
    except SnmpError as error:
        refuse(str(error))


def refuse(message: str) -> NoReturn:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(Exit.BAD_USE)


def _community(who: Credentials) -> str:
    if who.community is not None and who.community_env is not None:
        refuse("give either --community or --community-env, not both")
    if who.community_env is None:
        return "public" if who.community is None else who.community
    value = os.environ.get(who.community_env)
    if value is None:
        refuse(f"the environment has no variable {who.community_env}")
    return value


def _user(who: Credentials) -> User:
    if who.community is not None or who.community_env is not None:
        refuse("SNMPv3 has no community: give --user")
    if who.user is None:
        refuse("SNMPv3 needs --user")
    if who.priv and not who.auth:
        # Before anybody types a password in vain.
        refuse("SNMPv3 privacy needs authentication: give --auth too")
    auth = Auth[who.auth.name] if who.auth else None
    priv = Priv[who.priv.name] if who.priv else None
    return User(
        who.user,
        auth,
        _password("authentication", who.auth_password_env) if auth else "",
        priv,
        _password("privacy", who.priv_password_env) if priv else "",
        who.context,
    )


def _password(kind: str, env: str) -> str:
    value = os.environ.get(env)
    if value is not None:
        return value
    if not sys.stdin.isatty():
        refuse(f"no {kind} password: put it into the environment variable {env}, or run this in a terminal")
    answer: str = typer.prompt(f"SNMPv3 {kind} password", hide_input=True, err=True)
    return answer
