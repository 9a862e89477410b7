"""The coordinator log: a line in a file and a row in the database for each event.

Sentences are in the operator's language and without secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db import DatabaseError, connection
from django.utils import translation

from facho.apps.db import sql
from facho.apps.written import localized
from facho.config import Config, current
from facho.core.event_types import Level
from facho.engine.events.log_rows import Flusher, LogEntry, LogRows
from facho.engine.events.types import Event, LogLinesLost, masked_json
from facho.log_files import LineFile, LostLines, one_line
from facho.masking import mask_secrets

log = logging.getLogger(__name__)
# Commands configure no logging, and must not print these messages on the terminal.
log.addHandler(logging.NullHandler())

MAIN: Final = "coordinator/main.log"
DISCOVERY: Final = "discovery.log"
GET: Final = "get.log"
TABLE: Final = "coordinator_logs"
_MAX_MESSAGE_LENGTH: Final = 2000


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
        line = f"{local:%Y-%m-%d %H:%M:%S} [{level}] {source}: {_clean(message)}"
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
            values = {**details, **event.sentence_values()}
            if event.olt_id is not None:
                values["olt"] = olt_name or _find_olt_name(event.olt_id)
            shown = {name: _show(value, self.config.time_zone) for name, value in values.items()}
            message = str(event.log_sentence()) % shown
        return LogEntry(
            event.type, event.level, event.source, now, event.olt_id, _clean(message), masked_json(details)
        )

    def _write(self, entry: LogEntry) -> None:
        self.write_line(MAIN, entry.at, entry.level, f"coordinator.{entry.source}", entry.message)
        self.rows.put(entry)
        if self.background:
            self._flusher.wake()
        extra = {"action": entry.type.value, "olt_id": entry.olt_id}
        log.log(logging.getLevelNamesMapping()[entry.level], "%s", entry.message, extra=extra)


log_writer: Final = LogWriter()


def _show(value: Any, zone: ZoneInfo) -> Any:
    """Return a value as the sentence shows it, in the active language. Integers stay numbers."""
    if isinstance(value, datetime):
        return f"{value.astimezone(zone):%Y-%m-%d %H:%M}"
    if isinstance(value, float):
        return localized(f"{value:g}")
    return value if isinstance(value, int) else str(value)


def _find_olt_name(olt_id: int) -> str:
    unknown = f"OLT {olt_id}"
    try:
        found = sql.fetch_rows("SELECT name FROM olts WHERE id = %s", [olt_id])
    except DatabaseError:
        if not connection.in_atomic_block:
            connection.close()
        return unknown
    return str(found[0][0]) if found else unknown


def _clean(message: str) -> str:
    """Mask and shorten a message. It is masked first: a secret that is cut or escaped is not recognised."""
    text = one_line(mask_secrets(message))
    return text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[:_MAX_MESSAGE_LENGTH]}..."
