"""The options of commands that talk to a device: address, credentials, time-outs.

Secrets are never needed on the command line, where every user of the machine can read them: a community may
come from the environment, and SNMPv3 passwords come from there or from a prompt.
"""

from __future__ import annotations

import enum
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Annotated, Any, Final

import typer

from facho.cli.errors import refuse
from facho.snmp import Oid, SnmpError, Target, Version
from facho.snmp.transport import parse_address
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
Retries = Annotated[int, typer.Option(min=0, help="How often to ask again without an answer.")]
Deadline = Annotated[float, typer.Option(min=0.01, help="Seconds for the whole command.")]

AUTH_ENV: Final = "FACHO_AUTH_PASSWORD"
PRIV_ENV: Final = "FACHO_PRIV_PASSWORD"


@dataclass(frozen=True, slots=True)
class CredentialOptions:
    """The values of the credential options. Only `community` is secret: passwords are read later."""

    version: SnmpVersion = VersionName.V2C
    community: CommunityText = field(default=None, repr=False)
    community_env: CommunityEnv = None
    user: UserName = None
    auth: AuthProtocol = None
    priv: PrivProtocol = None
    auth_password_env: AuthPasswordEnv = AUTH_ENV
    priv_password_env: PrivPasswordEnv = PRIV_ENV
    context: Context = ""


def with_credentials(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all credential options; it receives them as its one argument `credentials`."""
    options = inspect.signature(CredentialOptions, eval_str=True).parameters

    def run(**values: Any) -> None:
        credentials = CredentialOptions(**{name: values.pop(name) for name in options})
        command(credentials=credentials, **values)

    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        each.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in own
        for each in (options.values() if parameter.name == "credentials" else [parameter])
    ]
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def target_of(
    address: str, credentials: CredentialOptions, timeout: float = 3.0, retries: int = 2, *, bulk: bool = True
) -> Target:
    """Return the target of these options; refuse options that do not fit together."""
    try:
        host, port = parse_address(address)
        version = credentials.version.version
        if version is Version.V3:
            return Target(
                host,
                port=port,
                version=version,
                timeout=timeout,
                retries=retries,
                bulk=bulk,
                user=_user(credentials),
            )
        if credentials.user or credentials.auth or credentials.priv:
            refuse("--user, --auth and --priv are for SNMPv3: add -v 3")
        return Target(host, _community(credentials), port, version, timeout, retries, bulk)
    except (SnmpError, ValueError) as error:
        refuse(str(error))


def parse_oids(texts: Iterable[str]) -> list[Oid]:
    try:
        return [Oid.parse(text) for text in texts]
    except SnmpError as error:
        refuse(str(error))


def _community(credentials: CredentialOptions) -> str:
    if credentials.community is not None and credentials.community_env is not None:
        refuse("give either --community or --community-env, not both")
    if credentials.community_env is None:
        return "public" if credentials.community is None else credentials.community
    value = os.environ.get(credentials.community_env)
    if value is None:
        refuse(f"the environment has no variable {credentials.community_env}")
    return value


def _user(credentials: CredentialOptions) -> User:
    if credentials.community is not None or credentials.community_env is not None:
        refuse("SNMPv3 has no community: give --user")
    if credentials.user is None:
        refuse("SNMPv3 needs --user")
    if credentials.priv and not credentials.auth:
        # Before anybody types a password in vain.
        refuse("SNMPv3 privacy needs authentication: give --auth too")
    auth = Auth[credentials.auth.name] if credentials.auth else None
    priv = Priv[credentials.priv.name] if credentials.priv else None
    return User(
        credentials.user,
        auth,
        read_password("authentication", credentials.auth_password_env) if auth else "",
        priv,
        read_password("privacy", credentials.priv_password_env) if priv else "",
        credentials.context,
    )


def read_password(kind: str, env: str) -> str:
    value = os.environ.get(env)
    if value is not None:
        return value
    if not sys.stdin.isatty():
        refuse(f"no {kind} password: put it into the environment variable {env}, or run this in a terminal")
    answer: str = typer.prompt(f"SNMPv3 {kind} password", hide_input=True, err=True)
    return answer
