"""`facho olt`: the OLTs that are collected from."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import (
    AUTH_ENV,
    PRIV_ENV,
    Address,
    AsJson,
    AuthPasswordEnv,
    AuthProtocol,
    CommunityEnv,
    CommunityText,
    Context,
    Credentials,
    PrivPasswordEnv,
    PrivProtocol,
    SnmpVersion,
    UserName,
    VersionName,
    refuse,
    target_of,
)
from facho.snmp.address import parse_address

if TYPE_CHECKING:
    from facho.config import Config
    from facho.snmp import Target

app = typer.Typer(no_args_is_help=True, help="The OLTs: add, test, list, enable, disable and remove them.")

_EXIT_CODES: Final = "Exit codes: 0 done, 1 the system is not well, 2 bad use, 3 no answer, 4 it refused."
_EXAMPLES_ADD: Final = f"""
**Examples**

`OLT_COMMUNITY=... facho olt add olt-7 10.0.0.7 --community-env OLT_COMMUNITY`  finds out the brand

`facho olt add olt-8 10.0.0.8:1161 --community-stdin --site Centro < community.txt`

`facho olt add olt-9 10.0.0.9 -v 3 --user monitor --auth SHA-256 --priv AES`  asks for the passwords

`facho olt add olt-10 10.0.0.10 --brand zte --no-test`  one that is not there yet

{_EXIT_CODES}
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho olt list`

`facho olt list --site Centro --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho olt show olt-7`  what is known about it: health, PON ports, nodes

`facho olt show olt-7 --json`

Credentials are never shown.
"""
_EXAMPLES_PLAN: Final = """
**Examples**

`facho olt plan olt-7`  what it will do in this hour: when, for how long, and who waits for whom

`facho olt plan olt-7 --json`
"""
_EXAMPLES_OUTAGES: Final = """
**Examples**

`facho olt outages`  ports whose ONUs went together: a power cut, or a cut fibre

`facho olt outages olt-7 --open --json`
"""
_EXAMPLES_TEST: Final = f"""
**Examples**

`facho olt test olt-7`  asks it what it is, with the credentials that are stored

{_EXIT_CODES}
"""
_EXAMPLES_IMPORT: Final = """
**Examples**

`facho olt import olts.csv`  adds all of them, or none when a line is broken

`OLT_COMMUNITY=... facho olt import olts.csv --community-env OLT_COMMUNITY --keep-going`

The first line names the columns: `name` and `address`, and of `port`, `version`, `community`, `brand`,
`site`, `user`, `auth`, `auth_password`, `priv`, `priv_password`, `context`, `max_in_flight`, `max_varbinds`
and `shortest_interval_s` those that are needed. Without a brand it is detected.

Exit codes: 0 all were added, 2 nothing was saved, 5 some lines were broken and the others saved.
"""
_EXAMPLES_ENABLE: Final = """
**Examples**

`facho olt enable olt-7 olt-8`  their jobs run again after one full interval

`facho olt enable --all`
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho olt disable olt-7`  nothing more is asked, and what runs there stops
"""
_EXAMPLES_REMOVE: Final = """
**Examples**

`facho olt remove olt-7`  says what would be lost with it, and asks

`facho olt remove olt-7 --yes --json`  for scripts
"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the OLT.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of OLTs.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]
Test = Annotated[bool, typer.Option("--test/--no-test", help="Ask it first, or save it unseen.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    address: Address,
    version: SnmpVersion = VersionName.V2C,
    community: CommunityText = None,
    community_env: CommunityEnv = None,
    community_stdin: Annotated[
        bool, typer.Option("--community-stdin", help="Read the community from standard input.")
    ] = False,
    user: UserName = None,
    auth: AuthProtocol = None,
    priv: PrivProtocol = None,
    auth_password_env: AuthPasswordEnv = AUTH_ENV,
    priv_password_env: PrivPasswordEnv = PRIV_ENV,
    context: Context = "",
    brand: Annotated[str, typer.Option(help="Name of a profile; auto finds out.")] = "auto",
    site: Annotated[str, typer.Option(help="Where it is.")] = "",
    max_in_flight: Annotated[int | None, typer.Option(help="Requests under way at once, at most.")] = None,
    max_varbinds: Annotated[int | None, typer.Option(help="Values in one request, at most.")] = None,
    max_rate: Annotated[float | None, typer.Option(help="Requests per second, at most.")] = None,
    shortest_interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="No job may run more often than this, as 5m.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds to wait for each answer.")] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="How often to ask again.")] = None,
    test: Test = True,
    as_json: AsJson = False,
) -> None:
    """Add an OLT, after asking it what it is."""
    if community_stdin:
        if community is not None or community_env is not None:
            refuse("give one of --community, --community-env and --community-stdin")
        community = sys.stdin.readline().rstrip("\r\n")
    who = Credentials(
        version, community, community_env, user, auth, priv, auth_password_env, priv_password_env, context
    )
    with system() as config:
        from facho.apps.hosts.credentials import Credentials as Stored
        from facho.cli.acting import olts
        from facho.engine.commands.input_checks import parse_seconds
        from facho.engine.commands.olts import NewOlt, OltLimits

        target = _target(address, who, timeout, retries, config)
        stored = Stored(user=target.user) if target.user else Stored(community=target.community)
        shortest = (
            None if shortest_interval is None else parse_seconds(shortest_interval, "shortest_interval")
        )
        limits = OltLimits(max_in_flight, max_varbinds, max_rate, shortest)
        new = NewOlt(name, target.host, target.port, version.value, stored, brand, site, limits)
        olts.add(new, target, test=test, as_json=as_json)


def _target(
    address: str, who: Credentials, timeout: float | None, retries: int | None, config: Config
) -> Target:
    target = target_of(
        address,
        who,
        config.request_timeout.total_seconds() if timeout is None else timeout,
        config.request_retries if retries is None else retries,
    )
    return replace(target, port=parse_address(address, config.snmp_port)[1])


@app.command("list", epilog=_EXAMPLES_LIST)
def list_olts(
    site: Annotated[str | None, typer.Option(help="Only those of this site.")] = None,
    brand: Annotated[str | None, typer.Option(help="Only those of this brand.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the OLTs."""
    with system():
        from facho.cli.acting import olts

        olts.list_olts(site, brand, as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show an OLT: its health, its PON ports and its nodes."""
    with system():
        from facho.cli.acting import olts

        olts.show(name, as_json=as_json)


@app.command(epilog=_EXAMPLES_PLAN)
def plan(name: Name, as_json: AsJson = False) -> None:
    """Show what an OLT will do in this hour."""
    with system() as config:
        from facho.cli.acting import plans

        plans.show(name, config, as_json=as_json)


@app.command(epilog=_EXAMPLES_OUTAGES)
def outages(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only those of this OLT.")] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only those that are not over.")] = False,
    as_json: AsJson = False,
) -> None:
    """List outages of PON ports, the last one first."""
    with system():
        from facho.cli.acting.outages import list_outages

        list_outages(name, only_open=only_open, as_json=as_json)


@app.command("test", epilog=_EXAMPLES_TEST)
def ask_olt(
    name: Name,
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds to wait for each answer.")] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="How often to ask again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask an OLT what it is, or say what is wrong."""
    with system():
        from facho.cli.acting import olts

        olts.test(name, timeout, retries, as_json=as_json)


@app.command("import", epilog=_EXAMPLES_IMPORT)
def import_olts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Comma-separated values, in UTF-8.")],
    community_env: CommunityEnv = None,
    test: Test = True,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Save the good lines although others are broken.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add the OLTs of a file."""
    community = None if community_env is None else os.environ.get(community_env)
    if community_env is not None and community is None:
        refuse(f"the environment has no variable {community_env}")
    with system() as config:
        from facho.cli.acting.olt_file import import_file

        import_file(file, community, config, test=test, keep_going=keep_going, as_json=as_json)


@app.command(epilog=_EXAMPLES_ENABLE)
def enable(names: Names = None, every: All = False, as_json: AsJson = False) -> None:
    """Let OLTs be asked again."""
    _switch(names, every, as_json, on=True)


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(names: Names = None, every: All = False, as_json: AsJson = False) -> None:
    """Let OLTs alone: nothing is asked, nothing counts."""
    _switch(names, every, as_json, on=False)


@app.command(epilog=_EXAMPLES_REMOVE)
def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove an OLT, with its ONUs and all its history."""
    with system() as config:
        from facho.cli.acting import olts

        olts.remove(name, config, yes=yes, as_json=as_json)


def _switch(names: list[str] | None, every: bool, as_json: bool, *, on: bool) -> None:
    if bool(names) == every:
        refuse("give names, or --all")
    with system() as config:
        from facho.cli.acting import olts

        olts.switch(names or (), on=on, every_olt=every, config=config, as_json=as_json)
