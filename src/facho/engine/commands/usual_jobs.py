"""The usual jobs of an OLT: what its family offers, at intervals that do not overload it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import DISCOVERY, USUAL_FACTS, USUAL_SETS, facts_offered
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import NewJob, job_named, make_job, make_nodes, start_nodes
from facho.engine.commands.olts import olt_named
from facho.engine.commands.runs import run_now
from facho.engine.process.command_transaction import command
from facho.vendors import GENERIC, Profile

_USUAL: Final = (
    ("discovery", "discovery", "1h"),
    ("state", "table", "5m"),
    ("optics", "get", "15m"),
    ("description", "table", "1h"),
    ("model", "table", "1d"),
    ("details", "table", "1d"),
    ("traffic", "table", "5m"),
    ("uplinks", "table", "5m"),
    ("health", "table", "5m"),
    ("ports", "table", "15m"),
    ("autofind", "table", "5m"),
)


@dataclass(frozen=True, slots=True)
class Usual:
    """A usual job for an OLT. An existing job keeps its interval, because other OLTs have it too."""

    # The name of the offer; a job of that name may be an operator's own.
    offer: str
    job: NewJob
    is_there: bool


def usual_jobs(profile: Profile) -> dict[str, NewJob]:
    """Return the usual jobs that a profile offers, by offer. They are generic, so all brands share them."""
    offered = facts_offered(profile)
    return {
        name: NewJob(name, GENERIC, kind, interval, _facts(name))
        for name, kind, interval in _USUAL
        if name in offered
    }


def _facts(name: str) -> tuple[str, ...]:
    return (name,) if name in USUAL_SETS else USUAL_FACTS.get(name, ())


def usual_jobs_for(olt: Olt) -> list[Usual]:
    new = usual_jobs(profile_of(olt))
    names = [each for offer in new for each in (offer, _own_name(offer, olt))]
    there = {job.name: job for job in SnmpJob.objects.filter(name__in=names).select_related("brand")}
    return [_usual_job(offer, job, olt, there) for offer, job in new.items()]


def _usual_job(offer: str, new: NewJob, olt: Olt, there: Mapping[str, SnmpJob]) -> Usual:
    """Return the job of an offer; it gets another name where an unsuitable job has the name."""
    for name in (offer, _own_name(offer, olt)):
        found = there.get(name)
        if found is None:
            return Usual(offer, replace(new, name=name), is_there=False)
        if found.kind == new.kind and (found.brand.is_generic or found.brand_id == olt.brand_id):
            interval = timedelta(seconds=found.interval_s)
            return Usual(offer, replace(new, name=name, interval=interval), is_there=True)
    return Usual(offer, replace(new, name=f"{offer} {olt.name}"[:80]), is_there=False)


def _own_name(offer: str, olt: Olt) -> str:
    return f"{offer} {olt.brand.name}"


@command
def attach_usual_jobs(olt: str, intervals: Mapping[str, str | timedelta], now: datetime) -> None:
    """Attach the usual jobs that `intervals` names. A CommandError names the offer."""
    made: list[SnmpJobHost] = []
    for usual in choose_usual_jobs(olt, intervals):
        with errors_at_offer(usual):
            job = usual.job
            made += make_nodes(job_named(job.name), job.olts) if usual.is_there else make_job(job)[1]
    # All together, so that the OLT is planned once.
    start_nodes(made, now)


def choose_usual_jobs(olt: str, intervals: Mapping[str, str | timedelta]) -> list[Usual]:
    """Return the offers that `intervals` names, with those intervals and for this OLT."""
    return [
        replace(usual, job=replace(usual.job, interval=intervals[usual.offer], olts=[olt]))
        for usual in usual_jobs_for(olt_named(olt))
        if usual.offer in intervals
    ]


@contextmanager
def errors_at_offer(usual: Usual) -> Iterator[None]:
    """Report errors of a job at its offer."""
    try:
        yield
    except CommandError as refused:
        raise CommandError(usual.offer, refused.message) from None


def start_usual_jobs(olt: str, intervals: Mapping[str, str | timedelta], now: datetime) -> None:
    """Attach the usual jobs and run the discovery at once, because a person waits for the ONUs."""
    attach_usual_jobs(olt, intervals, now)
    nodes = SnmpJobHost.objects.filter(olt__name=olt, job__kind=DISCOVERY)
    # Under maintenance or disabled it runs later.
    with suppress(CommandError):
        for node in nodes.order_by("id")[:1]:
            run_now(node.id, now)
