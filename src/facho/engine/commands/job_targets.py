"""The OLTs that the target of a job covers, also those that are added later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Olt
from facho.apps.hosts.selectors import columns_for, spelled_out
from facho.apps.snmp_jobs.models import JobTarget, SnmpJob, SnmpJobHost
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_choice
from facho.engine.coordinate.changes import replan
from facho.vendors import GENERIC


def check_target(target: str, site: str, brand: Brand) -> tuple[str, str]:
    """Return a target and its site as they are stored; with a brand, all OLTs are those of the brand."""
    wanted = check_choice(target or JobTarget.SELECTION, JobTarget.values, "target")
    if wanted == JobTarget.BRAND and brand.is_generic:
        raise CommandError("target", _("the job is for any brand: give it a brand, or choose another target"))
    if wanted == JobTarget.ALL and not brand.is_generic:
        wanted = JobTarget.BRAND.value
    if wanted != JobTarget.SITE:
        return wanted, ""
    if not site.strip():
        raise CommandError("site", _("choose the site"))
    return wanted, site.strip()


def targeted_olts(target: str, site: str, brand: Brand) -> QuerySet[Olt]:
    """Return the OLTs that a target names, also those that the job cannot run on."""
    olts = Olt.objects.filter(removed_at=None)
    if not brand.is_generic:
        olts = olts.filter(brand=brand)
    if target == JobTarget.SELECTION:
        return olts.none()
    return olts.filter(site=site) if target == JobTarget.SITE else olts


def covered_names(job: SnmpJob, *, has_oids: bool) -> list[str]:
    """Return the names of the OLTs that the target covers and that the job can run on."""
    olts = targeted_olts(job.target, job.target_site, job.brand)
    rows = olts.select_related("brand", "model").defer("credentials").order_by("name")
    can_run: dict[tuple[int, int | None], bool] = {}
    found = []
    for olt in rows:
        family = olt.brand_id, olt.model_id
        if family not in can_run:
            can_run[family] = has_columns(job, olt, has_oids=has_oids)
        if can_run[family] and not _is_too_often(job, olt):
            found.append(olt.name)
    return found


def has_columns(job: SnmpJob, olt: Olt, *, has_oids: bool) -> bool:
    """Return whether the family of an OLT has any of the facts; a chained job is skipped without."""
    if job.master_id is not None or has_oids:
        return True
    return bool(columns_for(olt, spelled_out(job.facts, profile_of(olt), job.kind), job.kind))


def _is_too_often(job: SnmpJob, olt: Olt) -> bool:
    return olt.shortest_interval_s is not None and job.interval_s < olt.shortest_interval_s


def attach_covering_jobs(olt: Olt, now: datetime, *, unless: frozenset[int] = frozenset()) -> None:
    """Attach the jobs whose target covers an OLT that was added or moved, except those in `unless`."""
    there = {*unless, *olt.nodes.values_list("job_id", flat=True)}
    nodes = [SnmpJobHost(job=job, olt=olt) for job in _suitable_jobs(olt) if job.pk not in there]
    if nodes:
        made = SnmpJobHost.objects.bulk_create(nodes)
        replan([olt.pk], now, new=[node.pk for node in made])


def jobs_covering(olt: Olt) -> QuerySet[SnmpJob]:
    anywhere = Q(target__in=(JobTarget.ALL, JobTarget.BRAND))
    if olt.site:
        anywhere |= Q(target=JobTarget.SITE, target_site=olt.site)
    jobs = SnmpJob.objects.filter(anywhere).select_related("brand").order_by("id")
    return jobs.filter(Q(brand=olt.brand_id) | Q(brand__name=GENERIC))


def _suitable_jobs(olt: Olt) -> Iterator[SnmpJob]:
    for job in jobs_covering(olt):
        if not _is_too_often(job, olt) and has_columns(job, olt, has_oids=job.oids.exists()):
            yield job
