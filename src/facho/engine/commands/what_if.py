"""What-if: the effect of a change on each OLT before it is made: minutes of work, and what would not fit.

The change is made in memory (`ScheduleDraft`), with the checks and the planning of the commands. It only
reads the database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import Config
from facho.core.feasibility import Infeasible, fits, infeasible
from facho.core.interval import format_interval
from facho.core.plan import Load, Task, hourly_load
from facho.engine.commands.job_repeats import Repeat, find_repeats, oids_of, repeats_of_job
from facho.engine.commands.job_targets import check_target, targeted_olts
from facho.engine.commands.jobs import JobChanges, NewJob, affected_olts, job_named
from facho.engine.commands.olts import brand_for
from facho.engine.commands.schedule_draft import Schedule, ScheduleDraft
from facho.vendors import GENERIC

_NOTHING: Final = Load(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class WhatIf:
    olt: str
    before: Load
    after: Load
    # It fits now, and would not after the change.
    becomes_impossible: bool
    # None if everything would fit.
    problem: Infeasible | None
    # All durations were measured on this OLT.
    sure: bool

    def as_json(self) -> dict[str, Any]:
        problem = self.problem
        change = problem.change if problem else None
        return {
            "olt": self.olt,
            "minutes_before": self.before.p50_min,
            "minutes_before_p95": self.before.p95_min,
            "minutes_after": self.after.p50_min,
            "minutes_after_p95": self.after.p95_min,
            "sure": self.sure,
            "becomes_impossible": self.becomes_impossible,
            "at_risk": [
                {"task_type": each.task_type, "required": each.required, "completed": each.completed}
                for each in (problem.at_risk if problem else ())
            ],
            "would_fit": change
            and {
                "job": change.job,
                "interval": format_interval(change.after),
                "instead_of": format_interval(change.before),
            },
        }


@dataclass(frozen=True, slots=True)
class Change:
    """A change to try, and the names of the affected OLTs by id."""

    make: Callable[[Schedule], object]
    olts: Mapping[int, str]
    # Jobs that already ask the same of these OLTs.
    repeats: Sequence[Repeat] = ()


def change_of(job: str | NewJob, olts: Sequence[str], interval: str | timedelta | None) -> Change:
    """Return the change of a new job, of a job on more OLTs, or of a job with another interval."""
    if isinstance(job, NewJob):
        target, site = check_target(job.target, job.site, brand := brand_for(job.brand or GENERIC))
        covered = dict(targeted_olts(target, site, brand).values_list("id", "name"))
        affected = named_olts(job.olts) | covered
        repeats = find_repeats(job.kind, job.facts, affected, None, job.oids)
        return Change(lambda schedule: schedule.create_job(job), affected, repeats)
    if interval is not None:
        nodes = SnmpJobHost.objects.filter(job=job_named(job), interval_s=None)
        affected = dict(nodes.values_list("olt_id", "olt__name"))
        return Change(lambda schedule: schedule.update_job(job, JobChanges(interval=interval)), affected)
    found, affected = job_named(job), named_olts(olts)
    return Change(lambda schedule: schedule.attach(job, olts), affected, repeats_of_job(found, affected))


def change_of_job(job: SnmpJob, changes: JobChanges) -> Change:
    """Return the change of what a job asks for, how often, or of which OLTs."""
    olts = affected_olts(job, changes)
    facts = job.facts if changes.facts is None else changes.facts
    oids = oids_of(job) if changes.oids is None else changes.oids
    repeats = find_repeats(job.kind, facts, olts, job.pk, oids)
    return Change(lambda schedule: schedule.update_job(job.name, changes), olts, repeats)


def named_olts(names: Sequence[str]) -> dict[int, str]:
    return dict(Olt.objects.filter(name__in=list(names)).values_list("id", "name"))


def what_if(change: Change, now: datetime, config: Config) -> list[WhatIf]:
    """Return what the change would do to each of its OLTs, the worst first.

    Raises CommandError, as the change itself would.
    """
    draft = ScheduleDraft(sorted(change.olts), now, config)
    before = draft.tasks()
    change.make(draft)
    after = draft.tasks()
    found = (
        _what_if(name, before.get(olt, ()), after.get(olt, ()), now) for olt, name in change.olts.items()
    )
    return sorted(found, key=lambda each: (not each.becomes_impossible, -each.after.p50_min, each.olt))


def _what_if(olt: str, before: Sequence[Task], after: Sequence[Task], now: datetime) -> WhatIf:
    old, new = _active(before), _active(after)
    problem = infeasible(new, now)
    return WhatIf(
        olt=olt,
        before=hourly_load(old) if old else _NOTHING,
        after=hourly_load(new) if new else _NOTHING,
        becomes_impossible=problem is not None and fits(old, now),
        problem=problem,
        sure=all(task.sure for task in new),
    )


def _active(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if not task.suspended]
