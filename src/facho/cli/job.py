"""`facho job`: what is asked, how often, and of which OLTs."""

from __future__ import annotations

import enum
from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson, refuse

app = typer.Typer(no_args_is_help=True, help="The jobs: what is asked, how often, and of which OLTs.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho job add discovery --kind discovery --brand huawei --interval 1h --all`

`facho job add optics --kind get --brand huawei --fact onu_rx_dbm --fact olt_rx_dbm --interval 5m --olt olt-7`

`facho job add states --kind table --brand generic --fact state --fact port.state --interval 5m --all`

`facho job add ports --kind table --fact ports --interval 10m --all`  all that each OLT's family has of ports

`facho job add names --kind get --brand zte --fact description --interval 1d --after discovery --all`

`facho job add fans --kind walk --brand zte --oid 1.3.6.1.4.1.3902.1015.2.1.3.10.10.10.1 --interval 10m`

What it would do to each OLT is shown first, in minutes of work an hour. On a terminal it asks before it saves
a job with which not everything fits into the hours any more.

A new job runs for the first time after a minute. Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho job list`

`facho job list --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho job show optics`  what it asks for, and when it runs on each OLT

`facho job show optics --json`
"""
_EXAMPLES_CHANGE: Final = """
**Examples**

`facho job change optics --interval 10m`  it next runs after the new interval

`facho job change names --after discovery`  after each discovery, on OLTs that have both

`facho job change names --alone --priority 30`
"""
_EXAMPLES_USUAL: Final = """
**Examples**

`facho job usual olt-7`  discovery, states, optics and the rest; the first ONUs are looked for at once
"""
_EXAMPLES_ATTACH: Final = """
**Examples**

`facho job attach optics olt-7 olt-8`  first runs after a minute, spread when there are many

`facho job attach optics --all`  every OLT of its brand
"""
_EXAMPLES_SHIFT: Final = """
**Examples**

`facho job shift optics olt-7 2m`  as `facho olt plan olt-7` proposes it
"""
_EXAMPLES_DETACH: Final = """
**Examples**

`facho job detach optics olt-7`  the node is gone, and its executions with it
"""
_EXAMPLES_ENABLE: Final = """
**Examples**

`facho job enable optics`  runs again after one full interval
"""
_EXAMPLES_DISABLE: Final = """
**Examples**

`facho job disable optics names`  what waits is aborted, what runs finishes
"""
_EXAMPLES_RUN: Final = """
**Examples**

`facho job run optics --olt olt-7`  before everything that waits; prints the execution's number

`facho job run optics --olt olt-7 --wait --json`  and what came of it

Exit codes: 0 asked for, or with --wait: succeeded; 1 it failed, 2 bad use, 5 it has not ended in time.
"""


class Kind(enum.StrEnum):
    DISCOVERY = "discovery"
    GET = "get"
    WALK = "walk"
    TABLE = "table"
    BULK = "bulk"


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of jobs.")]
OltNames = Annotated[list[str] | None, typer.Argument(metavar="[OLT]...", help="Names of OLTs.")]
All = Annotated[bool, typer.Option("--all", help="All OLTs that it fits.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, also when not everything fits any more.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    kind: Annotated[Kind, typer.Option(help="How it asks.")],
    interval: Annotated[str, typer.Option(metavar="TIME", help="How often: 30s, 5m, 1h, 1d.")],
    brand: Annotated[str, typer.Option(help="Brand of its OLTs; generic takes any.")] = "generic",
    fact: Annotated[list[str] | None, typer.Option(metavar="FACT", help="What to know, by name.")] = None,
    oid: Annotated[list[str] | None, typer.Option(metavar="OID", help="A column, as numbers.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 100; else by kind.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="How often it is tried.")] = None,
    retry_delay: Annotated[str | None, typer.Option(metavar="TIME", help="Between two attempts.")] = None,
    task_type: Annotated[str, typer.Option(help="What its runs count as; else by kind and fact.")] = "",
    after: Annotated[str, typer.Option(metavar="JOB", help="The job that it runs after.")] = "",
    olt: Annotated[list[str] | None, typer.Option(metavar="OLT", help="Attach it to this OLT.")] = None,
    every: All = False,
    enabled: Annotated[bool, typer.Option("--enabled/--disabled", help="Whether it runs.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make a job, and attach it to OLTs."""
    if olt and every:
        refuse("give either --olt or --all")
    with system() as config:
        from facho.cli.acting import jobs
        from facho.engine.commands.jobs import NewJob

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
            olts=jobs.fitting_olts(brand) if every else olt or (),
            enabled=enabled,
        )
        jobs.add(new, config=config, as_json=as_json, yes=yes)


@app.command("list", epilog=_EXAMPLES_LIST)
def list_jobs(as_json: AsJson = False) -> None:
    """List the jobs."""
    with system():
        from facho.cli.acting import jobs

        jobs.list_jobs(as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a job and its nodes."""
    with system():
        from facho.cli.acting import jobs

        jobs.show(name, as_json=as_json)


@app.command(epilog=_EXAMPLES_CHANGE)
def change(
    name: Name,
    interval: Annotated[str | None, typer.Option(metavar="TIME", help="How often: 30s, 5m, 1h, 1d.")] = None,
    after: Annotated[str | None, typer.Option(metavar="JOB", help="The job that it runs after.")] = None,
    alone: Annotated[bool, typer.Option("--alone", help="It runs after no other.")] = False,
    priority: Annotated[int | None, typer.Option(help="1 to 100.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Change when a job runs."""
    if after is not None and alone:
        refuse("give either --after or --alone")
    with system() as config:
        from facho.cli.acting import jobs
        from facho.engine.commands.jobs import JobChanges

        changes = JobChanges(priority=priority, interval=interval, master="" if alone else after)
        jobs.change(name, changes, config=config, as_json=as_json, yes=yes)


@app.command(epilog=_EXAMPLES_ATTACH)
def attach(
    name: Name, olts: OltNames = None, every: All = False, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Attach a job to OLTs."""
    _names_or_all(olts, every)
    with system() as config:
        from facho.cli.acting import jobs

        jobs.put_on(name, olts or (), all_olts=every, config=config, as_json=as_json, yes=yes)


@app.command(epilog=_EXAMPLES_USUAL)
def usual(
    olt: Annotated[str, typer.Argument(metavar="OLT", help="Name of the OLT.")], as_json: AsJson = False
) -> None:
    """Collect from an OLT what its family offers, with jobs that it shares with others."""
    with system():
        from facho.cli.acting import jobs

        jobs.put_usual_on(olt, as_json=as_json)


@app.command(epilog=_EXAMPLES_SHIFT)
def shift(
    name: Name,
    olt: Annotated[str, typer.Argument(metavar="OLT", help="Name of the OLT.")],
    by: Annotated[str, typer.Argument(metavar="TIME", help="How much later: 30s, 2m.")],
    as_json: AsJson = False,
) -> None:
    """Move the slots of a job on one OLT, so that it does not wait for others."""
    with system() as config:
        from facho.cli.acting import jobs

        jobs.move(name, olt, by, config=config, as_json=as_json)


@app.command(epilog=_EXAMPLES_DETACH)
def detach(name: Name, olts: OltNames = None, every: All = False, as_json: AsJson = False) -> None:
    """Detach a job from OLTs."""
    _names_or_all(olts, every)
    with system() as config:
        from facho.cli.acting import jobs

        jobs.take_off(name, olts or (), all_olts=every, config=config, as_json=as_json)


@app.command(epilog=_EXAMPLES_ENABLE)
def enable(names: Names, as_json: AsJson = False) -> None:
    """Let jobs run again."""
    with system() as config:
        from facho.cli.acting import jobs

        jobs.switch(names, on=True, config=config, as_json=as_json)


@app.command(epilog=_EXAMPLES_DISABLE)
def disable(names: Names, as_json: AsJson = False) -> None:
    """Let jobs rest."""
    with system() as config:
        from facho.cli.acting import jobs

        jobs.switch(names, on=False, config=config, as_json=as_json)


@app.command(epilog=_EXAMPLES_RUN)
def run(
    name: Name,
    olt: Annotated[str, typer.Option(metavar="OLT", help="On which OLT.")],
    wait: Annotated[bool, typer.Option("--wait", help="Until it has ended.")] = False,
    deadline: Annotated[float, typer.Option(min=0.01, help="Seconds to wait, at most.")] = 1800.0,
    as_json: AsJson = False,
) -> None:
    """Run a job now on an OLT."""
    with system() as config:
        from facho.cli.acting import jobs

        jobs.run(name, olt, config, wait=wait, seconds=deadline, as_json=as_json)


def _names_or_all(names: list[str] | None, every: bool) -> None:
    if bool(names) == every:
        refuse("give names of OLTs, or --all")
