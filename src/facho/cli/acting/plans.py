"""Plans: what an OLT will do in the running hour, and how near those of the last hours came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import typer

from facho.apps.db.clock import database_now
from facho.cli.acting.showing import every, print_facts, print_json, print_rows
from facho.config import Config
from facho.core.plan import PredictedQuota
from facho.engine.commands.olts import olt_named
from facho.engine.coordinate.plan_reports import (
    PlanAccuracy,
    plan_accuracy,
    plan_json,
    running_plan,
    suggest_shift,
)

_RUNS: Final = ("slot", "job", "start", "end", "wait", "waits_for", "began")
_NEARNESS: Final = ("olt", "plans", "runs", "near", "near_pct", "median_s")


def show(name: str, config: Config, *, as_json: bool) -> None:
    olt, now = olt_named(name), database_now()
    plan = running_plan(olt.id, now, config)
    if plan is None:
        if as_json:
            print_json(None)
        else:
            typer.echo(
                f"There is no plan of this hour for {name}: it has nothing to do, or nobody coordinates."
            )
        return
    told = plan_json(plan, suggest_shift(olt.id, now, config))
    if as_json:
        print_json({"olt": name, **told})
        return
    zone = config.time_zone
    print_facts(_facts(told))
    typer.echo()
    print_rows([_run(each, zone) for each in told["runs"]], _RUNS, "Nothing more in this hour.")
    _propose(name, told)


def _facts(told: Mapping[str, Any]) -> dict[str, Any]:
    quotas = [
        PredictedQuota(each["task_type"], each["required"], each["completed"]) for each in told["quotas"]
    ]
    risky = [f"{each.task_type} {each.completed}/{each.required}" for each in quotas if each.at_risk]
    return {
        "minutes_an_hour": f"{told['minutes_p50']:.1f}, at most {told['minutes_p95']:.1f}",
        "slots_lost": len(told["lost"]) or None,
        "at_risk": ", ".join(risky),
    }


def _run(each: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
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


def _propose(name: str, told: Mapping[str, Any]) -> None:
    problem, shift = told["infeasible"], told["shift"]
    if problem and (change := problem["change"]):
        after, before = every(change["after_s"]), every(change["before_s"])
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


def show_nearness(hours: int, config: Config, *, as_json: bool) -> None:
    found = plan_accuracy(database_now() - timedelta(hours=hours))
    every, within = PlanAccuracy.together(found.values()), config.plan_departs_after.total_seconds()
    rows = [{"olt": olt, **_near(each)} for olt, each in found.items()]
    if as_json:
        print_json({"within_s": within, **_near(every), "olts": rows})
        return
    print_rows(rows, _NEARNESS, "No hour that was planned is over yet.")
    if found:
        typer.echo(f"\n{every.near_pct:g} % of {every.runs:,} runs began within {within:g} s of their plan.")


def _near(each: PlanAccuracy) -> dict[str, Any]:
    return {**asdict(each), "near_pct": each.near_pct}
