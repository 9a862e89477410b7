"""`facho job remove` and `facho job duplicate`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.output import AsJson, print_outcome
from facho.cli.system import database_now, system

EXAMPLES_REMOVE: Final = """
**Examples**

`facho job remove optics`  says what goes with it, and asks

`facho job remove optics --yes --json`  for scripts

Values that it has collected stay. To keep its executions too, disable it: `facho job disable optics`.
"""
EXAMPLES_DUPLICATE: Final = """
**Examples**

`facho job duplicate optics optics-north`  the same facts, interval and retries, attached to no OLT

`facho job attach optics-north olt-7 olt-8`  attaches it
"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.")]


def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a job, with its nodes and their executions."""
    with system():
        from facho.apps.executions.models import Execution
        from facho.engine.commands.jobs import job_named, remove_job

        job = job_named(name)
        lost = {
            "nodes": job.nodes.count(),
            "executions": Execution.objects.filter(node__job=job).count(),
        }
        if not yes:
            typer.echo(f"With {name} go {lost['nodes']} nodes and {lost['executions']} executions.", err=True)
            if chained := list(job.chained.order_by("name").values_list("name", flat=True)):
                typer.echo(f"On their own from then on: {', '.join(chained)}.", err=True)
            typer.confirm("Remove it for good?", abort=True, err=True)
        remove_job(name, database_now())
        print_outcome({"removed": name, **lost}, f"Removed {name}.", as_json=as_json)


def duplicate(
    name: Name,
    copy: Annotated[str, typer.Argument(metavar="COPY", help="Name of the copy.")],
    as_json: AsJson = False,
) -> None:
    """Copy a job under another name. The copy is attached to no OLT."""
    with system():
        from facho.engine.commands.jobs import duplicate_job

        made = duplicate_job(name, copy)
        sentence = (
            f"Added {made.name}, a copy of {name}, attached to no OLT yet: facho job attach {made.name} OLT"
        )
        print_outcome({"name": made.name, "copy_of": name}, sentence, as_json=as_json)
