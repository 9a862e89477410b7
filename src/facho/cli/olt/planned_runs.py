"""`facho olt plan`: the planned runs of an OLT in the current hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import typer

from facho.apps.db.database import database_now
from facho.cli.output import format_seconds, print_facts, print_json, print_outcome, print_rows
from facho.config import Config
from facho.core.plan import PredictedQuota
from facho.engine.commands.olts import olt_named
from facho.engine.coordinate.plan_reports import plan_json, running_plan, suggest_shift

_COLUMNS: Final = ("slot", "job", "start", "end", "wait", "waits_for", "began")


def show_plan(name: str, config: Config, *, as_json: bool) -> None:
    olt, now = olt_named(name), database_now()
    plan = running_plan(olt.id, now, config)
    if plan is None:
        sentence = f"There is no plan of this hour for {name}: it has no jobs, or no coordinator runs."
        print_outcome(None, sentence, as_json=as_json)
        return
    row = plan_json(plan, suggest_shift(olt.id, now, config))
    if as_json:
        print_json({"olt": name, **row})
        return
    zone = config.time_zone
    print_facts(_summarize(row))
    typer.echo()
    print_rows([_run_row(each, zone) for each in row["runs"]], _COLUMNS, "Nothing more in this hour.")
    _print_proposals(name, row)


def _summarize(plan: Mapping[str, Any]) -> dict[str, Any]:
    quotas = [
        PredictedQuota(each["task_type"], each["required"], each["completed"]) for each in plan["quotas"]
    ]
    risky = [f"{each.task_type} {each.completed}/{each.required}" for each in quotas if each.at_risk]
    return {
        "minutes_an_hour": f"{plan['minutes_p50']:.1f}, at most {plan['minutes_p95']:.1f}",
        "slots_lost": len(plan["lost"]) or None,
        "at_risk": ", ".join(risky),
    }


def _run_row(each: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    times = {
        name: each[name] and f"{each[name].astimezone(zone):%H:%M:%S}"
        for name in ("slot", "start", "end", "began")
    }
    waits = each["waits_for"]
    return {
        "job": each["job"],
        **times,
        "wait": f"{each['wait_s']:.0f} s" if waits else "",
        "waits_for": waits,
    }


def _print_proposals(name: str, plan: Mapping[str, Any]) -> None:
    problem, shift = plan["infeasible"], plan["shift"]
    if problem and (change := problem["change"]):
        after, before = format_seconds(change["after_s"]), format_seconds(change["before_s"])
        typer.echo(
            f"\nMore work than fits: with {change['job']} every {after} instead of every {before} it would."
        )
    elif problem:
        typer.echo("\nMore work than fits: more than one task has to run less often.")
    if shift:
        typer.echo(
            f"\nMove {shift['job']} by {shift['by']}: {shift['saves_min_a_day']:.0f} min less waiting a day."
        )
        typer.echo(f"  facho job shift {shift['job']} {name} {shift['by']}")
