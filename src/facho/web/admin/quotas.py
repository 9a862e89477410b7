"""Quotas of OLTs per hour, and their violations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.execution_coordinator.texts import hour_in_words, lost_in_words, missed_in_words
from facho.apps.localized_numbers import duration
from facho.apps.snmp_jobs.models import SnmpJob
from facho.config import current
from facho.core.violation_report import reasons_of, tasks_of
from facho.engine.commands.acknowledgements import acknowledge_violation
from facho.web.admin.base import M, OltRowsAdmin, show_outcome
from facho.web.admin.columns import choice_badge, display, readable_json
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import choice_filter, list_filter, recent_filter
from facho.web.components.filters import moment
from facho.web.components.quotas import (
    SHARE,
    at_risk,
    progress_bar,
    risk_mark,
    risk_of,
    tasks_with_bars,
    tracker_progress,
)
from facho.web.words.colours import SEVERITY_COLOURS
from facho.web.words.quota_results import RESULT_OF, RESULTS, QuotaResult


def _task_types_of_jobs(_model: Any) -> list[tuple[str, str]]:
    """Return the task types of jobs: a year of trackers is too long to read them from."""
    types = SnmpJob.objects.order_by("task_type").values_list("task_type", flat=True).distinct()
    return [(each, each) for each in types]


TASK_TYPE_FILTER = list_filter(
    "task_type", _("task type"), _task_types_of_jobs, lambda rows, value: rows.filter(task_type=value)
)
_RISK_FILTER = choice_filter(
    "risk", _("risk"), {"yes": (_("at risk"), lambda rows: rows.filter(at_risk(current().quota_kept)))}
)
_RESULT_COLOURS: Final = {each.key: each.colour for each in RESULTS}


def _with_result(result: QuotaResult) -> Callable[[QuerySet[Any]], QuerySet[Any]]:
    return lambda rows: rows.filter(status__in=result.statuses)


_RESULT_FILTER = choice_filter(
    "result", _("result"), {each.key: (each.name, _with_result(each)) for each in RESULTS}
)
_ACKNOWLEDGED_FILTER = choice_filter(
    "acknowledged",
    _("acknowledged"),
    {
        "no": (_("not yet"), lambda rows: rows.filter(acknowledged_at__isnull=True)),
        "yes": (_("acknowledged"), lambda rows: rows.filter(acknowledged_at__isnull=False)),
    },
)


class _OfAnHour(OltRowsAdmin[M]):
    class Media:
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    @display(description=_("hour"), ordering="period_start")
    def hour(self, row: Any) -> str:
        return hour_in_words(row.period_start, row.period_end)


@admin.register(QuotaTracker)
class QuotaTrackerAdmin(_OfAnHour[QuotaTracker]):
    list_display = ("hour", "olt", "task_type", "progress", "result", "mean")
    list_filter = (
        recent_filter("period_start", _("hour"), by_the_clock=True),
        _RISK_FILTER,
        _RESULT_FILTER,
        TASK_TYPE_FILTER,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name", "task_type")
    actions = (export_csv,)
    readonly_fields = ("hour", "result", "progress", "why", "mean", "total")
    fieldsets = (
        (None, {"fields": (("olt", "task_type"), ("hour", "result"), "progress", "why")}),
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

    @display(description=_("result"), ordering="status", label=_RESULT_COLOURS)
    def result(self, tracker: QuotaTracker) -> tuple[str, str]:
        found = RESULT_OF[tracker.status]
        return found.key, str(found.name)

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
        recent_filter("period_start", _("hour"), by_the_clock=True, indexed="created_at"),
        "notified",
        _ACKNOWLEDGED_FILTER,
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
                    "acknowledged_note",
                )
            },
        ),
        (_("Report"), {"fields": ("tasks",)}),
        ("JSON", {"fields": ("as_json",)}),
    )

    def view_on_site(self, violation: QuotaViolation) -> str:
        return reverse("violation", args=[violation.pk])

    @admin.action(description=_("Acknowledge"), permissions=["acknowledge"])
    def acknowledge(self, request: HttpRequest, chosen: QuerySet[QuotaViolation]) -> None:
        show_outcome(request, lambda: _acknowledge_chosen(chosen, request.user.get_username()))

    @display(description=_("acknowledged"), ordering="acknowledged_at")
    def seen_by(self, violation: QuotaViolation) -> str:
        if violation.acknowledged_at is None:
            return ""
        return f"{violation.acknowledged_by}, {moment(violation.acknowledged_at, timezone.now())}"

    severity_badge = choice_badge("severity", _("severity"), SEVERITY_COLOURS)

    @display(description=_("report"))
    def as_json(self, violation: QuotaViolation) -> str:
        return readable_json(violation.report)

    @display(description=_("tasks below their quota"))
    def missed(self, violation: QuotaViolation) -> str:
        return missed_in_words(tasks_of(violation.report))

    @display(description=_("main reason"))
    def top_reason(self, violation: QuotaViolation) -> str:
        reasons = reasons_of(violation.report)
        return lost_in_words(reasons[0]) if reasons else ""

    @display(description=_("tasks"))
    def tasks(self, violation: QuotaViolation) -> str:
        shown = {"tasks": tasks_with_bars(violation.report), "reasons": reasons_of(violation.report)}
        return render_to_string("facho_admin/quota_report.html", shown)


def _acknowledge_chosen(chosen: QuerySet[QuotaViolation], by: str) -> str:
    keys = list(chosen.filter(acknowledged_at=None).values_list("id", flat=True))
    for key in keys:
        acknowledge_violation(key, by, database_now())
    said = ngettext("%(count)d was acknowledged.", "%(count)d were acknowledged.", len(keys))
    return said % {"count": len(keys)}
