from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, SkippedSlots
from facho.core.durations import duration
from facho.web.admin.base import ReadOnlyAdmin, ReadOnlyInline, display, word_filter
from facho.web.admin.exporting import export_csv
from facho.web.words import STATE_COLOURS, WHY


class AttemptInline(ReadOnlyInline[Attempt, Execution]):
    model = Attempt
    fields = ("number", "started_at", "ended_at", "error", "worker")


@admin.register(Execution)
class ExecutionAdmin(ReadOnlyAdmin[Execution]):
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
        word_filter("why_late", _("why late"), WHY),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("=id", "olt__name", "node__job__name", "error")
    exclude = ("lease_token", "lease_expires_at")
    inlines = (AttemptInline,)
    actions = (export_csv,)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        related = super().get_queryset(request).select_related("olt", "node__job", "node__olt")
        return related.defer("olt__credentials", "node__olt__credentials")

    @display(description=_("state"), ordering="state", label=STATE_COLOURS)
    def state_badge(self, execution: Execution) -> tuple[str, str]:
        return execution.state, execution.get_state_display()

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
        return f"{late} ({WHY.get(execution.why_late, execution.why_late)})" if execution.why_late else late

    @display(description=_("duration"))
    def duration(self, execution: Execution) -> str:
        if execution.started_at is None or execution.ended_at is None:
            return ""
        return duration(execution.ended_at - execution.started_at)

    @display(description=_("error"))
    def short_error(self, execution: Execution) -> str:
        return execution.error if len(execution.error) <= 80 else f"{execution.error[:80]}…"


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin[Attempt]):
    list_display = ("execution", "number", "started_at", "ended_at", "worker", "error")
    search_fields = ("=execution__id", "worker", "error")
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        return super().get_queryset(request).select_related("execution")


@admin.register(SkippedSlots)
class SkippedSlotsAdmin(ReadOnlyAdmin[SkippedSlots]):
    list_display = ("olt", "job", "first_slot", "last_slot", "count", "reason", "detail")
    list_display_links = ("first_slot",)
    list_filter = (word_filter("why", _("why"), WHY), ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "node__job__name", "detail")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SkippedSlots]:
        related = super().get_queryset(request).select_related("olt", "node__job", "node__olt")
        return related.defer("olt__credentials", "node__olt__credentials")

    @display(description=_("job"), ordering="node__job__name")
    def job(self, skipped: SkippedSlots) -> str:
        return skipped.node.job.name

    @display(description=_("why"), ordering="why")
    def reason(self, skipped: SkippedSlots) -> str:
        return str(WHY.get(skipped.why, skipped.why))


@admin.register(ExecutionTotals)
class ExecutionTotalsAdmin(ReadOnlyAdmin[ExecutionTotals]):
    list_display = ("olt", "kind", "succeeded", "failed", "delayed", "retries", "requests", "timeouts")
    list_display_links = ("kind",)
    list_filter = ("kind", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "kind")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExecutionTotals]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")
