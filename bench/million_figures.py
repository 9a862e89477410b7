"""What `facho bench million` reads from the database: runs, quotas and the size of what was stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bench.harness import Spread
from bench.million_system import COUNTED, GET_JOB, ON_TIME_S, READ, TRAFFIC_JOB, WALK_JOB, WALKED, Work
from bench.scheduler import Run, next_node_delays

# OLTs whose history is merged as it will be when its hour is closed.
_MERGED_OLTS: Final = 10
_DAY: Final = timedelta(days=1)
_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The measured time, by the clock of the database."""

    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        return (self.ended - self.began).total_seconds()


@dataclass(frozen=True, slots=True)
class Runs:
    """What became of the slots of the measured span."""

    due: int
    on_time: int
    skipped: int
    # Due, and neither begun nor counted as skipped.
    missing: int
    failed: int
    delay_s: Spread
    duration_s: Mapping[str, Spread]
    # Executions that ended within the window, and their values.
    ended: int
    values: int
    # From the end of an execution to the next one that waited for its OLT.
    next_node_ms: Spread
    why_late: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quotas:
    statuses: Mapping[str, int]
    required: int
    completed: int
    failed: int
    skipped: int
    violations: int


@dataclass(frozen=True, slots=True)
class Storage:
    bytes_per_onu_day: float
    history_bytes_per_sample: float
    frame_bytes_per_sample: float
    rows_bytes_per_onu_day: float


# By job: the values of an ONU that it reads.
_VALUES: Final = {WALK_JOB: len(WALKED), GET_JOB: len(READ), TRAFFIC_JOB: len(COUNTED)}


def slots_in(span: Span) -> Any:
    from facho.apps.executions.models import Execution, Trigger

    return Execution.objects.filter(
        slot__gt=span.began, slot__lte=span.ended, node__job__name__in=_VALUES
    ).exclude(trigger=Trigger.RUN_NOW)


def read_runs(span: Span) -> Runs:
    from facho.apps.executions.models import SkippedSlots, State
    from facho.apps.snmp_jobs.models import SnmpJobHost

    due = 0
    for slot, interval_s in SnmpJobHost.objects.filter(next_run_at__isnull=False).values_list(
        "next_run_at", "job__interval_s"
    ):
        assert slot is not None
        due += _slots_between(slot, timedelta(seconds=interval_s), span.began, span.ended)
    fields = ("node__job__name", "slot", "started_at", "ended_at", "state", "why_late", "load")
    runs = list(slots_in(span).values_list(*fields))
    begun = [(start - slot).total_seconds() for _, slot, start, *_ in runs if start is not None]
    ended = [run for run in runs if run[4] == State.SUCCESS]
    spans = SkippedSlots.objects.filter(last_slot__gt=span.began, first_slot__lte=span.ended)
    skipped = sum(
        _slots_between(
            last, timedelta(seconds=interval_s), max(span.began, first - _TICK), min(span.ended, last)
        )
        for first, last, interval_s in spans.values_list("first_slot", "last_slot", "node__job__interval_s")
    )
    return Runs(
        due=due,
        on_time=sum(delay <= ON_TIME_S for delay in begun),
        skipped=skipped,
        missing=max(0, due - skipped - len(begun)),
        failed=sum(run[4] in (State.FAILED, State.ABORTED) for run in runs),
        delay_s=Spread.of(begun),
        duration_s={
            job: Spread.of((end - start).total_seconds() for name, _, start, end, *_ in ended if name == job)
            for job in _VALUES
            if any(name == job for name, *_ in ended)
        },
        ended=_ended(span).count(),
        values=_count_values(span),
        next_node_ms=Spread.of(next_node_delays(_ended_runs(span))),
        why_late=Counter(run[5] for run in runs if run[5]),
    )


def _slots_between(slot: datetime, interval: timedelta, after: datetime, until: datetime) -> int:
    """Count the slots in (after, until] of a grid that has this slot."""
    return max(0, (until - slot) // interval - (after - slot) // interval)


def _ended(span: Span) -> Any:
    from facho.apps.executions.models import Execution, State

    return Execution.objects.filter(
        state=State.SUCCESS, ended_at__gt=span.began, ended_at__lte=span.ended, node__isnull=False
    )


def _ended_runs(span: Span) -> list[Run]:
    fields = ("olt_id", "slot", "queued_at", "started_at", "ended_at")
    return [Run(*row) for row in _ended(span).order_by("started_at").values_list(*fields)]


def _count_values(span: Span) -> int:
    """Count the values that were stored within the window: those of ONUs, and nothing else that was asked."""
    jobs = _ended(span).filter(node__job__name__in=_VALUES).values_list("node__job__name", "counts")
    return sum(_VALUES[job] * counts["rows"] for job, counts in jobs)


def read_quotas(span: Span) -> Quotas:
    from django.db.models import Count, Sum

    from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation

    trackers = QuotaTracker.objects.filter(period_end__gt=span.began)
    statuses = trackers.order_by().values("status").annotate(count=Count("id"))
    sums = trackers.aggregate(
        required=Sum("quota_required", default=0),
        completed=Sum("quota_completed", default=0),
        failed=Sum("quota_failed", default=0),
        skipped=Sum("quota_skipped", default=0),
    )
    return Quotas(
        {each["status"]: each["count"] for each in statuses},
        **sums,
        violations=QuotaViolation.objects.filter(period_end__gt=span.began).count(),
    )


def measure_storage(work: Work, span: Span) -> Storage:
    from facho.apps.history.models import HistoryFrame, Subject
    from facho.apps.history.store import places_of_olt
    from facho.core.frames import read_sheet
    from facho.core.hours import merge_by_place

    frames = HistoryFrame.objects.filter(subject=Subject.ONU, at__gt=span.began, at__lte=span.ended).order_by(
        "at", "id"
    )
    olts = list(frames.order_by().values_list("olt_id", flat=True).distinct()[:_MERGED_OLTS])
    samples = open_bytes = closed_bytes = 0
    for olt_id in olts:
        data = [bytes(each) for each in frames.filter(olt_id=olt_id).values_list("data", flat=True)]
        sheets = [read_sheet(each) for each in data]
        samples += sum(
            value is not None for sheet in sheets for fact in sheet.facts for value in sheet.first(fact)
        )
        open_bytes += sum(map(len, data))
        closed_bytes += sum(len(sheet) for _, sheet in merge_by_place(sheets, places_of_olt(olt_id)))
    days = span.seconds / _DAY.total_seconds()
    rows = _row_bytes(span) / work.all_onus / days
    onus = max(1, len(olts)) * work.onus_of_olt
    return Storage(
        closed_bytes / onus / days + rows, closed_bytes / max(1, samples), open_bytes / max(1, samples), rows
    )


def _row_bytes(span: Span) -> float:
    """Return the size of the rows that the window added to tables that grow, without their indexes."""
    from django.db import connection, models

    from facho.apps.discovery.models import OnuEvent
    from facho.apps.executions.models import Attempt, Execution

    size = 0.0
    grown: tuple[tuple[type[models.Model], str], ...] = (
        (Execution, "queued_at"), (Attempt, "started_at"), (OnuEvent, "at"),
    )  # fmt: skip
    for model, column in grown:
        if connection.vendor == "postgresql":
            each = "pg_column_size(t.*)"
        else:
            names = [field.column for field in model._meta.concrete_fields]
            each = " + ".join(f'COALESCE(LENGTH(CAST(t."{name}" AS BLOB)), 0)' for name in names)
        with connection.cursor() as cursor:
            cursor.execute(
                f'SELECT COALESCE(SUM({each}), 0) FROM "{model._meta.db_table}" t'  # noqa: S608
                f' WHERE t."{column}" > %s AND t."{column}" <= %s',
                [_db_time(span.began), _db_time(span.ended)],
            )
            size += float(cursor.fetchone()[0])
    return size


def _db_time(at: datetime) -> Any:
    from facho.apps.db import sql

    return sql.db_time(at)
