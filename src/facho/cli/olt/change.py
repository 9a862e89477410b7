"""`facho olt change`: its options. What it does is in `bulk_change`, which needs Django."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from facho.cli.errors import refuse
from facho.cli.output import AsJson
from facho.cli.snmp_options import AUTH_ENV, PRIV_ENV, CommunityEnv, VersionName, read_password
from facho.cli.system import system

EXAMPLES: Final = """
**Examples**

`facho olt change olt-7 --address 10.0.0.77 --new-site Norte`

`facho olt change --all --community-ask --test`  one community for all, after each OLT answered with it

`NEW=... facho olt change --site Centro --brand zte --community-env NEW --yes --json`  for scripts

`facho olt change olt-7 olt-8 --max-rate 50 --max-varbinds default --dry-run`

`facho olt change olt-9 -v 3 --user monitor --auth SHA-256 --priv AES`  asks for the passwords

It shows what will change and asks; scripts use --yes. All OLTs are changed, or none. The port is part of the
address, `10.0.0.7:1161`, or of --port. A limit `default` is that of the settings.

Exit codes: 0 done, 2 bad use, nothing was changed, 3 and 4 with --test: an OLT gave no answer, or refused.
"""


def change(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of OLTs.")] = None,
    site: Annotated[str | None, typer.Option(help="All OLTs of this site.")] = None,
    brand: Annotated[str | None, typer.Option(help="All OLTs of this brand.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All OLTs.")] = False,
    new_name: Annotated[str | None, typer.Option(metavar="TEXT", help="Another name; of one OLT.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS[:PORT]", help="Another address; of one OLT.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Another UDP port.")] = None,
    new_site: Annotated[str | None, typer.Option(metavar="TEXT", help="Another site; '' for none.")] = None,
    new_brand: Annotated[str | None, typer.Option(metavar="NAME", help="Another brand.")] = None,
    new_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another model of its brand; '' for none.")
    ] = None,
    version: Annotated[VersionName | None, typer.Option("-v", "--version", help="SNMP version.")] = None,
    community: Annotated[
        str | None,
        typer.Option("--community", metavar="TEXT", help="Community. Others can see it in `ps`."),
    ] = None,
    community_env: CommunityEnv = None,
    community_stdin: Annotated[
        bool, typer.Option("--community-stdin", help="Read the community from standard input.")
    ] = False,
    community_ask: Annotated[bool, typer.Option("--community-ask", help="Ask for the community.")] = False,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="SNMPv3 user.")] = None,
    auth: Annotated[
        str | None,
        typer.Option(metavar="PROTOCOL|none", help="SNMPv3 authentication; its password is asked for."),
    ] = None,
    priv: Annotated[
        str | None,
        typer.Option(metavar="PROTOCOL|none", help="SNMPv3 encryption; its password is asked for."),
    ] = None,
    auth_password_env: Annotated[
        str, typer.Option(metavar="NAME", help="Environment variable with the authentication password.")
    ] = AUTH_ENV,
    priv_password_env: Annotated[
        str, typer.Option(metavar="NAME", help="Environment variable with the privacy password.")
    ] = PRIV_ENV,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="SNMPv3 context.")] = None,
    max_in_flight: Annotated[
        str | None, typer.Option(metavar="N|default", help="Requests under way at once, at most.")
    ] = None,
    max_varbinds: Annotated[
        str | None, typer.Option(metavar="N|default", help="Values in one request, at most.")
    ] = None,
    max_rate: Annotated[
        str | None, typer.Option(metavar="N|default", help="Requests per second, at most.")
    ] = None,
    shortest_interval: Annotated[
        str | None,
        typer.Option(metavar="TIME|default", help="No job may run more often than this, as 5m."),
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Whether they are asked.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Ask them first, with the new settings.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change OLTs: one, or many at once."""
    if not (yes or dry_run) and (community_stdin or not sys.stdin.isatty()):
        refuse("nobody can be asked for confirmation here: add --yes, or --dry-run to see what would change")
    with system() as config:
        from facho.cli.olt.bulk_change import Selection, change_olts, limits_from
        from facho.cli.olt.wanted import WantedOlt
        from facho.engine.commands.credentials import CredentialFields

        credentials = CredentialFields(
            community=_read_community(community, community_env, stdin=community_stdin, ask=community_ask),
            user=user or "",
            auth=auth or "",
            auth_password=_read_secret("authentication", auth, auth_password_env),
            priv=priv or "",
            priv_password=_read_secret("privacy", priv, priv_password_env),
            context=context or "",
        )
        wanted = WantedOlt(
            name=new_name,
            address=address,
            port=port,
            version=version.value if version else None,
            credentials=credentials,
            brand=new_brand,
            model=new_model,
            site=new_site,
            limits=limits_from(max_in_flight, max_varbinds, max_rate, shortest_interval),
            enabled=enabled,
        )
        selection = Selection(tuple(names or ()), site, brand, every)
        change_olts(selection, wanted, config, test=test, dry_run=dry_run, yes=yes, as_json=as_json)


def _read_community(text: str | None, env: str | None, *, stdin: bool, ask: bool) -> str:
    if sum((text is not None, env is not None, stdin, ask)) > 1:
        refuse("give one of --community, --community-env, --community-stdin and --community-ask")
    if env is not None:
        text = os.environ.get(env)
        if text is None:
            refuse(f"the environment has no variable {env}")
    elif stdin:
        text = sys.stdin.readline().rstrip("\r\n")
    elif ask:
        text = typer.prompt("Community", hide_input=True, confirmation_prompt=True, err=True)
    if text == "" or (text is None and (stdin or ask)):
        refuse("the community is empty")
    return text or ""


def _read_secret(kind: str, protocol: str | None, env: str) -> str:
    return "" if protocol in (None, "none") else read_password(kind, env)
