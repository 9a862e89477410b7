from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Min, Model, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RelatedDropdownFilter

from facho.apps.access.actors import given_reason
from facho.apps.db.database import database_now
from facho.apps.localized_numbers import about
from facho.apps.snmp_jobs.models import JobTarget, SnmpJob, SnmpJobHost, SnmpJobOid
from facho.engine.commands import jobs, runs
from facho.engine.commands.nodes import disable_nodes, enable_nodes
from facho.engine.commands.schedule_draft import LiveSchedule, Schedule
from facho.web.admin import form_commands, job_preview
from facho.web.admin.base import (
    FachoInline,
    WithSuspension,
    count_deleted,
    seconds_as_interval,
    show_outcomes,
)
from facho.web.admin.columns import display
from facho.web.admin.confirmation import asks_why
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import suspended_filter
from facho.web.admin.job_forms import JobForm, JobOidForm, NodeForm
from facho.web.admin.previewed_admin import PreviewedAdmin
from facho.web.components.filters import moment

_ENGINES = ("next_run_at", "last_run_at", "why_suspended")


class JobOidInline(FachoInline[SnmpJobOid, SnmpJob]):
    model = SnmpJobOid
    form = JobOidForm
    verbose_name = "OID"
    verbose_name_plural = "OIDs"
    autocomplete_fields = ("oid",)
    ordering = ("id",)


class NodeInline(WithSuspension, FachoInline[SnmpJobHost, SnmpJob]):
    model = SnmpJobHost
    form = NodeForm
    verbose_name = "OLT"
    verbose_name_plural = "OLTs"
    fields = ("olt", "enabled", "interval", "priority", "next_run_at", "why_suspended")
    readonly_fields = ("next_run_at", "why_suspended")
    autocomplete_fields = ("olt",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SnmpJobHost]:
        return super().get_queryset(request).select_related("olt", "job").defer("olt__credentials")


@admin.register(SnmpJob)
class SnmpJobAdmin(PreviewedAdmin[SnmpJob]):
    form = JobForm
    list_display = (
        "name",
        "brand_or_any",
        "kind",
        "schedule",
        "covers",
        "priority",
        "task_type",
        "master",
        "enabled",
    )
    list_select_related = ("brand", "master")
    list_filter = ("enabled", "kind", ("brand", RelatedDropdownFilter))
    search_fields = ("name", "task_type")
    ordering = ("name",)
    autocomplete_fields = ("brand", "master")
    actions = ("run_now", "enable", "disable", "duplicate", export_csv)
    inlines = (JobOidInline, NodeInline)
    conditional_fields = MappingProxyType({"site": "target == 'site'"})
    fieldsets = (
        (None, {"fields": ("name", "enabled", ("brand", "kind"), "interval", ("target", "site"), "facts")}),
        (
            _("Order and retries"),
            {"fields": ("master", "priority", ("max_attempts", "retry_delay"), "task_type")},
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SnmpJob]:
        active = Q(nodes__enabled=True)
        return (
            super()
            .get_queryset(request)
            .annotate(
                node_count_=Count("nodes", filter=active), next_=Min("nodes__next_run_at", filter=active)
            )
        )

    def get_readonly_fields(self, request: HttpRequest, obj: SnmpJob | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """The brand and the kind of a job cannot change."""
        return ("brand", "kind") if obj else ()

    def save_model(self, request: HttpRequest, obj: SnmpJob, form: ModelForm[SnmpJob], change: bool) -> None:
        """Do nothing: save_related saves a job with its OIDs and nodes."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool) -> None:
        oids, nodes = formsets
        for formset in (oids, nodes):
            # Sorts the rows into new, changed and deleted ones without saving them.
            formset.save(commit=False)

        def save(schedule: Schedule) -> SnmpJob | None:
            return _save_job(schedule, form, oids, nodes, change=change)

        if getattr(request, "previews", False):
            job_preview.look(request, save, form, (oids, nodes))
        job_preview.refuse_unfit(request)
        made = save(LiveSchedule(database_now()))
        if made is not None:
            form.instance.pk = made.pk
        if {"facts", "target", "site"}.intersection(form.changed_data) or nodes.new_objects:
            olts = form.instance.nodes.values_list("olt_id", flat=True)
            for repeat in job_preview.repeats_of(form, oids, list(olts)):
                messages.warning(request, f"{job_preview.describe_repeat(repeat)}.")

    def get_deleted_objects(
        self,
        objs: Iterable[SnmpJob],
        request: HttpRequest,  # noqa: ARG002
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Count the nodes instead of reading them; the command deletes them."""
        chosen = list(objs)
        nodes = SnmpJobHost.objects.filter(job__in=chosen)
        lost: dict[type[Model], int] = {SnmpJob: len(chosen), SnmpJobHost: nodes.count()}
        return [job.name for job in chosen], count_deleted(lost), set(), []

    def delete_model(self, request: HttpRequest, obj: SnmpJob) -> None:  # noqa: ARG002
        jobs.remove_job(obj.name, database_now())

    @display(description=_("interval"), ordering="interval_s")
    def schedule(self, job: SnmpJob) -> str:
        every = {"every": about(job.interval)}
        due: datetime | None = job.next_  # type: ignore[attr-defined]  # annotated above
        if due is None:
            return gettext("every %(every)s") % every
        return gettext("every %(every)s, next %(next)s") % {**every, "next": moment(due, timezone.now())}

    @display(description=_("brand"), ordering="brand__name")
    def brand_or_any(self, job: SnmpJob) -> str:
        return pgettext("brand", "any") if job.brand.is_generic else str(job.brand)

    @display(description="OLTs")
    def covers(self, job: SnmpJob) -> str:
        """Show the target, and on how many OLTs the job runs."""
        count: int = job.node_count_  # type: ignore[attr-defined]  # annotated above
        named = {
            JobTarget.ALL: gettext("all: %(count)d"),
            JobTarget.BRAND: gettext("all of its brand: %(count)d"),
            JobTarget.SITE: gettext("site %(site)s: %(count)d"),
        }
        text = named.get(JobTarget(job.target), "%(count)d")
        return text % {"count": count, "site": job.target_site}

    def has_run_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may run nodes of the job."""
        return request.user.has_perm("snmp_jobs.run_snmpjobhost")

    @admin.action(description=_("Run now on all its OLTs"), permissions=["run"])
    def run_now(self, request: HttpRequest, chosen: QuerySet[SnmpJob]) -> None:
        show_outcomes(request, chosen, form_commands.run_on_all_olts)

    def set_enabled(self, rows: list[SnmpJob], *, enabled: bool) -> None:
        (jobs.enable_jobs if enabled else jobs.disable_jobs)([job.name for job in rows], database_now())

    @admin.action(description=_("Duplicate"), permissions=["add"])
    def duplicate(self, request: HttpRequest, chosen: QuerySet[SnmpJob]) -> None:
        show_outcomes(request, chosen.values_list("name", flat=True), form_commands.duplicate_job)


def _save_job(schedule: Schedule, form: Any, oids: Any, nodes: Any, *, change: bool) -> SnmpJob | None:
    """Save a job with its OIDs and nodes. Return it if it is new."""
    job: SnmpJob = form.instance
    if not change:
        wanted = form_commands.wanted_oids(job, oids) or ()
        return form_commands.create_job(schedule, form.cleaned_data, wanted, nodes.new_objects)
    every = form_commands.wanted_oids(job, oids)
    form_commands.update_job(schedule, form.initial["name"], form.cleaned_data, form.changed_data, every)
    form_commands.save_nodes(schedule, job, nodes)
    return None


@admin.register(SnmpJobHost)
class NodeAdmin(WithSuspension, PreviewedAdmin[SnmpJobHost]):
    form = NodeForm
    list_display = (
        "olt",
        "job",
        "every",
        "in_order",
        "next_run_at",
        "last_run_at",
        "failures_in_a_row",
        "health",
        "enabled",
    )
    list_display_links = ("job",)
    list_filter = (
        "enabled",
        suspended_filter(~Q(suspended_reason="")),
        ("job", AutocompleteSelectFilter),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name", "job__name")
    autocomplete_fields = ("job", "olt")
    actions = ("run_now", "enable", "disable", "detach", export_csv)
    readonly_fields = (*_ENGINES, "suspended_at", "next_probe_at", "failures_in_a_row")
    fieldsets = (
        (None, {"fields": (("job", "olt"), "enabled", ("interval", "priority"))}),
        (_("Detected by the engine"), {"fields": readonly_fields}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SnmpJobHost]:
        return super().get_queryset(request).select_related("olt", "job").defer("olt__credentials")

    def has_delete_permission(self, request: HttpRequest, obj: SnmpJobHost | None = None) -> bool:  # noqa: ARG002
        """Nodes are detached by an action, not deleted."""
        return False

    def save_model(self, request: HttpRequest, obj: SnmpJobHost, form: Any, change: bool) -> None:
        def save(schedule: Schedule) -> None:
            if change:
                form_commands.change_node(schedule, obj, form.changed_data)
            else:
                form_commands.attach(schedule, obj.job, [obj])

        if getattr(request, "previews", False):
            job_preview.look_at_node(request, save, form, change=change)
        job_preview.refuse_unfit(request)
        schedule = LiveSchedule(database_now())
        save(schedule)
        if not change:
            obj.pk = schedule.nodes_of(obj.job)[obj.olt_id]

    @display(description=_("interval"))
    def every(self, node: SnmpJobHost) -> str:
        return seconds_as_interval(node.interval_s or node.job.interval_s)

    @display(description=_("priority"))
    def in_order(self, node: SnmpJobHost) -> int:
        return node.priority or node.job.priority

    @display(description=_("health"), label={"ok": "success", "off": "default", "suspended": "danger"})
    def health(self, node: SnmpJobHost) -> tuple[str, Any]:
        if not (node.enabled and node.job.enabled and node.olt.enabled):
            return "off", _("disabled")
        if node.is_suspended or node.olt.is_suspended:
            return "suspended", _("suspended")
        return "ok", _("active")

    @admin.action(description=_("Run now"), permissions=["run"])
    def run_now(self, request: HttpRequest, chosen: QuerySet[SnmpJobHost]) -> None:
        show_outcomes(request, chosen, _run_now)

    def set_enabled(self, rows: list[SnmpJobHost], *, enabled: bool) -> None:
        ids, now = [node.pk for node in rows], database_now()
        if enabled:
            enable_nodes(ids, now)
        else:
            disable_nodes(ids, now, given_reason())

    def effect_of_detach(self, _nodes: QuerySet[SnmpJobHost]) -> str:
        return gettext("The job is not asked of the OLT any more, and its executions are deleted.")

    @asks_why
    @admin.action(description=_("Detach the OLT from the job…"), permissions=["change"])
    def detach(self, request: HttpRequest, chosen: QuerySet[SnmpJobHost]) -> None:
        show_outcomes(request, chosen, _detach_node)


def _run_now(node: SnmpJobHost) -> str:
    said = {"id": runs.run_now(node.pk, database_now()), "job": node.job.name, "olt": node.olt.name}
    return gettext("Execution %(id)d: %(job)s runs next on %(olt)s.") % said


def _detach_node(node: SnmpJobHost) -> str:
    jobs.detach(node.job.name, [node.olt.name], database_now())
    return gettext("%(olt)s was detached from %(job)s.") % {"olt": node.olt.name, "job": node.job.name}
