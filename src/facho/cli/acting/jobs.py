"""`facho job`: what its commands do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import typer
from django.db.models import Count
from rich.console import Console

from facho.apps.db.clock import database_now
from facho.apps.executions.models import OPEN, Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.selectors import workers
from facho.cli.acting.olts import count_nodes, tell_switched
from facho.cli.acting.showing import clock, every, print_facts, print_json, print_rows
from facho.cli.acting.what_if import tried
from facho.cli.exits import Exit
from facho.config import Config
from facho.core.pool import alive_workers
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import (
    JobChanges,
    NewJob,
    attach,
    create_job,
    detach,
    disable_jobs,
    enable_jobs,
    job_named,
    update_job,
)
from facho.engine.commands.nodes import shift_grid
from facho.engine.commands.olts import olt_named
from facho.engine.commands.runs import run_now
from facho.engine.commands.usual_jobs import begin_usual, usual_for
from facho.engine.commands.what_if import WhatIf
from facho.engine.coordinate.changes import ReplanResult

_LISTED: Final = (
    "name",
    "kind",
    "brand",
    "asks_for",
    "every",
    "priority",
    "task_type",
    "after",
    "enabled",
    "olts",
)
_NODES: Final = ("node", "olt", "enabled", "every", "next_run_at", "last_run_at", "suspended")
_LOOK_EVERY_S: Final = 0.3


def add(new: NewJob, *, config: Config, as_json: bool, yes: bool) -> None:
    found = tried(new, (), None, config, as_json=as_json, yes=yes)
    job = create_job(new, database_now())
    if as_json:
        print_json({**_shown(job), "what_if": [each.as_json() for each in found]})
        return
    times = [node.next_run_at for node in job.nodes.all() if node.next_run_at is not None]
    on = f" on {job.nodes.count()} OLTs" if job.nodes.exists() else ", attached to no OLT yet"
    first = f", from {clock(min(times), config.time_zone)}" if times else ""
    typer.echo(f"Added {job.name}: every {every(job.interval_s)}{on}{first}.")


def fitting_olts(brand: str) -> list[str]:
    """All that a job of this brand may have."""
    olts = Olt.objects.all() if brand == "generic" else Olt.objects.filter(brand__name=brand)
    return list(olts.values_list("name", flat=True))


def list_jobs(*, as_json: bool) -> None:
    jobs = (
        SnmpJob.objects.select_related("brand", "master")
        .prefetch_related("oids")
        .annotate(on=Count("nodes"))
        .order_by("name")
    )
    rows = [{**_described(job), "olts": job.on} for job in jobs]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _LISTED, "There are no jobs yet: facho job add")


def show(name: str, *, as_json: bool) -> None:
    told = _shown(job_named(name))
    if as_json:
        print_json(told)
        return
    nodes = told.pop("nodes")
    print_facts(told)
    typer.echo()
    print_rows(nodes, _NODES, f"It is attached to no OLT yet: facho job attach {name} OLT")


def _shown(job: SnmpJob) -> dict[str, Any]:
    nodes = job.nodes.select_related("olt").defer("olt__credentials")
    more = {"max_attempts": job.max_attempts, "retry_delay": every(job.retry_delay_s)}
    return {**_described(job), **more, "nodes": [_node(node, job) for node in nodes]}


def _described(job: SnmpJob) -> dict[str, Any]:
    return {
        "name": job.name,
        "kind": job.kind,
        "brand": job.brand.name,
        "asks_for": [*job.facts, *(oid.oid for oid in job.oids.all())],
        "every": every(job.interval_s),
        "priority": job.priority,
        "task_type": job.task_type,
        "after": job.master.name if job.master else None,
        "enabled": job.enabled,
    }


def _node(node: SnmpJobHost, job: SnmpJob) -> dict[str, Any]:
    return {
        "node": node.id,
        "olt": node.olt.name,
        "enabled": node.enabled and job.enabled and node.olt.enabled,
        "every": every(node.interval_s or job.interval_s),
        "next_run_at": node.next_run_at,
        "last_run_at": node.last_run_at,
        "suspended": node.suspended_reason or None,
    }


def change(name: str, changes: JobChanges, *, config: Config, as_json: bool, yes: bool) -> None:
    found = []
    if changes.interval is not None:
        found = tried(name, (), changes.interval, config, as_json=as_json, yes=yes)
    update_job(name, changes, database_now())
    if as_json and changes.interval is not None:
        print_json({**_shown(job_named(name)), "what_if": [each.as_json() for each in found]})
    else:
        show(name, as_json=as_json)


def put_on(
    name: str, olts: Sequence[str], *, all_olts: bool, config: Config, as_json: bool, yes: bool
) -> None:
    job = job_named(name)
    names = fitting_olts(job.brand.name) if all_olts else olts
    found = tried(name, names, None, config, as_json=as_json, yes=yes)
    _tell(attach(name, names, database_now()), "attached", names, config, as_json=as_json, what_if=found)


def put_usual_on(olt: str, *, as_json: bool) -> None:
    usual = usual_for(olt_named(olt))
    begin_usual(olt, {each.offer: each.job.interval for each in usual}, database_now())
    names = [each.job.name for each in usual]
    if as_json:
        print_json({"olt": olt, "jobs": names})
    else:
        typer.echo(f"{olt} has: {', '.join(names)}.")


def take_off(name: str, olts: Sequence[str], *, all_olts: bool, config: Config, as_json: bool) -> None:
    job = job_named(name)
    names = list(job.nodes.values_list("olt__name", flat=True)) if all_olts else olts
    _tell(detach(name, names, database_now()), "detached", names, config, as_json=as_json)


def move(name: str, olt: str, by: str, *, config: Config, as_json: bool) -> None:
    first = shift_grid(_node_named(name, olt).id, by, database_now())
    if as_json:
        print_json({"job": name, "olt": olt, "next_run_at": first})
    else:
        typer.echo(f"{name} on {olt} comes {by} later from now on: next {clock(first, config.time_zone)}.")


def _tell(
    done: ReplanResult,
    word: str,
    olts: Sequence[str],
    config: Config,
    *,
    as_json: bool,
    what_if: Sequence[WhatIf] | None = None,
) -> None:
    first = min(done.first_runs.values(), default=None)
    if as_json:
        told = {word: list(olts), "first_run_at": first, "aborted": done.aborted}
        more = {} if what_if is None else {"what_if": [each.as_json() for each in what_if]}
        print_json({**told, **more})
        return
    typer.echo(f"{len(olts)} OLT{'' if len(olts) == 1 else 's'} {word}.")
    if first is not None:
        typer.echo(f"{count_nodes(done.first_runs)} from {clock(first, config.time_zone)}.")


def switch(names: Sequence[str], *, on: bool, config: Config, as_json: bool) -> None:
    done = (enable_jobs if on else disable_jobs)(names, database_now())
    tell_switched("job", names, done, on=on, config=config, as_json=as_json)


def run(name: str, olt: str, config: Config, *, wait: bool, seconds: float, as_json: bool) -> None:
    execution = run_now(_node_named(name, olt).id, database_now())
    if not wait:
        print_json({"execution": execution, "state": State.WAITING}) if as_json else typer.echo(execution)
        return
    typer.echo(f"execution {execution}", err=True)
    if not _somebody_works(database_now(), config):
        typer.echo("No worker is running: it starts when there is one.", err=True)
    _wait_for(execution, seconds, as_json=as_json)


def _node_named(name: str, olt: str) -> SnmpJobHost:
    job, found = job_named(name), olt_named(olt)
    node = job.nodes.filter(olt=found).first()
    if node is None:
        raise CommandError("olt", f"{name} is not attached to {olt}: facho job attach {name} {olt}")
    return node


def _somebody_works(now: datetime, config: Config) -> bool:
    return bool(alive_workers(workers(), now, within=config.worker_seen_within))


def _wait_for(execution_id: int, seconds: float, *, as_json: bool) -> None:
    execution = _when_ended(execution_id, time.monotonic() + seconds)
    told = {
        "execution": execution.id,
        "state": execution.state,
        "error": execution.error or None,
        "counts": execution.counts,
    }
    if as_json:
        print_json(told)
    else:
        typer.echo(f"{execution.state}{f': {execution.error}' if execution.error else ''}")
    if execution.state in OPEN:
        raise typer.Exit(Exit.INCOMPLETE)
    if execution.state != State.SUCCESS:
        raise typer.Exit(Exit.FAILED)


def _when_ended(execution_id: int, deadline: float, sleep: Callable[[float], None] = time.sleep) -> Execution:
    with Console(stderr=True).status("waiting") as status:
        while True:
            execution = Execution.objects.get(id=execution_id)
            if execution.state not in OPEN or time.monotonic() > deadline:
                return execution
            status.update(execution.state.lower())
            sleep(_LOOK_EVERY_S)
