"""`facho job`: what is asked of OLTs, and how often."""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from facho.cli.errors import Exit, refuse
from facho.cli.job import edit
from facho.cli.output import (
    AsJson,
    format_seconds,
    format_time,
    print_facts,
    print_json,
    print_list,
    print_outcome,
    print_rows,
)
from facho.cli.replanned import print_replanned, print_switched
from facho.cli.system import database_now, system
from facho.engine.commands.errors import CommandError

if TYPE_CHECKING:
    from facho.apps.executions.models import Execution
    from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost

app = typer.Typer(no_args_is_help=True, help="Jobs: what is asked, how often, and of which OLTs.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho job add discovery --kind discovery --brand huawei --interval 1h --all`

`facho job add optics --kind get --brand huawei --fact onu_rx_dbm --fact olt_rx_dbm --interval 5m --olt olt-7`

`facho job add states --kind table --brand generic --fact state --fact port.state --interval 5m --all`

`facho job add ports --kind table --fact ports --interval 10m --all`  all facts of ports of each family

`facho job add names --kind get --brand zte --fact description --interval 1d --after discovery --all`

`facho job add fans --kind walk --brand zte --oid 1.3.6.1.4.1.3902.1015.2.1.3.10.10.10.1 --interval 10m`

Its load on each OLT is shown first, in minutes of work an hour. On a terminal it asks before it saves a job
with which not everything fits into the hours any more.

A new job runs for the first time after a minute. Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho job list`

`facho job list --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho job show optics`  its facts, and when it runs on each OLT

`facho job show optics --json`
"""
_EXAMPLES_CHANGE: Final = """
**Examples**

`facho job change optics --interval 10m`  the next run is after the new interval

`facho job change names --after discovery`  after each discovery, on OLTs that have both

`facho job change names --alone --priority 30`

`facho job change optics --fact onu_rx_dbm --fact olt_rx_dbm --max-attempts 5 --retry-delay 1m`

Facts and OIDs that are given replace all that it has. Its brand and kind cannot change: `facho job duplicate`
copies a job, `facho job add` makes one of another kind.
"""
_EXAMPLES_USUAL: Final = """
**Examples**

`facho job usual olt-7`  discovery, states, optics and the rest; the first discovery runs at once
"""
_EXAMPLES_TARGET: Final = """
**Examples**

`facho job target optics --site North`  attaches the OLTs of the site, and detaches all others

`facho job target optics --all`

`facho job target optics --selection`  keeps its OLTs; OLTs that are added later do not get it
"""
_EXAMPLES_ATTACH: Final = """
**Examples**

`facho job attach optics olt-7 olt-8`  the first runs are after a minute, spread when there are many

`facho job attach optics --all`  every OLT of its brand
"""
_EXAMPLES_SHIFT: Final = """
**Examples**

`facho job shift optics olt-7 2m`  as `facho olt plan olt-7` proposes
"""
_EXAMPLES_DETACH: Final = """
**Examples**

`facho job detach optics olt-7`  removes the node and its executions
"""
_EXAMPLES_ENABLE: Final = """
**Examples**

`facho job enable optics`  runs again after one full interval
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho job disable optics names`  waiting executions are aborted, running ones finish
"""
_EXAMPLES_RUN: Final = """
**Examples**

`facho job run optics --olt olt-7`  before all that waits; prints the number of the execution

`facho job run optics --olt olt-7 --wait --json`  and its result

Exit codes: 0 asked for, or with --wait: succeeded; 1 it failed, 2 bad use, 5 it has not ended in time.
"""


_COLUMNS: Final = (
    "name", "kind", "brand", "asks_for", "every", "priority", "task_type", "after", "target", "enabled",
    "olts",
)  # fmt: skip
_NODE_COLUMNS: Final = ("node", "olt", "enabled", "every", "next_run_at", "last_run_at", "suspended")
_LOOK_EVERY_S: Final = 0.3


class Kind(enum.StrEnum):
    DISCOVERY = "discovery"
    GET = "get"
    WALK = "walk"
    TABLE = "table"
    BULK = "bulk"


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of jobs.")]
OltNames = Annotated[list[str] | None, typer.Argument(metavar="[OLT]...", help="Names of OLTs.")]
All = Annotated[bool, typer.Option("--all", help="All OLTs of its brand.")]
Site = Annotated[str, typer.Option(metavar="SITE", help="All OLTs of a site, also those added later.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, also when not everything fits any more.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    kind: Annotated[Kind, typer.Option(help="How it asks.")],
    interval: Annotated[str, typer.Option(metavar="TIME", help="How often: 30s, 5m, '15 min', 1h.")],
    brand: Annotated[str, typer.Option(help="Brand of its OLTs; generic takes any.")] = "generic",
    fact: Annotated[list[str] | None, typer.Option(metavar="FACT", help="What to know, by name.")] = None,
    oid: Annotated[list[str] | None, typer.Option(metavar="OID", help="A column, as numbers.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 100; else by kind.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="Attempts of an execution.")] = None,
    retry_delay: Annotated[str | None, typer.Option(metavar="TIME", help="Time between attempts.")] = None,
    task_type: Annotated[str, typer.Option(help="The quota it counts for; else by kind and fact.")] = "",
    after: Annotated[str, typer.Option(metavar="JOB", help="The job that it runs after.")] = "",
    olt: Annotated[list[str] | None, typer.Option(metavar="OLT", help="Attach it to this OLT.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All OLTs of its brand, also those added later.")
    ] = False,
    site: Site = "",
    enabled: Annotated[bool, typer.Option("--enabled/--disabled", help="Whether it runs.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Add a job, and attach it to OLTs."""
    if bool(olt) + every + bool(site) > 1:
        refuse("give one of --olt, --all and --site")
    with system() as config:
        from facho.cli.job.what_if import confirm_load
        from facho.engine.commands.jobs import NewJob, create_job
        from facho.engine.commands.what_if import change_of

        new = NewJob(
            name=name,
            brand=brand,
            kind=kind.value,
            interval=interval,
            facts=fact or (),
            oids=oid or (),
            priority=priority,
            max_attempts=max_attempts,
            retry_delay=retry_delay,
            task_type=task_type,
            master=after,
            olts=olt or (),
            enabled=enabled,
            target=_target(every=every, site=site),
            site=site,
        )
        what_if = confirm_load(change_of(new, (), None), config, as_json=as_json, yes=yes)
        job = create_job(new, database_now())
        if as_json:
            print_json({**_job_json(job), "what_if": what_if})
            return
        times = [node.next_run_at for node in job.nodes.all() if node.next_run_at is not None]
        on = f" on {job.nodes.count()} OLTs" if job.nodes.exists() else ", attached to no OLT yet"
        first = f", from {format_time(min(times))}" if times else ""
        typer.echo(f"Added {job.name}: every {format_seconds(job.interval_s)}{on}{first}.")


def _target(*, every: bool, site: str) -> str:
    return "site" if site else "all" if every else "selection"


def _olts_of_brand(brand: str) -> list[str]:
    """Return the names of all OLTs that a job of this brand can be attached to."""
    from facho.apps.hosts.models import Olt

    olts = Olt.objects.all() if brand == "generic" else Olt.objects.filter(brand__name=brand)
    return list(olts.values_list("name", flat=True))


@app.command("list", epilog=_EXAMPLES_LIST)
def list_jobs(as_json: AsJson = False) -> None:
    """List jobs."""
    with system():
        from django.db.models import Count

        from facho.apps.snmp_jobs.models import SnmpJob

        jobs = (
            SnmpJob.objects.select_related("brand", "master")
            .prefetch_related("oids")
            .annotate(on=Count("nodes"))
            .order_by("name")
        )
        rows = [{**_job_row(job), "olts": job.on} for job in jobs]
        print_list(rows, _COLUMNS, "There are no jobs yet: facho job add", as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a job and its nodes."""
    with system():
        from facho.engine.commands.jobs import job_named

        job = _job_json(job_named(name))
        print_json(job) if as_json else _print_job(job)


def _print_job(job: dict[str, Any]) -> None:
    nodes = job.pop("nodes")
    print_facts(job)
    typer.echo()
    print_rows(nodes, _NODE_COLUMNS, f"It is attached to no OLT yet: facho job attach {job['name']} OLT")


def _job_json(job: SnmpJob) -> dict[str, Any]:
    nodes = job.nodes.select_related("olt").defer("olt__credentials")
    return {
        **_job_row(job),
        "max_attempts": job.max_attempts,
        "retry_delay": format_seconds(job.retry_delay_s),
        "nodes": [_node_row(node, job) for node in nodes],
    }


def _job_row(job: SnmpJob) -> dict[str, Any]:
    return {
        "name": job.name,
        "kind": job.kind,
        "brand": job.brand.name,
        "asks_for": [*job.facts, *(oid.oid for oid in job.oids.all())],
        "every": format_seconds(job.interval_s),
        "priority": job.priority,
        "task_type": job.task_type,
        "after": job.master.name if job.master else None,
        "target": f"site {job.target_site}" if job.target_site else job.target,
        "enabled": job.enabled,
    }


def _node_row(node: SnmpJobHost, job: SnmpJob) -> dict[str, Any]:
    return {
        "node": node.id,
        "olt": node.olt.name,
        "enabled": node.enabled and job.enabled and node.olt.enabled,
        "every": format_seconds(node.interval_s or job.interval_s),
        "next_run_at": node.next_run_at,
        "last_run_at": node.last_run_at,
        "suspended": str(node.suspended_reason) or None,
    }


@app.command(epilog=_EXAMPLES_CHANGE)
def change(
    name: Name,
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="How often: 30s, 5m, '15 min', 1h.")
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="JOB", help="The job that it runs after.")] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Let it run after no other job.")] = False,
    priority: Annotated[int | None, typer.Option(help="1 to 100.")] = None,
    fact: Annotated[list[str] | None, typer.Option(metavar="FACT", help="Instead of all its facts.")] = None,
    no_facts: Annotated[bool, typer.Option("--no-facts", help="Remove all its facts.")] = False,
    oid: Annotated[list[str] | None, typer.Option(metavar="OID", help="Instead of all its OIDs.")] = None,
    no_oids: Annotated[bool, typer.Option("--no-oids", help="Remove all its OIDs.")] = False,
    max_attempts: Annotated[int | None, typer.Option(help="Attempts of an execution.")] = None,
    retry_delay: Annotated[str | None, typer.Option(metavar="TIME", help="Time between attempts.")] = None,
    task_type: Annotated[str | None, typer.Option(help="The quota it counts for.")] = None,
    new_name: Annotated[str | None, typer.Option(metavar="TEXT", help="Another name.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Change what a job asks for, and when it runs."""
    if (fact and no_facts) or (oid and no_oids):
        refuse("give either --fact or --no-facts, and either --oid or --no-oids")
    if after is not None and alone:
        refuse("give either --after or --alone")
    with system() as config:
        from facho.cli.job.what_if import confirm_load
        from facho.engine.commands.jobs import JobChanges, job_named, update_job
        from facho.engine.commands.what_if import change_of_job

        changes = JobChanges(
            name=new_name,
            facts=() if no_facts else fact or None,
            oids=() if no_oids else oid or None,
            priority=priority,
            max_attempts=max_attempts,
            retry_delay=retry_delay,
            task_type=task_type,
            interval=interval,
            master="" if alone else after,
        )
        if changes == JobChanges():
            refuse("say what to change: facho job change --help")
        weighs = interval is not None or changes.facts is not None or changes.oids is not None
        what_if = []
        if weighs:
            wanted = change_of_job(job_named(name), changes)
            what_if = confirm_load(wanted, config, as_json=as_json, yes=yes)
        job = _job_json(job_named(update_job(name, changes, database_now()).name))
        if not as_json:
            _print_job(job)
        else:
            print_json({**job, "what_if": what_if} if weighs else job)


app.command("duplicate", epilog=edit.EXAMPLES_DUPLICATE)(edit.duplicate)
app.command("remove", epilog=edit.EXAMPLES_REMOVE)(edit.remove)


@app.command(epilog=_EXAMPLES_TARGET)
def target(
    name: Name,
    every: Annotated[bool, typer.Option("--all", help="All OLTs of its brand.")] = False,
    site: Site = "",
    selection: Annotated[bool, typer.Option("--selection", help="The OLTs that it has now, alone.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Set which OLTs a job is for; all but a selection include OLTs that are added later."""
    if every + bool(site) + selection != 1:
        refuse("give one of --all, --site and --selection")
    with system() as config:
        from facho.cli.job.what_if import confirm_leaving, confirm_load
        from facho.engine.commands.jobs import JobChanges, job_named, olts_left_by, update_job
        from facho.engine.commands.what_if import change_of_job

        wanted = JobChanges(target=_target(every=every, site=site), site=site)
        what_if = []
        confirm_leaving(name, olts_left_by(job_named(name), wanted), as_json=as_json, yes=yes)
        if not selection:
            change = change_of_job(job_named(name), wanted)
            what_if = confirm_load(change, config, as_json=as_json, yes=yes)
        update_job(name, wanted, database_now())
        job = _job_json(job_named(name))
        print_json({**job, "what_if": what_if}) if as_json else _print_job(job)


@app.command(epilog=_EXAMPLES_ATTACH)
def attach(
    name: Name, olts: OltNames = None, every: All = False, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Attach a job to OLTs."""
    _check_names_or_all(olts, every)
    with system() as config:
        from facho.cli.job.what_if import confirm_load
        from facho.engine.commands.jobs import attach, job_named
        from facho.engine.commands.what_if import change_of

        job = job_named(name)
        names = _olts_of_brand(job.brand.name) if every else olts or ()
        what_if = confirm_load(change_of(name, names, None), config, as_json=as_json, yes=yes)
        attached = attach(name, names, database_now())
        print_replanned("OLT", names, "attached", attached, as_json=as_json, more={"what_if": what_if})


@app.command(epilog=_EXAMPLES_USUAL)
def usual(
    olt: Annotated[str, typer.Argument(metavar="OLT", help="Name of the OLT.")], as_json: AsJson = False
) -> None:
    """Attach the usual jobs of its family to an OLT; it shares them with others."""
    with system():
        from facho.engine.commands.olts import olt_named
        from facho.engine.commands.usual_jobs import start_usual_jobs, usual_jobs_for

        usual = usual_jobs_for(olt_named(olt))
        start_usual_jobs(olt, {each.offer: each.job.interval for each in usual}, database_now())
        names = [each.job.name for each in usual]
        print_outcome({"olt": olt, "jobs": names}, f"{olt} has: {', '.join(names)}.", as_json=as_json)


@app.command(epilog=_EXAMPLES_SHIFT)
def shift(
    name: Name,
    olt: Annotated[str, typer.Argument(metavar="OLT", help="Name of the OLT.")],
    by: Annotated[str, typer.Argument(metavar="TIME", help="How much later: 30s, 2m.")],
    as_json: AsJson = False,
) -> None:
    """Move the slots of a job on one OLT, so that it does not wait for others."""
    with system():
        from facho.engine.commands.nodes import shift_grid

        first = shift_grid(node_named(name, olt).id, by, database_now())
        sentence = f"{name} on {olt} runs {by} later from now on: next {format_time(first)}."
        print_outcome({"job": name, "olt": olt, "next_run_at": first}, sentence, as_json=as_json)


def node_named(name: str, olt: str) -> SnmpJobHost:
    from facho.engine.commands.jobs import job_named
    from facho.engine.commands.olts import olt_named

    node = job_named(name).nodes.filter(olt=olt_named(olt)).first()
    if node is None:
        raise CommandError("olt", f"{name} is not attached to {olt}: facho job attach {name} {olt}")
    return node


@app.command(epilog=_EXAMPLES_DETACH)
def detach(name: Name, olts: OltNames = None, every: All = False, as_json: AsJson = False) -> None:
    """Detach a job from OLTs."""
    _check_names_or_all(olts, every)
    with system():
        from facho.engine.commands.jobs import detach, job_named

        job = job_named(name)
        names = list(job.nodes.values_list("olt__name", flat=True)) if every else olts or ()
        print_replanned("OLT", names, "detached", detach(name, names, database_now()), as_json=as_json)


def _check_names_or_all(names: list[str] | None, every: bool) -> None:
    if bool(names) == every:
        refuse("give names of OLTs, or --all")


@app.command(epilog=_EXAMPLES_ENABLE)
def enable(names: Names, as_json: AsJson = False) -> None:
    """Enable jobs: they run again."""
    _switch(names, enabled=True, as_json=as_json)


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(names: Names, as_json: AsJson = False) -> None:
    """Disable jobs."""
    _switch(names, enabled=False, as_json=as_json)


def _switch(names: Sequence[str], *, enabled: bool, as_json: bool) -> None:
    with system():
        from facho.engine.commands.jobs import disable_jobs, enable_jobs

        replanned = (enable_jobs if enabled else disable_jobs)(names, database_now())
        print_switched("job", names, replanned, enabled=enabled, as_json=as_json)


@app.command(epilog=_EXAMPLES_RUN)
def run(
    name: Name,
    olt: Annotated[str, typer.Option(metavar="OLT", help="On which OLT.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    deadline: Annotated[float, typer.Option(min=0.01, help="Seconds to wait, at most.")] = 1800.0,
    as_json: AsJson = False,
) -> None:
    """Run a job now on an OLT."""
    with system() as config:
        from facho.apps.zabbix_pollers.selectors import read_workers
        from facho.core.pool import alive_workers
        from facho.engine.commands.runs import run_now

        execution_id = run_now(node_named(name, olt).id, database_now())
        if not wait:
            queued = {"execution": execution_id, "state": "WAITING"}
            print_outcome(queued, str(execution_id), as_json=as_json)
            return
        typer.echo(f"execution {execution_id}", err=True)
        if not alive_workers(read_workers(), database_now(), within=config.worker_seen_within):
            typer.echo("No worker is running: it starts when there is one.", err=True)
        _print_result(_wait_for_end(execution_id, time.monotonic() + deadline), as_json=as_json)


def _wait_for_end(execution_id: int, deadline: float) -> Execution:
    from facho.apps.executions.models import OPEN, Execution

    with Console(stderr=True).status("waiting") as status:
        while True:
            execution = Execution.objects.get(id=execution_id)
            if execution.state not in OPEN or time.monotonic() > deadline:
                return execution
            status.update(execution.state.lower())
            time.sleep(_LOOK_EVERY_S)


def _print_result(execution: Execution, *, as_json: bool) -> None:
    from facho.apps.executions.models import OPEN, State

    result = {
        "execution": execution.id,
        "state": execution.state,
        "error": str(execution.error) or None,
        "counts": execution.counts,
    }
    sentence = f"{execution.state}{f': {execution.error}' if execution.error else ''}"
    print_outcome(result, sentence, as_json=as_json)
    if execution.state in OPEN:
        raise typer.Exit(Exit.INCOMPLETE)
    if execution.state != State.SUCCESS:
        raise typer.Exit(Exit.FAILED)
