"""Writes what the engine did in a month: quotas, executions, skipped slots and the coordinator log."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from django.core.management.color import no_style
from django.db import connection
from django.db.models import Max
from django.utils import translation
from django.utils.translation import gettext

from facho.apps.db import sql
from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, SkippedSlots, State, Trigger
from facho.apps.executions.store import WITHIN
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import members_of
from facho.apps.zabbix_pollers.models import PollerStats
from facho.config import Config
from facho.core.delay import Why
from facho.core.quota import is_met, status_of
from facho.core.reasons import NO_REASON, Reason, encode, to_json
from facho.demo.runs import (
    HourOfTask,
    Member,
    Node,
    Run,
    count_hours,
    outage_run,
    run_last_day,
    skipped_in_outage,
)
from facho.demo.story import EXECUTIONS, OltOutage, Story
from facho.engine.coordinate.quota_hours import close_quota_hours
from facho.engine.events.stream import publish
from facho.engine.events.types import OltReachable, OltResumed, OltSuspended, OltUnreachable

_TRACKER: Final = (
    "olt", "task_type", "period_start", "period_end", "quota_required", "quota_completed", "quota_failed",
    "quota_skipped", "total_duration_ms", "avg_duration_ms", "reasons", "status", "closed_at", "created_at",
    "updated_at",
)  # fmt: skip
_EXECUTION: Final = (
    "id", "node", "olt", "state", "trigger", "slot", "not_before", "priority", "queued_at", "started_at",
    "ended_at", "delay_ms", "why_late", "blocked_by", "attempt", "parts", "counts", "load", "result", "owes",
    "error", "worker",
)  # fmt: skip
_ATTEMPT: Final = ("execution", "number", "started_at", "ended_at", "error", "worker")
_STATS: Final = (
    "timestamp", "total_pollers", "free_pollers", "busy_pollers", "busy_percentage", "queue_size",
    "is_saturated", "total_tasks_completed", "total_tasks_delayed",
)  # fmt: skip
_RUNS_A_MINUTE: Final = 18
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_WORKER: Final = "demo (simulated past)"
# An hour is closed a little after its last run has ended.
_CLOSED_AFTER: Final = timedelta(seconds=75)
_ACKNOWLEDGED_AFTER: Final = timedelta(hours=2)
_ONUS_PER_OLT: Final = 500


def nodes_of(olts: Iterable[str]) -> dict[str, list[Node]]:
    """Return the composite nodes of each OLT, by its name."""
    masters = SnmpJobHost.objects.filter(olt__name__in=olts, next_run_at__isnull=False)
    rows = list(masters.select_related("job", "olt").defer("olt__credentials"))
    members = members_of([each.id for each in rows])
    found: dict[str, list[Node]] = defaultdict(list)
    for each in rows:
        olt, job = each.olt, each.job
        found[olt.name].append(
            Node(
                olt.id,
                olt.name,
                f"{olt.address}:{olt.port}",
                tuple(Member(one.node_id, one.name, one.kind, one.task_type) for one in members[each.id]),
                each.interval_s or job.interval_s,
                each.priority or job.priority,
                job.max_attempts,
                job.retry_delay_s,
            )
        )
    return found


OutageRuns = Mapping[OltOutage, Run]


def find_outage_runs(nodes: Mapping[str, Sequence[Node]], story: Story) -> dict[OltOutage, Run]:
    """Return the execution with which each outage began, by the nodes of each OLT."""
    found = ((each, outage_run(nodes[each.olt], each, story)) for each in story.outages)
    return {outage: run for outage, run in found if run is not None}


def _failed_first(node: Node, outage_runs: OutageRuns) -> set[datetime]:
    return {run.slot for run in outage_runs.values() if run.node.id == node.id}


def write_quotas(nodes: Iterable[Node], outage_runs: OutageRuns, story: Story, config: Config) -> None:
    """Write the hours of quotas, up to the running one; the engine closes those that were missed."""
    hours = [
        each
        for node in nodes
        for each in count_hours(node, story, config.time_zone, _failed_first(node, outage_runs))
    ]
    missed = [each for each in hours if not is_met(each.required, each.completed, kept=config.quota_kept)]
    starts = {(each.node.olt_id, each.hour.start) for each in missed}
    # An hour is closed as a whole, with the tasks that were met.
    left = [each for each in hours if (each.node.olt_id, each.hour.start) in starts]
    done = [each for each in hours if (each.node.olt_id, each.hour.start) not in starts]
    _insert_trackers([_tracker(each, story, is_open=False) for each in done])
    for hour in sorted({each.hour for each in left}):
        _insert_trackers([_tracker(each, story, is_open=True) for each in left if each.hour == hour])
        close_quota_hours(hour.end + _CLOSED_AFTER, config)


def _insert_trackers(rows: Sequence[tuple[Any, ...]]) -> None:
    sql.insert_rows(QuotaTracker, _TRACKER, rows, is_adapted=True)


def _tracker(each: HourOfTask, story: Story, *, is_open: bool) -> tuple[Any, ...]:
    closed_at = None if is_open or each.hour.end > story.now else each.hour.end + _CLOSED_AFTER
    status = status_of(each.required, each.completed).value if closed_at else "IN_PROGRESS"
    total = round(1000 * each.seconds)
    return (
        each.node.olt_id,
        each.member.task_type,
        sql.db_time(each.hour.start),
        sql.db_time(each.hour.end),
        each.required,
        each.completed,
        each.failed,
        each.skipped,
        total,
        total // max(each.completed, 1),
        _json([reason.as_json() for reason in each.reasons]),
        status,
        sql.db_time(closed_at),
        sql.db_time(max(each.hour.start, story.start)),
        sql.db_time(closed_at or min(each.hour.end, story.now)),
    )


def acknowledge_older(story: Story, olts: Mapping[str, int], config: Config) -> None:
    """Acknowledge the violations of the outages that somebody has looked into, in the operator's language."""
    with translation.override(config.language):
        note = gettext("the switch of the site was replaced")
    for outage in story.outages:
        if outage.is_seen:
            violations = QuotaViolation.objects.filter(olt=olts[outage.olt], period_start__lte=outage.since)
            violations.filter(period_end__gt=outage.since).update(
                acknowledged_at=outage.until + _ACKNOWLEDGED_AFTER,
                acknowledged_by="admin",
                acknowledged_note=note,
            )


def write_runs(nodes: Mapping[str, Sequence[Node]], outage_runs: OutageRuns, story: Story) -> None:
    """Write the executions of the last day and of outages, their attempts, and the totals of all days."""
    first = (Execution.objects.aggregate(last=Max("id"))["last"] or 0) + 1
    by_olt = {several[0].olt_id: run_last_day(several, story) for several in nodes.values()}
    for run in outage_runs.values():
        by_olt[run.node.olt_id].append(run)
    every = [(olt_id, number, run) for olt_id, runs in by_olt.items() for number, run in enumerate(runs)]
    ordered = sorted(every, key=lambda each: each[2].slot)
    ids = {(olt_id, number): first + place for place, (olt_id, number, _) in enumerate(ordered)}
    executions, attempts = [], []
    for olt_id, number, run in ordered:
        own = ids[olt_id, number]
        blocker = None if run.blocked_by is None else ids[olt_id, run.blocked_by]
        executions.append(_execution(own, run, blocker))
        attempts += [
            (own, place, sql.db_time(begin), sql.db_time(end), _error(run), _WORKER)
            for place, (begin, end) in enumerate(run.attempts, 1)
        ]
    sql.insert_rows(Execution, _EXECUTION, executions, is_adapted=True)
    sql.insert_rows(Attempt, _ATTEMPT, attempts, is_adapted=True)
    # A server numbers the next execution by itself.
    for statement in connection.ops.sequence_reset_sql(no_style(), [Execution]):
        sql.execute(statement, [])
    _write_totals(by_olt, story)


def _execution(own: int, run: Run, blocker: int | None) -> tuple[Any, ...]:
    node, slot = run.node, sql.db_time(run.slot)
    started_at, is_retry = sql.db_time(run.started_at), len(run.attempts) > 1
    return (
        own,
        node.id,
        node.olt_id,
        (State.FAILED if run.failed else State.SUCCESS).value,
        (Trigger.RETRY if is_retry else Trigger.SCHEDULE).value,
        slot,
        started_at if is_retry else slot,
        node.priority,
        slot,
        started_at,
        sql.db_time(run.ended_at),
        round(run.delay / timedelta(milliseconds=1)),
        "" if blocker is None else Why.OLT_BUSY.value,
        blocker,
        len(run.attempts),
        _json(_parts(run)),
        _json({} if run.failed else _counts(run)),
        _json(_load(run)),
        "{}",
        _json([[member.node_id, member.task_type, node.interval_s] for member in node.members]),
        _error(run),
        _WORKER,
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _error(run: Run) -> str:
    return encode(run.node.no_answer if run.failed else NO_REASON)


def _parts(run: Run) -> list[dict[str, Any]]:
    master = run.node.members[0].job
    skipped = to_json(Reason.of("master_failed", job=master))
    errors = {"failed": to_json(run.node.no_answer), "skipped": skipped}
    return [
        {
            "node": part.member.node_id,
            "job": part.member.job,
            "kind": part.member.kind,
            "task_type": part.member.task_type,
            "state": part.outcome,
            "seconds": part.seconds,
            "rows": part.rows,
            **({"error": errors[part.outcome]} if part.outcome in errors else {}),
            **({"onus_asked": part.rows} if part.member.kind == "get" and part.rows else {}),
        }
        for part in run.parts
    ]


def _counts(run: Run) -> dict[str, int]:
    nothing = (
        "unanswered",
        "new",
        "moved",
        "changed",
        "absent",
        "returned",
        "unknown",
        "other",
        "duplicates",
    )
    rows = sum(part.rows for part in run.parts)
    return {"rows": rows, **dict.fromkeys(nothing, 0), "onus": _ONUS_PER_OLT}


def _load(run: Run) -> dict[str, float]:
    requests = sum(part.requests for part in run.parts)
    values = sum(part.values for part in run.parts)
    return {
        "requests": requests,
        "timeouts": sum(part.timeouts for part in run.parts),
        "varbinds": values,
        "bytes_sent": 60 * requests,
        "bytes_received": 33 * values,
        "seconds": round(sum(part.seconds for part in run.parts), 3),
    }


def _write_totals(by_olt: Mapping[int, Sequence[Run]], story: Story) -> None:
    """All days were as the last one."""
    days = (story.now - story.start) / timedelta(days=1)
    for olt_id, runs in by_olt.items():
        kinds: dict[str, list[Run]] = defaultdict(list)
        for run in runs:
            kinds[run.node.members[0].kind].append(run)
        for kind, several in kinds.items():
            sums = _sums(several)
            totals = {
                name: number * days if name.endswith("seconds") else int(number * days)
                for name, number in sums.items()
            }
            ExecutionTotals.objects.update_or_create(olt_id=olt_id, kind=kind, defaults=totals)


def _sums(runs: Sequence[Run]) -> dict[str, float]:
    seconds = [(run.ended_at - run.started_at).total_seconds() for run in runs]
    loads = [_load(run) for run in runs]
    return {
        "succeeded": sum(not run.failed for run in runs),
        "failed": sum(run.failed for run in runs),
        "seconds": sum(seconds),
        **{f"within_{most}s": sum(each <= most for each in seconds) for most in WITHIN},
        "delayed": sum(run.blocked_by is not None for run in runs),
        "delay_seconds": sum(run.delay.total_seconds() for run in runs),
        "retries": sum(len(run.attempts) - 1 for run in runs),
        **{
            name: sum(load[name] for load in loads)
            for name in ("requests", "timeouts", "varbinds", "bytes_sent", "bytes_received")
        },
        "snmp_seconds": sum(load["seconds"] for load in loads),
    }


def write_outage(outage: OltOutage, run: Run, nodes: Sequence[Node], story: Story) -> None:
    """Write the slots that were lost while an OLT did not answer, and what was reported of it."""
    olt_id, why = run.node.olt_id, run.node.no_answer
    for node in nodes:
        if skipped := skipped_in_outage(node, outage, story, {run.slot} if node is run.node else set()):
            SkippedSlots.objects.create(
                node_id=node.id,
                olt_id=olt_id,
                first_slot=skipped[0],
                last_slot=skipped[-1],
                count=len(skipped),
                why=Why.SUSPENDED.value,
                detail=why,
            )
    publish(OltUnreachable(olt_id=olt_id, failures=1, reason=why), run.attempts[0][1])
    publish(OltSuspended(olt_id=olt_id, reason=why), run.ended_at)
    publish(OltResumed(olt_id=olt_id), outage.until)
    publish(OltReachable(olt_id=olt_id, failures=0, since=outage.since), outage.until)


def write_poller_stats(story: Story, pollers: int) -> None:
    """Write how busy the pollers were: in each hour, and in each minute of the last day."""
    random = Random("pollers")
    day = max(story.start, story.now - EXECUTIONS)
    moments = [day - number * _HOUR for number in range(1, int((day - story.start) / _HOUR))]
    minutes = int((story.now - day) / _MINUTE)
    moments += [story.now - number * _MINUTE for number in range(1, minutes)]
    rows = []
    for moment in sorted(moments):
        busy, percentage = random.randrange(min(3, pollers + 1)), random.uniform(4.0, 8.0)
        done = round((moment - story.start) / _MINUTE * _RUNS_A_MINUTE)
        numbers = (pollers, pollers - busy, busy, percentage, busy // 2, False, done, done // 12)
        rows.append((moment, *numbers))
    sql.insert_rows(PollerStats, _STATS, rows)
