"""`facho olt`: the OLTs that are collected from."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from facho.cli.errors import exit_code_of, refuse
from facho.cli.olt import change
from facho.cli.output import AsJson, print_facts, print_json, print_list, print_outcome
from facho.cli.replanned import print_switched
from facho.cli.snmp_options import Address, CommunityEnv, CredentialOptions, target_of, with_credentials
from facho.cli.system import database_now, system
from facho.core.durations import about
from facho.snmp.transport import parse_address

if TYPE_CHECKING:
    from facho.apps.discovery.models import PortOutage
    from facho.config import Config
    from facho.engine.collect.identify import Identified
    from facho.engine.commands.connection_test import Silence
    from facho.snmp import Target

app = typer.Typer(no_args_is_help=True, help="OLTs: add, test, list, change and remove them.")

_EXIT_CODES: Final = "Exit codes: 0 done, 1 the system is not well, 2 bad use, 3 no answer, 4 it refused."
_EXAMPLES_ADD: Final = f"""
**Examples**

`OLT_COMMUNITY=... facho olt add olt-7 10.0.0.7 --community-env OLT_COMMUNITY`  detects the brand

`facho olt add olt-8 10.0.0.8:1161 --community-stdin --site Centro < community.txt`

`facho olt add olt-9 10.0.0.9 -v 3 --user monitor --auth SHA-256 --priv AES`  asks for the passwords

`facho olt add olt-10 10.0.0.10 --brand zte --no-test`  one that cannot be reached yet

{_EXIT_CODES}
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho olt list`

`facho olt list --site Centro --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho olt show olt-7`  its health, PON ports and nodes

`facho olt show olt-7 --json`

Credentials are never shown.
"""
_EXAMPLES_PLAN: Final = """
**Examples**

`facho olt plan olt-7`  its runs of this hour: when, for how long, and which wait for another

`facho olt plan olt-7 --json`
"""
_EXAMPLES_OUTAGES: Final = """
**Examples**

`facho olt outages`  ports whose ONUs went offline together: a power cut, or a cut fibre

`facho olt outages olt-7 --open --json`
"""
_EXAMPLES_TEST: Final = f"""
**Examples**

`facho olt test olt-7`  asks it what it is, with the stored credentials

{_EXIT_CODES}
"""
_EXAMPLES_IMPORT: Final = """
**Examples**

`facho olt import olts.csv`  adds all of them, or none when a line is broken

`OLT_COMMUNITY=... facho olt import olts.csv --community-env OLT_COMMUNITY --keep-going`

`facho olt import limits.csv --update --dry-run`  shows what would become of each line

The first line names the columns: `name` and `address`, and of `port`, `version`, `community`, `brand`,
`model`, `site`, `enabled`, `user`, `auth`, `auth_password`, `priv`, `priv_password`, `context`,
`max_in_flight`, `max_varbinds`, `max_requests_per_second` and `shortest_interval_s` (`300` or `5 min`)
those that are needed. Without a brand it is detected.

With --update the OLTs that exist are changed, by their name: an empty cell, or a column that is not there,
leaves what they have, and `default` in a limit sets that of the settings. Only `name` is needed then.

Exit codes: 0 all were saved, 2 nothing was saved, 5 some lines were broken and the others saved.
"""
_EXAMPLES_ENABLE: Final = """
**Examples**

`facho olt enable olt-7 olt-8`  their jobs run again after one full interval

`facho olt enable --all`
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho olt disable olt-7 --reason "new board"`  it is not asked any more, and its executions end
"""
_EXAMPLES_REMOVE: Final = """
**Examples**

`facho olt remove olt-7`  says which rows go with it, and asks

`facho olt remove olt-7 --yes --json`  for scripts
"""

_COLUMNS: Final = ("name", "brand", "model", "address", "site", "enabled", "state", "jobs", "onus", "reason")
_OUTAGE_COLUMNS: Final = ("olt", "port", "cause", "onus", "began_at", "ended_at", "lasted")
# The most outages that a terminal shows.
_MOST_OUTAGES: Final = 50

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the OLT.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of OLTs.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]
Test = Annotated[bool, typer.Option("--test/--no-test", help="Ask it first, or save it untested.")]
Timeout = Annotated[float | None, typer.Option(min=0.01, help="Seconds to wait for each answer.")]
Retries = Annotated[int | None, typer.Option(min=0, help="How often to ask again.")]


@app.command(epilog=_EXAMPLES_ADD)
@with_credentials
def add(
    name: Name,
    address: Address,
    credentials: CredentialOptions,
    community_stdin: Annotated[
        bool, typer.Option("--community-stdin", help="Read the community from standard input.")
    ] = False,
    port: Annotated[int | None, typer.Option(help="UDP port; the same as ADDRESS:PORT.")] = None,
    brand: Annotated[str, typer.Option(help="Name of a profile; auto detects it.")] = "auto",
    site: Annotated[str, typer.Option(help="Where it is.")] = "",
    max_in_flight: Annotated[int | None, typer.Option(help="Requests under way at once, at most.")] = None,
    max_varbinds: Annotated[int | None, typer.Option(help="Values in one request, at most.")] = None,
    max_rate: Annotated[float | None, typer.Option(help="Requests per second, at most.")] = None,
    shortest_interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="No job may run more often than this, as 5m.")
    ] = None,
    timeout: Timeout = None,
    retries: Retries = None,
    test: Test = True,
    as_json: AsJson = False,
) -> None:
    """Add an OLT, after asking it what it is."""
    if community_stdin:
        if credentials.community is not None or credentials.community_env is not None:
            refuse("give one of --community, --community-env and --community-stdin")
        credentials = replace(credentials, community=sys.stdin.readline().rstrip("\r\n"))
    with system() as config:
        from facho.apps.hosts.credentials import Credentials
        from facho.cli.olt.details import olt_row
        from facho.engine.commands.connection_test import Silence, ask
        from facho.engine.commands.input_checks import parse_seconds
        from facho.engine.commands.olt_addresses import port_of
        from facho.engine.commands.olts import AUTO, NewOlt, OltLimits, add_olt, brand_for, check_new

        target = _target(address, credentials, timeout, retries, config)
        if port is not None:
            if parse_address(address, port)[1] != port:
                refuse("the address has another port than --port")
            target = replace(target, port=port_of(port))
        stored = Credentials(user=target.user) if target.user else Credentials(community=target.community)
        shortest = (
            None if shortest_interval is None else parse_seconds(shortest_interval, "shortest_interval")
        )
        limits = OltLimits(max_in_flight, max_varbinds, max_rate, shortest)
        version = credentials.version.value
        new = NewOlt(name, target.host, target.port, version, stored, brand, site, limits)
        # Refuse before the OLT is asked what can be refused without it.
        check_new(new)
        if brand != AUTO or not test:
            brand_for(brand)
        detected = None
        if test:
            with Console(stderr=True).status(f"asking {target.host}"):
                answer = ask(target)
            if isinstance(answer, Silence):
                _refuse_silent(answer, "NAME" if brand == AUTO else brand)
            detected = answer
        olt = add_olt(new, detected=detected)
        if as_json:
            print_json({**olt_row(olt), "detected": detected and _identity_row(detected)})
            return
        typer.echo(f"Added {olt.name}: {olt.brand.title}{f', model {olt.model}' if olt.model else ''}.")
        if detected is not None:
            typer.echo(_explain_brand(detected, olt.brand.name, chosen=brand != AUTO))


def _target(
    address: str, credentials: CredentialOptions, timeout: float | None, retries: int | None, config: Config
) -> Target:
    target = target_of(
        address,
        credentials,
        config.request_timeout.total_seconds() if timeout is None else timeout,
        config.request_retries if retries is None else retries,
    )
    return replace(target, port=parse_address(address, config.snmp_port)[1])


def _refuse_silent(answer: Silence, brand: str) -> NoReturn:
    typer.echo(f"Error: {answer.reason}", err=True)
    typer.echo(f"Nothing was saved. To add it all the same: --brand {brand} --no-test", err=True)
    raise typer.Exit(exit_code_of(answer.error))


def _explain_brand(detected: Identified, brand: str, *, chosen: bool) -> str:
    detection = detected.detection
    if detection.profile == brand:
        return f"Detected as {detection.profile}: {detection.why}."
    note = f"Note: it looks like {detection.profile} ({detection.why}), and was added as {brand}"
    # A detected brand is not used when its profile is newer than the database.
    return f"{note}." if chosen else f"{note}: the database lacks {detection.profile}; run facho migrate."


def _identity_row(identified: Identified) -> dict[str, Any]:
    return {
        "brand": identified.detection.profile,
        "model": identified.detection.model or None,
        "why": str(identified.detection.why),
        "sys_descr": identified.sys_descr,
        "sys_object_id": identified.sys_object_id,
        "uptime_s": None if identified.uptime_s is None else int(identified.uptime_s),
    }


@app.command("list", epilog=_EXAMPLES_LIST)
def list_olts(
    site: Annotated[str | None, typer.Option(help="Only those of this site.")] = None,
    brand: Annotated[str | None, typer.Option(help="Only those of this brand.")] = None,
    as_json: AsJson = False,
) -> None:
    """List OLTs."""
    with system():
        from django.db.models import Count, Q

        from facho.apps.discovery.models import Onu
        from facho.apps.hosts.models import Olt
        from facho.apps.maintenance.selectors import olts_under_maintenance
        from facho.cli.olt.details import olt_row
        from facho.engine.commands.olts import brand_for

        enabled = Q(nodes__enabled=True, nodes__job__enabled=True)
        olts = (
            Olt.objects.select_related("brand", "model")
            .defer("credentials")
            .annotate(jobs=Count("nodes", filter=enabled))
        )
        if site is not None:
            olts = olts.filter(site=site)
        if brand is not None:
            olts = olts.filter(brand=brand_for(brand))
        onus = dict(Onu.objects.order_by().values_list("olt_id").annotate(Count("id")))
        maintained = olts_under_maintenance(database_now())
        rows = [
            {**olt_row(olt, maintained), "jobs": olt.jobs, "onus": onus.get(olt.id, 0)}
            # The grouping by Count drops the default order.
            for olt in olts.order_by("name")
        ]
        print_list(rows, _COLUMNS, "There are no OLTs yet: facho olt add", as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show an OLT: its health, its PON ports and its nodes."""
    with system():
        from facho.cli.olt.details import show_olt

        show_olt(name, as_json=as_json)


@app.command(epilog=_EXAMPLES_PLAN)
def plan(name: Name, as_json: AsJson = False) -> None:
    """Show the planned runs of an OLT in this hour."""
    with system() as config:
        from facho.cli.olt.planned_runs import show_plan

        show_plan(name, config, as_json=as_json)


@app.command(epilog=_EXAMPLES_OUTAGES)
def outages(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only those of this OLT.")] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only those that are not over.")] = False,
    as_json: AsJson = False,
) -> None:
    """List outages of PON ports, the last one first."""
    with system():
        from facho.apps.discovery.models import PortOutage
        from facho.engine.commands.olts import olt_named

        found = PortOutage.objects.filter(**({} if name is None else {"olt": olt_named(name)}))
        if only_open:
            found = found.filter(ended_at__isnull=True)
        if not as_json:
            found = found[:_MOST_OUTAGES]
        rows = [
            _outage_row(each, as_json=as_json)
            for each in found.select_related("olt").defer("olt__credentials", "onus")
        ]
        print_list(rows, _OUTAGE_COLUMNS, "No port had an outage.", as_json=as_json)


def _outage_row(outage: PortOutage, *, as_json: bool) -> dict[str, Any]:
    duration = None if outage.ended_at is None else outage.ended_at - outage.began_at
    seconds = None if duration is None else round(duration.total_seconds())
    times = {"began_at": outage.began_at, "ended_at": outage.ended_at}
    if as_json:
        affected = {"onus_affected": outage.onus_affected, "onus_known": outage.onus_known}
        place = {"olt": outage.olt.name, "port": outage.place, "cause": outage.cause}
        return {**place, **affected, **times, "seconds": seconds}
    return {
        "olt": outage.olt.name,
        "port": outage.place,
        "cause": outage.cause.replace("_", " "),
        "onus": f"{outage.onus_affected} of {outage.onus_known}",
        **times,
        "lasted": "" if seconds is None else about(timedelta(seconds=seconds)),
    }


@app.command("test", epilog=_EXAMPLES_TEST)
def check_olt(name: Name, timeout: Timeout = None, retries: Retries = None, as_json: AsJson = False) -> None:
    """Ask an OLT what it is, or say what is wrong."""
    with system():
        from facho.apps.hosts.credentials import Unreadable
        from facho.engine.commands.connection_test import Silence, check_connection
        from facho.engine.commands.olts import olt_named

        olt = olt_named(name)
        if isinstance(olt.credentials, Unreadable):
            raise olt.credentials.problem
        with Console(stderr=True).status(f"asking {olt.address}"):
            answer = check_connection(olt, timeout=timeout, retries=retries)
        if isinstance(answer, Silence):
            if as_json:
                print_json({"olt": name, "answers": False, "reason": str(answer.reason), "detected": None})
            else:
                typer.echo(f"Error: {answer.reason}", err=True)
            raise typer.Exit(exit_code_of(answer.error))
        identity = _identity_row(answer)
        if as_json:
            print_json({"olt": name, "answers": True, "reason": None, "detected": identity})
        else:
            typer.echo(f"{name} answers.")
            print_facts({**identity, "stored_as": olt.brand.name})


@app.command("import", epilog=_EXAMPLES_IMPORT)
def import_olts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV with commas or semicolons, in UTF-8.")],
    community_env: CommunityEnv = None,
    update: Annotated[bool, typer.Option("--update", help="Change the OLTs that exist already.")] = False,
    test: Test = True,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Save the good lines although others are broken.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be saved.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add the OLTs of a file, or change those that exist."""
    community = None if community_env is None else os.environ.get(community_env)
    if community_env is not None and community is None:
        refuse(f"the environment has no variable {community_env}")
    with system() as config:
        from facho.cli.olt.csv_import import Options, import_file

        options = Options(community, update, test, keep_going, dry_run, as_json)
        import_file(file, options, config)


app.command("change", epilog=change.EXAMPLES)(change.change)


@app.command(epilog=_EXAMPLES_ENABLE)
def enable(names: Names = None, every: All = False, as_json: AsJson = False) -> None:
    """Enable OLTs: they are asked again."""
    _switch(names or (), enabled=True, every=every, as_json=as_json)


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(
    names: Names = None,
    every: All = False,
    reason: Annotated[str, typer.Option("--reason", help="Why: it is shown with the OLT and recorded.")] = "",
    as_json: AsJson = False,
) -> None:
    """Disable OLTs: they are not asked, and their quotas do not count."""
    _switch(names or (), enabled=False, every=every, as_json=as_json, reason=reason)


@app.command()
def recover(names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of OLTs.")]) -> None:
    """Probe suspended OLTs now: the engine asks them at once, and resumes those that answer."""
    with system():
        from facho.engine.commands.olts import probe_olts_now

        probe_olts_now(names, database_now())
        typer.echo(f"Probed now by the engine: {', '.join(names)}.")


def _switch(names: Sequence[str], *, enabled: bool, every: bool, as_json: bool, reason: str = "") -> None:
    if bool(names) == every:
        refuse("give names, or --all")
    with system():
        from facho.apps.hosts.models import Olt
        from facho.engine.commands.olts import disable_olts, enable_olts

        if every:
            names = list(Olt.objects.filter(enabled=not enabled).values_list("name", flat=True))
        now = database_now()
        replanned = enable_olts(names, now) if enabled else disable_olts(names, now, reason)
        print_switched("OLT", names, replanned, enabled=enabled, as_json=as_json)


@app.command(epilog=_EXAMPLES_REMOVE)
def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove an OLT, with its ONUs and all its history."""
    with system() as config:
        from facho.engine.commands.olts import count_rows_removed_with, remove_olt

        lost = count_rows_removed_with(name)
        if not yes:
            rows = ", ".join(f"{count} of {table}" for table, count in lost.items() if count)
            typer.echo(f"With {name} go {rows or 'no rows of anything'}.", err=True)
            typer.confirm("Remove it for good?", abort=True, err=True)
        with Console(stderr=True).status(f"removing {name}"):
            remove_olt(name, database_now(), config)
        print_outcome({"removed": name, "rows": lost}, f"Removed {name}.", as_json=as_json)
