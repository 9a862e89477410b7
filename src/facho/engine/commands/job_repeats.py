"""Jobs that ask the same of the same OLTs: work that is done twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from facho.apps.hosts.selectors import DISCOVERY, without_sets
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost


@dataclass(frozen=True, slots=True)
class Repeat:
    """A job that asks for the same facts of some of the OLTs."""

    job: str
    facts: tuple[str, ...]
    olts: int

    def as_json(self) -> dict[str, Any]:
        return {"job": self.job, "facts": list(self.facts), "olts": self.olts}


def find_repeats(
    kind: str, facts: Iterable[str], olt_ids: Collection[int], job_id: int | None
) -> list[Repeat]:
    """Return the other enabled jobs that ask the same of these OLTs, those with the most OLTs first."""
    asked = _all_facts(kind, facts)
    others = SnmpJob.objects.filter(enabled=True).exclude(pk=job_id or 0).only("name", "kind", "facts")
    same = {job.pk: (job.name, sorted(asked & _all_facts(job.kind, job.facts))) for job in others}
    shared = {pk: found for pk, found in same.items() if found[1]}
    if not shared or not olt_ids:
        return []
    nodes = SnmpJobHost.objects.filter(job__in=shared, olt__in=olt_ids, enabled=True)
    counts = nodes.values_list("job").annotate(olts=Count("id")).order_by("-olts", "job")
    return [Repeat(shared[pk][0], tuple(shared[pk][1]), olts) for pk, olts in counts]


def _all_facts(kind: str, facts: Iterable[str]) -> set[str]:
    """Return the facts with each usual set replaced by its facts; a discovery repeats a discovery."""
    every = without_sets(facts)
    return every | {DISCOVERY} if kind == DISCOVERY else every
