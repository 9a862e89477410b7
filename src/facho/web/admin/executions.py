from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.db.database import database_now
from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, SkippedSlots
from facho.apps.localized_numbers import duration
from facho.apps.reason_words import reason_words
from facho.core.reason_texts import TABLE_NOT_PRESENT
from facho.core.reasons import without_code
from facho.engine.commands import runs
from facho.web.admin.base import OltFactsAdmin, OltRowsAdmin, ReadOnlyAdmin, ReadOnlyInline, show_outcomes
from facho.web.admin.columns import (
    bytes_column,
    choice_badge,
    display,
    json_column,
    reason_column,
    word_column,
)
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import recent_filter, word_filter
from facho.web.admin.row_links import olt_link
from facho.web.words.colours import STATE_COLOURS


@display(description=_("duration"))
def _took(_admin: Any, attempt: Attempt) -> str:
    return "" if attempt.ended_at is None else duration(attempt.ended_at - attempt.started_at)


class AttemptInline(ReadOnlyInline[Attempt, Execution]):
    model = Attempt
    fields = ("number", "started_at", "took", "failure", "worker")
    readonly_fields = ("took", "failure")
    took = _took
    failure = reason_column("error", _("error"))


@admin.register(Execution)
class ExecutionAdmin(OltRowsAdmin[Execution]):
    list_display = (
        "id",
        "state_badge",
        "olt",
        "job",
        "due",
        "delay",
        "duration",
        "short_error",
    )
    list_filter = (
        "state",
        "trigger",
        recent_filter("slot", _("Slot"), by_the_clock=True, of_slots=True),
        word_filter("why_late", _("reason for the delay"), DELAY_TEXTS),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("=id", "olt__name", "node__job__name", "error")
    inlines = (AttemptInline,)
    actions = ("abort", export_csv)
    readonly_fields = ("job", "delay", "duration", "failure", "figures", "each_part", "raw")
    fieldsets = (
        (None, {"fields": (("olt", "job"), ("state", "trigger"), "failure")}),
        (
            _("Times"),
            {
                "fields": (
                    ("slot", "queued_at"),
                    ("started_at", "ended_at"),
                    ("delay", "duration"),
                    ("blocked_by", "worker"),
                )
            },
        ),
        (_("Results"), {"fields": ("each_part", "figures", "raw")}),
    )

    class Media:
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        rows = super().get_queryset(request)
        return rows.select_related("node__job", "node__olt").defer("node__olt__credentials")

    def view_on_site(self, execution: Execution) -> str:
        return reverse("execution", args=[execution.pk])

    state_badge = choice_badge("state", _("state"), STATE_COLOURS)
    failure = reason_column("error", _("error"))
    raw = json_column("result", _("result"))

    @display(description=_("job"), ordering="node__job__name")
    def job(self, execution: Execution) -> str:
        return execution.node.job.name if execution.node else ""

    @display(description=_("Slot"), ordering="slot")
    def due(self, execution: Execution) -> datetime:
        return execution.slot

    @display(description=_("delay"), ordering="delay_ms")
    def delay(self, execution: Execution) -> str:
        if execution.delay_ms is None:
            return ""
        late = duration(timedelta(milliseconds=execution.delay_ms))
        return (
            f"{late} ({DELAY_TEXTS.get(execution.why_late, execution.why_late)})"
            if execution.why_late
            else late
        )

    @display(description=_("duration"))
    def duration(self, execution: Execution) -> str:
        if execution.started_at is None or execution.ended_at is None:
            return ""
        return duration(execution.ended_at - execution.started_at)

    @display(description=_("error"))
    def short_error(self, execution: Execution) -> str:
        error = reason_words(without_code(execution.error, TABLE_NOT_PRESENT))
        return error if len(error) <= 80 else f"{error[:80]}…"

    @display(description=_("parts"))
    def each_part(self, execution: Execution) -> str:
        return render_to_string("facho_admin/execution_parts.html", {"parts": execution.parts})

    @display(description=_("figures"))
    def figures(self, execution: Execution) -> str:
        figures = {**execution.counts, **execution.load}
        return render_to_string("facho_admin/execution_figures.html", {"figures": figures})

    @admin.action(description=_("Abort"), permissions=["run"])
    def abort(self, request: HttpRequest, chosen: QuerySet[Execution]) -> None:
        show_outcomes(request, chosen.values_list("id", flat=True), _abort_execution)


def _abort_execution(execution_id: int) -> str:
    runs.abort_execution(execution_id, database_now())
    return gettext("Execution %(id)d was aborted.") % {"id": execution_id}


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin[Attempt]):
    list_display = ("execution", "number", "olt_page", "job", "started_at", "took", "failure", "worker")
    # By the slot of the execution, which has an index.
    list_filter = (recent_filter("execution__slot", _("Slot"), by_the_clock=True, of_slots=True),)
    search_fields = ("=execution__id", "worker", "error")
    ordering = ("-id",)
    readonly_fields = ("olt_page", "job", "took", "failure")
    fields = (("execution", "number"), ("olt_page", "job"), ("started_at", "ended_at"), "failure", "worker")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        related = super().get_queryset(request).select_related("execution__olt", "execution__node__job")
        return related.defer("execution__olt__credentials")

    def view_on_site(self, attempt: Attempt) -> str:
        return reverse("execution", args=[attempt.execution_id])

    @display(description="OLT", ordering="execution__olt__name")
    def olt_page(self, attempt: Attempt) -> SafeString:
        return olt_link(attempt.execution.olt)

    @display(description=_("job"))
    def job(self, attempt: Attempt) -> str:
        node = attempt.execution.node
        return node.job.name if node else ""

    took = _took
    failure = reason_column("error", _("error"))


@admin.register(SkippedSlots)
class SkippedSlotsAdmin(OltFactsAdmin[SkippedSlots]):
    list_display = ("olt", "job", "first_slot", "last_slot", "count", "reason", "more")
    list_display_links = ("olt", "first_slot")
    list_filter = (
        recent_filter("last_slot", _("last slot"), by_the_clock=True, of_slots=True),
        word_filter("why", _("reason"), DELAY_TEXTS),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name", "node__job__name", "detail")
    readonly_fields = ("job", "reason", "more")
    fields = (("olt", "job"), ("first_slot", "last_slot"), ("count", "reason"), "more", "execution")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SkippedSlots]:
        rows = super().get_queryset(request)
        return rows.select_related("node__job", "node__olt").defer("node__olt__credentials")

    @display(description=_("job"), ordering="node__job__name")
    def job(self, skipped: SkippedSlots) -> str:
        return skipped.node.job.name

    more = reason_column("detail", _("detail"))
    reason = word_column("why", _("reason"), DELAY_TEXTS)


@admin.register(ExecutionTotals)
class ExecutionTotalsAdmin(OltFactsAdmin[ExecutionTotals]):
    list_display = ("olt", "kind", "succeeded", "failed", "delayed", "retries", "requests", "timeouts")
    list_display_links = ("olt", "kind")
    list_filter = ("kind", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "kind")
    readonly_fields = ("time_taken", "waited", "sent", "received")
    fields = (
        ("olt", "kind"),
        ("succeeded", "failed"),
        ("time_taken", "retries"),
        ("delayed", "waited"),
        ("requests", "timeouts"),
        ("varbinds", "sent", "received"),
    )

    @display(description=_("total duration"))
    def time_taken(self, totals: ExecutionTotals) -> str:
        return duration(timedelta(seconds=totals.seconds))

    @display(description=_("delay"))
    def waited(self, totals: ExecutionTotals) -> str:
        return duration(timedelta(seconds=totals.delay_seconds))

    sent = bytes_column("bytes_sent", _("bytes sent"))
    received = bytes_column("bytes_received", _("bytes received"))
