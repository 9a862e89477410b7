"""Finds OLTs that answer and are not in order: degraded in the last hour, or with more work than fits.

The coordinator asks for it once a minute; it takes a fixed number of queries. What happened in an hour is the
difference between the totals of now and a sample of them; samples are taken every ten minutes, and replace
those of an hour before.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from facho.apps.db import sql
from facho.apps.db.sql import update_rows
from facho.apps.execution_coordinator.models import CoordinatorState, ExecutionPlan, PlanStatus
from facho.apps.executions.store import ended_totals
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.olt_status import LastHour, degraded_reason, overloaded_reason
from facho.core.quota import Hour, running_hour
from facho.core.reasons import NO_REASON, Reason, encode

_SAMPLE: Final = "olt_totals_"
_EVERY: Final = timedelta(minutes=1)
_SAMPLED_EVERY: Final = timedelta(minutes=10)
# One more than an hour has, so that the oldest is about an hour old.
_SAMPLES: Final = 7
_OLDEST: Final = timedelta(minutes=65)
# The plans of a new hour are made step by step; meanwhile those of the last one stand.
_PLANS_MADE_WITHIN: Final = timedelta(minutes=10)

Totals: TypeAlias = Mapping[int, tuple[int, int, int, int]]


def is_judgement_due(last: datetime | None, now: datetime) -> bool:
    """Return whether OLTs are to be judged, a minute after the last time, or when the clock was set back."""
    return last is None or not timedelta() <= now - last < _EVERY


def judge_olts(now: datetime, config: Config) -> int:
    """Store which OLTs are degraded or overloaded, and why; return how many changed."""
    totals = ended_totals()
    degraded = _find_degraded(totals, now)
    before = _load_reasons()
    was_overloaded = {olt_id for olt_id, (_, overloaded) in before.items() if overloaded}
    overloaded = _find_overloaded(was_overloaded, running_hour(now, config.time_zone), now)
    changed = []
    for olt_id in sorted(before.keys() | degraded.keys() | overloaded.keys()):
        stored = before.get(olt_id, (NO_REASON, NO_REASON))
        found = (degraded.get(olt_id, NO_REASON), overloaded.get(olt_id, stored[1]))
        if found != stored:
            changed.append((olt_id, *map(encode, found)))
    with sql.write_transaction():
        update_rows(Olt, ("degraded_reason", "overloaded_reason"), changed, is_adapted=True)
        _store_sample(totals, now)
    return len(changed)


def _load_reasons() -> dict[int, tuple[Reason, Reason]]:
    """Return the reasons of the OLTs that have any."""
    rows = Olt.objects.exclude(degraded_reason="", overloaded_reason="").order_by()
    found = rows.values_list("id", "degraded_reason", "overloaded_reason")
    return {olt_id: (degraded, overloaded) for olt_id, degraded, overloaded in found}


def _find_degraded(totals: Totals, now: datetime) -> dict[int, Reason]:
    """Return why OLTs are degraded. Without a sample nothing is known of the last hour."""
    samples = CoordinatorState.objects.filter(
        name__startswith=_SAMPLE, updated_at__gt=now - _OLDEST, updated_at__lt=now
    )
    sample = samples.order_by("updated_at").first()
    if sample is None:
        return {}
    found = {}
    for olt_id, of_olt in totals.items():
        # An OLT that is not in the sample is newer than it.
        then = sample.value.get(str(olt_id), (0, 0, 0, 0))
        hour = LastHour(*(max(0, after - before) for after, before in zip(of_olt, then, strict=True)))
        if reason := degraded_reason(hour):
            found[olt_id] = reason
    return found


def _find_overloaded(before: set[int], hour: Hour, now: datetime) -> dict[int, Reason]:
    """Return why OLTs are overloaded; an empty reason for those of `before` that no longer are."""
    plans = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_start=hour.start).order_by()
    problems = plans.filter(infeasible__isnull=False).values_list("olt_id", "infeasible")
    found = {
        olt_id: overloaded_reason(problem["minutes"]) for olt_id, problem in problems if problem is not None
    }
    ended = set(plans.filter(olt__in=before).values_list("olt_id", flat=True))
    if now - hour.start > _PLANS_MADE_WITHIN:
        ended = before
    return dict.fromkeys(ended, NO_REASON) | found


def _store_sample(totals: Totals, now: datetime) -> None:
    number = int(now.timestamp() // _SAMPLED_EVERY.total_seconds())
    name = f"{_SAMPLE}{number % _SAMPLES}"
    recent = CoordinatorState.objects.filter(name=name, updated_at__gt=now - _SAMPLED_EVERY)
    if not recent.exists():
        value = {str(olt_id): list(of_olt) for olt_id, of_olt in totals.items()}
        CoordinatorState.objects.update_or_create(name=name, defaults={"value": value, "updated_at": now})
