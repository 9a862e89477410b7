"""Quotas as pages show them: the progress of an hour, and whether its quota can still be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final

from django.db.models import Case, Count, ExpressionWrapper, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import NullIf
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, npgettext

from facho.apps.execution_coordinator.models import QuotaStatus, QuotaTracker, QuotaViolation
from facho.config import Config
from facho.core.lost_slots import LostSlots
from facho.core.quota import Hour, hour_of, slots_left
from facho.core.violation_report import TaskReport, reasons_of, tasks_of
from facho.engine.upkeep.system_status import is_at_risk
from facho.web.words.quota_results import RESULTS, QuotaResult

_A_DAY: Final = timedelta(days=1)
# The share of the required runs that are completed.
SHARE: Final = ExpressionWrapper(
    F("quota_completed") * Value(1.0) / NullIf(F("quota_required"), 0), FloatField()
)


@dataclass(frozen=True, slots=True)
class Progress:
    required: int
    completed: int
    failed: int
    skipped: int
    pending: int = 0

    def __str__(self) -> str:
        """Return the bar in words: `10 of 12, 1 failed, 1 pending`."""
        done = gettext("%(completed)d of %(required)d") % {
            "completed": self.completed,
            "required": self.required,
        }
        rest = (
            npgettext("runs", "%(count)d failed", "%(count)d failed", self.failed) % {"count": self.failed},
            npgettext("runs", "%(count)d skipped", "%(count)d skipped", self.skipped)
            % {"count": self.skipped},
            npgettext("runs", "%(count)d pending", "%(count)d pending", self.pending)
            % {"count": self.pending},
        )
        counts = (self.failed, self.skipped, self.pending)
        return ", ".join([done, *(text for text, count in zip(rest, counts, strict=True) if count)])


def tracker_progress(tracker: QuotaTracker) -> Progress:
    return Progress(
        tracker.quota_required,
        tracker.quota_completed,
        tracker.quota_failed,
        tracker.quota_skipped,
        tracker.quota_pending,
    )


def progress_bar(progress: Progress) -> SafeString:
    """Draw the progress as a bar with the words below it."""
    counts = {
        "completed": progress.completed,
        "failed": progress.failed,
        "skipped": progress.skipped,
        "pending": progress.pending,
    }
    return draw_bar(counts, str(progress))


def tasks_with_bars(report: Mapping[str, Any]) -> list[tuple[TaskReport, SafeString]]:
    """Return the tasks of the report of a violation, each with its progress."""
    return [
        (task, progress_bar(Progress(task.required, task.completed, task.failed, task.skipped)))
        for task in tasks_of(report)
    ]


def draw_bar(parts: Mapping[str, float], words: str) -> SafeString:
    """Draw the parts one after another, each as long as its share."""
    whole = sum(parts.values()) or 1
    ends = [100 * end / whole for end in accumulate(parts.values(), initial=0.0)]
    lines = (
        (name, f"{start:.2f}%", f"{end:.2f}%")
        for name, start, end in zip(parts, ends, ends[1:], strict=False)
        if end > start
    )
    drawn = format_html_join("", '<line class="fd-{}" x1="{}" x2="{}" y1="50%" y2="50%"></line>', lines)
    return format_html(
        '<span class="fd-quota"><svg class="fd-bar" aria-hidden="true">{}</svg><small>{}</small></span>',
        drawn,
        words,
    )


def risk_mark(risk: str) -> SafeString:
    return format_html('<span class="fd-risk">⚠ {}</span>', risk) if risk else SafeString()


def at_risk(kept: float) -> Q:
    """Return the condition of open hours with fewer slots left than the quota needs."""
    return Q(status=QuotaStatus.IN_PROGRESS, closed_at__isnull=True) & Q(is_at_risk(kept))


def risk_of(tracker: QuotaTracker, kept: float) -> str:
    """Return `3 slots left, 4 needed` for a quota at risk, else an empty text."""
    if tracker.closed_at is not None or tracker.status != QuotaStatus.IN_PROGRESS:
        return ""
    left, needed = slots_left(
        tracker.quota_pending, tracker.quota_required, tracker.quota_completed, kept=kept
    )
    if left >= needed:
        return ""
    text = ngettext("%(left)d slot left, %(needed)d needed", "%(left)d slots left, %(needed)d needed", left)
    return text % {"left": left, "needed": needed}


@dataclass(frozen=True, slots=True)
class QuotaRow:
    olt_id: int
    olt: str
    task_type: str
    status: str
    progress: Progress
    # Empty when there is none.
    risk: str


@dataclass(frozen=True, slots=True)
class HourQuotas:
    """The quotas of an hour: those at risk first, then those that lost the most slots."""

    hour: Hour
    # Counts by result, without zeros.
    results: Sequence[tuple[QuotaResult, int]]
    at_risk: int
    first: Sequence[QuotaRow]

    @property
    def more(self) -> int:
        """Return how many there are beside the first."""
        return sum(count for _, count in self.results) - len(self.first)


@dataclass(frozen=True, slots=True)
class ViolationRow:
    violation_id: int
    olt_id: int
    olt: str
    hour: Hour
    severity: str
    tasks: Sequence[TaskReport]
    main_reason: LostSlots | None
    # Empty until a person acknowledges it.
    acknowledged_by: str = ""


def hour_quotas(now: datetime, config: Config, limit: int) -> HourQuotas:
    hour = hour_of(now, config.time_zone)
    trackers = QuotaTracker.objects.filter(period_start=hour.start)
    risky = at_risk(config.quota_kept)
    by_result = {each.key: Count("id", filter=Q(status__in=each.statuses)) for each in RESULTS}
    counts = trackers.aggregate(at_risk=Count("id", filter=risky), **by_result)
    worst = (Case(When(risky, then=0), default=1), -(F("quota_failed") + F("quota_skipped")))
    rows = trackers.order_by(*worst, "olt__name", "task_type").annotate(olt_name=F("olt__name"))
    return HourQuotas(
        hour=hour,
        results=[(each, counts[each.key]) for each in RESULTS if counts[each.key]],
        at_risk=counts["at_risk"],
        first=[_quota_row(row, row.olt_name, config) for row in rows[:limit]],
    )


def _quota_row(tracker: QuotaTracker, olt: str, config: Config) -> QuotaRow:
    return QuotaRow(
        olt_id=tracker.olt_id,
        olt=olt,
        task_type=tracker.task_type,
        status=tracker.status,
        progress=tracker_progress(tracker),
        risk=risk_of(tracker, config.quota_kept),
    )


def olt_quotas(olt_id: int, now: datetime, config: Config) -> list[QuotaRow]:
    """Return the quotas of an OLT in this hour."""
    hour = hour_of(now, config.time_zone)
    trackers = QuotaTracker.objects.filter(olt=olt_id, period_start=hour.start)
    return [_quota_row(row, "", config) for row in trackers.order_by("task_type")]


def recent_violations(limit: int) -> Iterator[ViolationRow]:
    return _violation_rows(QuotaViolation.objects.all(), limit)


def olt_violations(olt_id: int, now: datetime, limit: int) -> Iterator[ViolationRow]:
    """Return the violations of the last day, and older ones that are not acknowledged."""
    recent_or_open = Q(created_at__gte=now - _A_DAY) | Q(acknowledged_at=None)
    return _violation_rows(QuotaViolation.objects.filter(recent_or_open, olt=olt_id), limit)


def open_violations(olt_id: int, limit: int) -> tuple[list[ViolationRow], int]:
    """Return the newest violations of an OLT that nobody has acknowledged, and how many there are in all."""
    rows = QuotaViolation.objects.filter(olt=olt_id, acknowledged_at=None)
    return list(_violation_rows(rows, limit)), rows.count()


def _violation_rows(rows: QuerySet[QuotaViolation], limit: int) -> Iterator[ViolationRow]:
    columns = (
        "id", "olt_id", "olt__name", "period_start", "period_end", "severity", "report", "acknowledged_by"
    )  # fmt: skip
    found = rows.order_by("-created_at", "-id").values_list(*columns)[:limit]
    for key, olt_id, olt, start, end, severity, report, by in found:
        main = next(iter(reasons_of(report)), None)
        yield ViolationRow(key, olt_id, olt, Hour(start, end), severity, tasks_of(report), main, by)
