"""Quotas of OLTs per hour, and their violations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.db.clock import database_now
from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.execution_coordinator.texts import hour_in_words, lost_in_words, missed_in_words
from facho.apps.snmp_jobs.models import SnmpJob
from facho.apps.written import duration
from facho.config import current
from facho.core.violation_report import reasons_of, tasks_of
from facho.engine.commands.acknowledgements import acknowledge_violation
from facho.web.admin import form_commands
from facho.web.admin.base import M, ReadOnlyAdmin, display, readable_json, recent_filter
from facho.web.admin.exporting import export_csv
from facho.web.components.filters import moment
from facho.web.components.quotas import (
    SHARE,
    Progress,
    at_risk,
    progress_bar,
    risk_mark,
    risk_of,
    tracker_progress,
)
from facho.web.words.colours import QUOTA_COLOURS, SEVERITY_COLOURS


class RiskFilter(admin.SimpleListFilter):
    title = _("risk")
    parameter_name = "risk"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("yes", gettext("at risk"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QuotaTracker]) -> QuerySet[QuotaTracker]:  # noqa: ARG002
        return queryset.filter(at_risk(current().quota_kept)) if self.value() == "yes" else queryset


class TaskTypeFilter(admin.SimpleListFilter):
    """A filter by the task types of jobs: a year of trackers is too long to read them from."""

    title = _("task type")
    parameter_name = "task_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        types = SnmpJob.objects.order_by("task_type").values_list("task_type", flat=True).distinct()
        return [(each, each) for each in types]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QuotaTracker]) -> QuerySet[QuotaTracker]:  # noqa: ARG002
        return queryset.filter(task_type=self.value()) if self.value() else queryset


class AcknowledgedFilter(admin.SimpleListFilter):
    title = _("acknowledged")
    parameter_name = "acknowledged"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("no", gettext("not yet")), ("yes", gettext("acknowledged"))]

    def queryset(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[QuotaViolation],
    ) -> QuerySet[QuotaViolation]:
        wanted = {"no": True, "yes": False}.get(self.value() or "")
        return queryset if wanted is None else queryset.filter(acknowledged_at__isnull=wanted)


class _OfAnHour(ReadOnlyAdmin[M]):
    class Media:
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")

    @display(description=_("hour"), ordering="period_start")
    def hour(self, row: Any) -> str:
        return hour_in_words(row.period_start, row.period_end)


@admin.register(QuotaTracker)
class QuotaTrackerAdmin(_OfAnHour[QuotaTracker]):
    list_display = ("hour", "olt", "task_type", "progress", "status_badge", "mean")
    list_filter = (
        recent_filter("period_start", _("hour"), by_the_clock=True),
        RiskFilter,
        "status",
        TaskTypeFilter,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name", "task_type")
    actions = (export_csv,)
    readonly_fields = ("hour", "progress", "why", "mean", "total")
    fieldsets = (
        (None, {"fields": (("olt", "task_type"), ("hour", "status"), "progress", "why")}),
        (
            _("Figures"),
            {
                "fields": (
                    ("quota_required", "quota_pending"),
                    ("quota_completed", "quota_failed"),
                    ("quota_skipped", "closed_at"),
                    ("mean", "total"),
                    ("created_at", "updated_at"),
                )
            },
        ),
    )

    @display(description=_("progress"), ordering=SHARE)
    def progress(self, tracker: QuotaTracker) -> str:
        mark = risk_mark(risk_of(tracker, current().quota_kept))
        return format_html("<div>{}{}</div>", progress_bar(tracker_progress(tracker)), mark)

    @display(description=_("status"), ordering="status", label=QUOTA_COLOURS)
    def status_badge(self, tracker: QuotaTracker) -> tuple[str, str]:
        return tracker.status, tracker.get_status_display()

    @display(description=_("mean duration"), ordering="avg_duration_ms")
    def mean(self, tracker: QuotaTracker) -> str:
        return duration(timedelta(milliseconds=tracker.avg_duration_ms)) if tracker.quota_completed else ""

    @display(description=_("total duration"))
    def total(self, tracker: QuotaTracker) -> str:
        return duration(timedelta(milliseconds=tracker.total_duration_ms)) if tracker.quota_completed else ""

    @display(description=_("reasons for lost slots"))
    def why(self, tracker: QuotaTracker) -> str:
        return render_to_string(
            "facho_admin/quota_reasons.html", {"reasons": reasons_of({"reasons": tracker.reasons})}
        )


@admin.register(QuotaViolation)
class QuotaViolationAdmin(_OfAnHour[QuotaViolation]):
    list_display = ("hour", "severity_badge", "olt", "missed", "top_reason", "notified", "seen_by")
    list_filter = (
        "severity",
        recent_filter("created_at", _("created at"), by_the_clock=True),
        "notified",
        AcknowledgedFilter,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name",)
    actions = ("acknowledge", export_csv)
    readonly_fields = ("hour", "tasks", "as_json")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("olt", "hour"),
                    ("severity", "created_at"),
                    ("notified", "notified_at"),
                    ("acknowledged_at", "acknowledged_by"),
                )
            },
        ),
        (_("Report"), {"fields": ("tasks",)}),
        ("JSON", {"fields": ("as_json",)}),
    )

    @admin.action(description=_("Acknowledge"), permissions=["acknowledge"])
    def acknowledge(self, request: HttpRequest, chosen: QuerySet[QuotaViolation]) -> None:
        form_commands.show_outcome(request, lambda: _acknowledge_chosen(chosen, request.user.get_username()))

    @display(description=_("acknowledged"), ordering="acknowledged_at")
    def seen_by(self, violation: QuotaViolation) -> str:
        if violation.acknowledged_at is None:
            return ""
        return f"{violation.acknowledged_by}, {moment(violation.acknowledged_at, timezone.now())}"

    @display(description=_("severity"), ordering="severity", label=SEVERITY_COLOURS)
    def severity_badge(self, violation: QuotaViolation) -> tuple[str, str]:
        return violation.severity, violation.get_severity_display()

    @display(description=_("tasks below their quota"))
    def missed(self, violation: QuotaViolation) -> str:
        return missed_in_words(tasks_of(violation.report))

    @display(description=_("main reason"))
    def top_reason(self, violation: QuotaViolation) -> str:
        reasons = reasons_of(violation.report)
        return lost_in_words(reasons[0]) if reasons else ""

    @display(description=_("tasks"))
    def tasks(self, violation: QuotaViolation) -> str:
        tasks = tasks_of(violation.report)
        bars = [
            progress_bar(Progress(task.required, task.completed, task.failed, task.skipped)) for task in tasks
        ]
        shown = {
            "tasks": zip(tasks, bars, strict=True),
            "reasons": reasons_of(violation.report),
        }
        return render_to_string("facho_admin/quota_report.html", shown)

    @display(description=_("report"))
    def as_json(self, violation: QuotaViolation) -> str:
        return readable_json(violation.report)


def _acknowledge_chosen(chosen: QuerySet[QuotaViolation], by: str) -> str:
    keys = list(chosen.filter(acknowledged_at=None).values_list("id", flat=True))
    for key in keys:
        acknowledge_violation(key, by, database_now())
    said = ngettext("%(count)d was acknowledged.", "%(count)d were acknowledged.", len(keys))
    return said % {"count": len(keys)}
