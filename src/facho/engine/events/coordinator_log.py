"""The coordinator log: a line in a file and a row in the database for each event; and a line per execution.

Sentences are in the operator's language and without secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final

from django.db import DatabaseError, connection
from django.utils import translation
from django.utils.translation import gettext as _

from facho.apps.db import sql
from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.executions.models import State
from facho.apps.localized_numbers import localized
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import JobKind
from facho.config import Config, current
from facho.core.event_types import Level
from facho.core.reasons import Reason, decode
from facho.engine.events.log_rows import Flusher, LogEntry, LogRows
from facho.engine.events.sentences import clean, event_sentence
from facho.engine.events.types import Event, LogLinesLost, masked_json
from facho.log_files import LineFile, LostLines

log = logging.getLogger(__name__)
# Commands configure no logging, and must not print these messages on the terminal.
log.addHandler(logging.NullHandler())

MAIN: Final = "coordinator/main.log"
DISCOVERY: Final = "discovery.log"
GET: Final = "get.log"
TABLE: Final = "coordinator_logs"


class LogWriter:
    """Writes an event first to the file, then to the queue of the database."""

    # False leaves the rows in the queue until `flush` is called, as tests do.
    background = True

    def __init__(self, config: Config | None = None) -> None:
        self._given_config = config
        self._flusher = Flusher(self.flush)

    # Read late: a module that imports this one may be loaded before the settings are.
    @cached_property
    def config(self) -> Config:
        return self._given_config or current()

    @cached_property
    def rows(self) -> LogRows:
        return LogRows(self.config.log_queue)

    @cached_property
    def files(self) -> Mapping[str, LineFile]:
        config = self.config
        return {
            name: LineFile(config.logs / name, largest=config.log_bytes, backups=config.log_backups)
            for name in (MAIN, DISCOVERY, GET)
        }

    def write_event(self, event: Event, now: datetime, olt_name: str | None = None) -> None:
        """Log an event; never raises. The name of its OLT is looked up unless it is given."""
        try:
            self._write(self._entry(event, now, olt_name))
        except Exception:
            log.exception("event not logged because of a bug", extra={"action": "bug", "event": event.type})

    def write_line(self, name: str, at: datetime, level: Level, source: str, message: str) -> None:
        """Write a line to one of the files, and not to the database."""
        local = at.astimezone(self.config.time_zone)
        line = f"{local:%Y-%m-%d %H:%M:%S} [{level}] {source}: {clean(message)}"
        if lost := self.files[name].write(line, at):
            self._report_lost(name, lost, at)

    def flush(self) -> bool:
        """Write the queue to the database; return False when entries are left."""
        while last := self.rows.flush():
            if not (lost := self.rows.losses.take()):
                break
            self._report_lost(TABLE, lost, last.at)
        return not len(self.rows)

    def _report_lost(self, sink: str, lost: LostLines, now: datetime) -> None:
        event = LogLinesLost(sink=sink, lines=lost.lines, since=lost.since, until=lost.until)
        self._write(self._entry(event, now))

    def _entry(self, event: Event, now: datetime, olt_name: str | None = None) -> LogEntry:
        assert event.type is not None
        details = event.log_details()
        with translation.override(self.config.language):
            olt = None if event.olt_id is None else olt_name or _find_olt_name(event.olt_id)
            message = event_sentence(event, olt, self._write_time)
        return LogEntry(
            event.type, event.level, event.source, now, event.olt_id, message, masked_json(details)
        )

    def _write_time(self, at: datetime) -> str:
        """Return a time as the lines of the file begin with, in every language."""
        return f"{at.astimezone(self.config.time_zone):%Y-%m-%d %H:%M}"

    def _write(self, entry: LogEntry) -> None:
        self.write_line(MAIN, entry.at, entry.level, f"coordinator.{entry.source}", entry.message)
        self.rows.put(entry)
        if self.background:
            self._flusher.wake()
        extra = {"action": entry.type.value, "olt_id": entry.olt_id}
        log.log(logging.getLevelNamesMapping()[entry.level], "%s", entry.message, extra=extra)


log_writer: Final = LogWriter()


def _find_olt_name(olt_id: int) -> str:
    unknown = f"OLT {olt_id}"
    try:
        found = sql.fetch_rows("SELECT name FROM olts WHERE id = %s", [olt_id])
    except DatabaseError:
        if not connection.in_atomic_block:
            connection.close()
        return unknown
    return str(found[0][0]) if found else unknown


_AT_ONCE: Final = 500
_LEVELS: Final = {State.SUCCESS: Level.INFO, State.ABORTED: Level.WARNING, State.FAILED: Level.ERROR}


def log_ended_executions(execution_ids: Sequence[int]) -> None:
    """Write their lines when the transaction that ended them commits."""
    if execution_ids:
        sql.after_commit(partial(_write_lines, list(execution_ids)))


def log_ended_attempts(ended: Sequence[tuple[LogSubject, State, datetime, float, Reason]]) -> None:
    """Write the lines of those whose subjects were read before they ended, when the transaction commits."""
    if ended:
        sql.after_commit(partial(_write_ended, [_Ended(*each) for each in ended]))


@dataclass(frozen=True, slots=True)
class LogSubject:
    """What the line of an execution names, in the order of LOG_SUBJECT_COLUMNS."""

    execution_id: int
    olt: str
    job: str
    kind: str
    delay_ms: int | None
    why_late: str
    blocker: str


@dataclass(frozen=True, slots=True)
class _Ended:
    subject: LogSubject
    state: State
    ended_at: datetime
    # The time that its last attempt took; None when it never ran.
    seconds: float | None
    error: Reason


def _write_lines(execution_ids: Sequence[int]) -> None:
    try:
        ended = list(_fetch_ended(execution_ids))
    except Exception:
        log.exception("ended executions not logged", extra={"action": "not_logged"})
        if not connection.in_atomic_block:
            connection.close()
    else:
        _write_ended(ended)


def _write_ended(ended: Iterable[_Ended]) -> None:
    try:
        with translation.override(log_writer.config.language):
            for each in ended:
                kind = each.subject.kind
                name = DISCOVERY if kind == JobKind.DISCOVERY else GET
                source = f"executions.{kind or 'by_hand'}"
                log_writer.write_line(name, each.ended_at, _LEVELS[each.state], source, _sentence(each))
    except Exception:
        log.exception("ended executions not logged", extra={"action": "not_logged"})


def _sentence(each: _Ended) -> str:
    subject, state = each.subject, each.state
    values = {
        "id": subject.execution_id,
        "job": subject.job or _("by hand"),
        "olt": subject.olt,
        "state": state,
    }
    if each.seconds is None:
        sentence = _("%(job)s on %(olt)s, execution %(id)d: %(state)s before it started") % values
    else:
        seconds = {"took": each.seconds, "delay": (subject.delay_ms or 0) / 1000}
        times = {name: localized(f"{length:.1f} s") for name, length in seconds.items()}
        text = _("%(job)s on %(olt)s, execution %(id)d: %(state)s in %(took)s, delay %(delay)s")
        sentence = text % {**values, **times}
    if subject.why_late:
        sentence += f" ({' '.join(filter(None, (str(DELAY_TEXTS[subject.why_late]), subject.blocker)))})"
    return f"{sentence}: {reason_words(each.error)}" if each.error else sentence


def _fetch_ended(execution_ids: Sequence[int]) -> Iterator[_Ended]:
    for start in range(0, len(execution_ids), _AT_ONCE):
        some = execution_ids[start : start + _AT_ONCE]
        places = ", ".join(["%s"] * len(some))
        for execution_id, state, ended, began, until, error, *subject in sql.fetch_rows(
            _ENDED.format(places), some
        ):
            yield _Ended(
                LogSubject(execution_id, *subject),
                State(state),
                sql.parse_time(ended),
                _seconds(began, until),
                decode(error),
            )


def _seconds(began: Any, ended: Any) -> float | None:
    if began is None or ended is None:
        return None
    return (sql.parse_time(ended) - sql.parse_time(began)).total_seconds()


# Of an execution `e` on an OLT `o`.
LOG_SUBJECT_COLUMNS: Final = (
    "o.name, COALESCE(j.name, 'ONU ' || COALESCE(NULLIF(u.serial, ''), NULLIF(u.mac, ''), u.address), ''),"
    " COALESCE(j.kind, CASE WHEN e.onu_id IS NULL THEN '' ELSE 'onu' END), e.delay_ms, e.why_late,"
    " COALESCE(other_job.name, '')"
)
LOG_SUBJECT_JOINS: Final = (
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
    " LEFT JOIN onu_data u ON u.id = e.onu_id"
    " LEFT JOIN snmp_executions other ON other.id = e.blocked_by_id"
    " LEFT JOIN snmp_job_hosts other_node ON other_node.id = other.node_id"
    " LEFT JOIN snmp_jobs other_job ON other_job.id = other_node.job_id"
)
_ENDED: Final = (
    f"SELECT e.id, e.state, e.ended_at, a.started_at, a.ended_at, e.error, {LOG_SUBJECT_COLUMNS}"  # noqa: S608
    f" FROM snmp_executions e JOIN olts o ON o.id = e.olt_id{LOG_SUBJECT_JOINS}"
    " LEFT JOIN execution_attempts a ON a.execution_id = e.id AND a.number = e.attempt"
    " WHERE e.id IN ({}) AND e.ended_at IS NOT NULL ORDER BY e.ended_at, e.id"
)
