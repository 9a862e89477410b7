"""`facho olt`: what its commands do."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, NoReturn

import typer
from django.db.models import Count, Q
from rich.console import Console

from facho.apps.db.clock import database_now
from facho.apps.discovery.models import Onu
from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.health import Health, health_of
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.selectors import masters_of_chained
from facho.cli.acting import chassis, forecasts
from facho.cli.acting.showing import clock, every, print_facts, print_json, print_rows
from facho.cli.exits import Exit, exit_of
from facho.config import Config
from facho.engine.collect.identify import Identified
from facho.engine.commands.connection_test import Silence, ask, check_connection
from facho.engine.commands.olts import (
    AUTO,
    NewOlt,
    add_olt,
    brand_for,
    check_new,
    count_rows_removed_with,
    disable_olts,
    enable_olts,
    olt_named,
    remove_olt,
)
from facho.engine.coordinate.changes import ReplanResult
from facho.snmp import Target

_LISTED = ("name", "brand", "model", "address", "site", "enabled", "state", "jobs", "onus")


def add(new: NewOlt, target: Target, *, test: bool, as_json: bool) -> None:
    """What can be refused without asking the OLT is refused before."""
    check_new(new)
    if new.brand != AUTO or not test:
        brand_for(new.brand)
    detected = None
    if test:
        with Console(stderr=True).status(f"asking {target.host}"):
            answer = ask(target)
        if isinstance(answer, Silence):
            _refuse_silent(new, answer)
        detected = answer
    olt = add_olt(new, detected=detected)
    if as_json:
        print_json(_described(olt) | {"detected": _detected(detected)})
        return
    typer.echo(f"Added {olt.name}: {olt.brand.title}{f', model {olt.model}' if olt.model else ''}.")
    if detected is not None:
        typer.echo(_why(detected, olt.brand.name, chosen=new.brand != AUTO))


def _refuse_silent(new: NewOlt, answer: Silence) -> NoReturn:
    brand = "NAME" if new.brand == AUTO else new.brand
    typer.echo(f"Error: {answer.sentence}", err=True)
    typer.echo(f"Nothing was saved. To add it all the same: --brand {brand} --no-test", err=True)
    raise typer.Exit(exit_of(answer.error))


def _why(detected: Identified, brand: str, *, chosen: bool) -> str:
    detection = detected.detection
    if detection.profile == brand:
        return f"Detected as {detection.profile}: {detection.why}."
    note = f"Note: it looks like {detection.profile} ({detection.why}), and was added as {brand}"
    # A profile that is newer than the database.
    return f"{note}." if chosen else f"{note}: the database lacks {detection.profile}; run facho migrate."


def _detected(detected: Identified | None) -> dict[str, Any] | None:
    if detected is None:
        return None
    return {
        "brand": detected.detection.profile,
        "model": detected.detection.model or None,
        "why": detected.detection.why,
        "sys_descr": detected.sys_descr,
        "sys_object_id": detected.sys_object_id,
        "uptime_s": None if detected.uptime_s is None else int(detected.uptime_s),
    }


def test(name: str, timeout: float | None, retries: int | None, *, as_json: bool) -> None:
    olt = olt_named(name)
    if isinstance(olt.credentials, Unreadable):
        raise olt.credentials.problem
    with Console(stderr=True).status(f"asking {olt.address}"):
        answer = check_connection(olt, timeout=timeout, retries=retries)
    failed = isinstance(answer, Silence)
    if as_json:
        reason = answer.sentence if isinstance(answer, Silence) else None
        found = None if isinstance(answer, Silence) else _detected(answer)
        print_json({"olt": name, "answers": not failed, "reason": reason, "detected": found})
    elif isinstance(answer, Silence):
        typer.echo(f"Error: {answer.sentence}", err=True)
    else:
        typer.echo(f"{name} answers.")
        print_facts({**(_detected(answer) or {}), "stored_as": olt.brand.name})
    raise typer.Exit(exit_of(answer.error) if isinstance(answer, Silence) else Exit.COMPLETE)


def list_olts(site: str | None, brand: str | None, *, as_json: bool) -> None:
    olts = (
        Olt.objects.select_related("brand", "model")
        .defer("credentials")
        .annotate(jobs=Count("nodes", filter=Q(nodes__enabled=True, nodes__job__enabled=True)))
    )
    if site is not None:
        olts = olts.filter(site=site)
    if brand is not None:
        olts = olts.filter(brand=brand_for(brand))
    # Counting by groups would lose the usual order.
    olts = olts.order_by("name")
    onus = dict(Onu.objects.order_by().values_list("olt_id").annotate(Count("id")))
    closed = olts_under_maintenance(database_now())
    rows = [{**_described(olt, closed), "jobs": olt.jobs, "onus": onus.get(olt.id, 0)} for olt in olts]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _LISTED, "There are no OLTs yet: facho olt add")


def show(name: str, *, as_json: bool) -> None:
    olt = olt_named(name)
    now = database_now()
    closed = olts_under_maintenance(now)
    facts = {
        **_described(olt, closed),
        "maintenance_until": closed.get(olt.id),
        "credentials": _kind_of(olt.credentials),
        "sys_descr": olt.sys_descr,
        "sys_object_id": olt.sys_object_id,
        "max_in_flight": olt.max_in_flight,
        "max_varbinds": olt.max_varbinds,
        "max_requests_per_second": olt.max_requests_per_second,
        "shortest_interval_s": olt.shortest_interval_s,
        "suspended_reason": olt.suspended_reason or None,
        "unreachable_since": olt.unreachable_since,
        "next_probe_at": olt.next_probe_at,
        "onus": Onu.objects.filter(olt=olt).count(),
    }
    told = chassis.told(olt, now)
    expected = forecasts.told(olt.id, now)
    rows = list(olt.nodes.select_related("job"))
    masters = masters_of_chained(rows)
    nodes = [_node(node, masters.get(node.id)) for node in rows]
    if as_json:
        print_json({**facts, **told, "nodes": nodes, "forecasts": expected})
        return
    print_facts({**facts, **chassis.summary(told)})
    chassis.print_tables(told)
    typer.echo()
    columns = ("node", "job", "kind", "every", "enabled", "after", "next_run_at", "last_run_at", "suspended")
    print_rows(nodes, columns, f"It has no jobs yet: facho job attach JOB {name}")
    forecasts.print_told(expected)


def _kind_of(credentials: Credentials) -> str:
    """Enough to know what was entered, and nothing of what it was."""
    if isinstance(credentials, Unreadable):
        return "cannot be opened: enter them again"
    return "community" if credentials.user is None else "SNMPv3 user"


def _node(node: Any, master: Any | None) -> dict[str, Any]:
    job = node.job
    return {
        "node": node.id,
        "job": job.name,
        "kind": job.kind,
        "every": every(node.interval_s or job.interval_s),
        "enabled": node.enabled and job.enabled,
        "after": master.job.name if master else None,
        "next_run_at": node.next_run_at,
        "last_run_at": node.last_run_at,
        "suspended": node.suspended_reason or None,
    }


def _described(olt: Olt, closed: Container[int] = ()) -> dict[str, Any]:
    return {
        "name": olt.name,
        "brand": olt.brand.name,
        "model": olt.model.name if olt.model else None,
        "address": f"[{olt.address}]:{olt.port}" if ":" in olt.address else f"{olt.address}:{olt.port}",
        "snmp_version": olt.snmp_version,
        "site": olt.site,
        "enabled": olt.enabled,
        "state": _state(olt, closed),
    }


def _state(olt: Olt, closed: Container[int]) -> str:
    health = health_of(olt, closed)
    return {Health.FINE: "reachable", Health.NEVER_ASKED: "not asked yet"}.get(health, health.value)


def switch(names: Sequence[str], *, on: bool, every_olt: bool, config: Config, as_json: bool) -> None:
    if every_olt:
        names = list(Olt.objects.filter(enabled=not on).values_list("name", flat=True))
    done = (enable_olts if on else disable_olts)(names, database_now())
    tell_switched("OLT", names, done, on=on, config=config, as_json=as_json)


def remove(name: str, config: Config, *, yes: bool, as_json: bool) -> None:
    lost = count_rows_removed_with(name)
    if not yes:
        rows = ", ".join(f"{count} of {table}" for table, count in lost.items() if count)
        typer.echo(f"With {name} go {rows or 'no rows of anything'}.", err=True)
        typer.confirm("Remove it for good?", abort=True, err=True)
    with Console(stderr=True).status(f"removing {name}"):
        remove_olt(name, database_now(), config)
    if as_json:
        print_json({"removed": name, "rows": lost})
    else:
        typer.echo(f"Removed {name}.")


def tell_switched(
    what: str, names: Sequence[str], done: ReplanResult, *, on: bool, config: Config, as_json: bool
) -> None:
    first = min(done.first_runs.values(), default=None)
    word = "enabled" if on else "disabled"
    if as_json:
        print_json({word: list(names), "first_run_at": first, "aborted": done.aborted})
        return
    typer.echo(f"{len(names)} {what}{'' if len(names) == 1 else 's'} {word}.")
    if first is not None:
        typer.echo(f"{count_nodes(done.first_runs)} from {clock(first, config.time_zone)}.")
    if done.aborted:
        typer.echo(f"{done.aborted} executions that had not ended were aborted.")


def count_nodes(first_runs: Mapping[int, object]) -> str:
    return f"{len(first_runs)} node{' runs' if len(first_runs) == 1 else 's run'}"
