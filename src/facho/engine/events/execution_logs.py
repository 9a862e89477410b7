"""A line for every execution that ended for good: discoveries in one file, all others in another."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import connection
from django.utils import translation
from django.utils.translation import gettext as _

from facho.apps.db import sql
from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.executions.models import State
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import JobKind
from facho.core.event_types import Level
from facho.core.reasons import Reason, decode
from facho.engine.events import stream
from facho.engine.events.coordinator_log import DISCOVERY, GET, log_writer

log = logging.getLogger(__name__)

_AT_ONCE: Final = 500
_LEVELS: Final = {State.SUCCESS: Level.INFO, State.ABORTED: Level.WARNING, State.FAILED: Level.ERROR}


def log_ended_executions(execution_ids: Sequence[int]) -> None:
    """Write their lines when the transaction that ended them commits."""
    if execution_ids:
        stream.after_commit(partial(_write_lines, list(execution_ids)))


@dataclass(frozen=True, slots=True)
class _Ended:
    execution_id: int
    state: State
    olt: str
    job: str
    kind: str
    ended_at: datetime
    # The time that its last attempt took; None when it never ran.
    seconds: float | None
    delay_ms: int | None
    why_late: str
    blocker: str
    error: Reason


def _write_lines(execution_ids: Sequence[int]) -> None:
    try:
        with translation.override(log_writer.config.language):
            for each in _fetch_ended(execution_ids):
                name = DISCOVERY if each.kind == JobKind.DISCOVERY else GET
                source = f"executions.{each.kind or 'by_hand'}"
                log_writer.write_line(name, each.ended_at, _LEVELS[each.state], source, _sentence(each))
    except Exception:
        log.exception("ended executions not logged", extra={"action": "not_logged"})
        if not connection.in_atomic_block:
            connection.close()


def _sentence(each: _Ended) -> str:
    values = {"id": each.execution_id, "job": each.job or _("by hand"), "olt": each.olt, "state": each.state}
    if each.seconds is None:
        sentence = _("%(job)s on %(olt)s, execution %(id)d: %(state)s before it started") % values
    else:
        times = {"took": f"{each.seconds:.1f}s", "delay": f"{(each.delay_ms or 0) / 1000:.1f}s"}
        text = _("%(job)s on %(olt)s, execution %(id)d: %(state)s in %(took)s, delay %(delay)s")
        sentence = text % {**values, **times}
    if each.why_late:
        sentence += f" ({' '.join(filter(None, (str(DELAY_TEXTS[each.why_late]), each.blocker)))})"
    return f"{sentence}: {reason_words(each.error)}" if each.error else sentence


def _fetch_ended(execution_ids: Sequence[int]) -> Iterator[_Ended]:
    for start in range(0, len(execution_ids), _AT_ONCE):
        some = execution_ids[start : start + _AT_ONCE]
        places = ", ".join(["%s"] * len(some))
        for row in sql.fetch_rows(_ENDED.format(places), some):
            execution_id, state, olt, job, kind, ended, *attempt, delay_ms, why, blocker, error = row
            seconds = _seconds(*attempt)
            yield _Ended(
                execution_id,
                State(state),
                olt,
                job,
                kind,
                sql.parse_time(ended),
                seconds,
                delay_ms,
                why,
                blocker,
                decode(error),
            )


def _seconds(began: Any, ended: Any) -> float | None:
    if began is None or ended is None:
        return None
    return (sql.parse_time(ended) - sql.parse_time(began)).total_seconds()


_ENDED: Final = (
    "SELECT e.id, e.state, o.name, "
    " COALESCE(j.name, 'ONU ' || COALESCE(NULLIF(u.serial, ''), NULLIF(u.mac, ''), u.address), ''),"
    " COALESCE(j.kind, CASE WHEN e.onu_id IS NULL THEN '' ELSE 'onu' END), e.ended_at,"
    " a.started_at, a.ended_at, e.delay_ms, e.why_late, COALESCE(other_job.name, ''), e.error"
    " FROM snmp_executions e JOIN olts o ON o.id = e.olt_id"
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
    " LEFT JOIN onu_data u ON u.id = e.onu_id"
    " LEFT JOIN execution_attempts a ON a.execution_id = e.id AND a.number = e.attempt"
    " LEFT JOIN snmp_executions other ON other.id = e.blocked_by_id"
    " LEFT JOIN snmp_job_hosts other_node ON other_node.id = other.node_id"
    " LEFT JOIN snmp_jobs other_job ON other_job.id = other_node.job_id"
    " WHERE e.id IN ({}) AND e.ended_at IS NOT NULL ORDER BY e.ended_at, e.id"
)
