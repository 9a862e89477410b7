"""What a change would do to each OLT, before it is made: minutes of work, and what would not fit any more.

The change is made in a transaction that is taken back: so it is checked, planned and predicted by the same
rules as when it is made for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from facho.apps import sql
from facho.apps.access.acting import acting
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.feasibility import Infeasible, fits, infeasible
from facho.core.interval import format_interval
from facho.core.plan import Load, Task, load
from facho.engine.commands.jobs import NewJob, attach, change_interval, create_job, job_named
from facho.engine.workloads import Workload, workloads

_NOTHING: Final = Load(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class WhatIf:
    olt: str
    before: Load
    after: Load
    # It fits now, and would not any more.
    becomes_impossible: bool
    # None where all would fit.
    problem: Infeasible | None
    # Every duration was measured on this OLT.
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


def what_if(
    job: str | NewJob, olts: Sequence[str], interval: str | timedelta | None, now: datetime, config: Config
) -> list[WhatIf]:
    """A new job with its OLTs; a job on more OLTs; or, with an interval, a job that has another one.

    Raises CommandError, as the change itself would.
    """
    if isinstance(job, NewJob):
        return tried(lambda: create_job(job, now), _named(job.olts), now, config)
    if interval is not None:
        nodes = SnmpJobHost.objects.filter(job=job_named(job), interval_s=None)
        affected = dict(nodes.values_list("olt_id", "olt__name"))
        return tried(lambda: change_interval(job, interval, now), affected, now, config)
    return tried(lambda: attach(job, olts, now), _named(olts), now, config)


def _named(olts: Sequence[str]) -> dict[int, str]:
    return dict(Olt.objects.filter(name__in=list(olts)).values_list("id", "name"))


def tried(act: Callable[[], object], olts: Mapping[int, str], now: datetime, config: Config) -> list[WhatIf]:
    """Makes the change and takes it back. Thinks afterwards: nobody waits for it."""
    before = workloads(sorted(olts), now, now, config)
    with acting(None), sql.writing():
        act()
        after = workloads(sorted(olts), now, now, config)
        transaction.set_rollback(True)
    found = (_what_if(olts[olt], before.get(olt), after.get(olt), now) for olt in olts)
    return sorted(found, key=lambda each: (not each.becomes_impossible, -each.after.p50_min, each.olt))


def _what_if(olt: str, before: Workload | None, after: Workload | None, now: datetime) -> WhatIf:
    old, new = _tasks(before), _tasks(after)
    problem = infeasible(new, now)
    return WhatIf(
        olt=olt,
        before=load(old) if old else _NOTHING,
        after=load(new) if new else _NOTHING,
        becomes_impossible=problem is not None and fits(old, now),
        problem=problem,
        sure=all(task.sure for task in new),
    )


def _tasks(work: Workload | None) -> list[Task]:
    return [] if work is None else [task for task in work.tasks if not task.suspended]
