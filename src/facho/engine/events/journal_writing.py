"""How the coordinator's log is written: in the operator's language, without secrets, a line for an event."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from django.db import DatabaseError, connection, transaction
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from facho.apps.db import sql
from facho.apps.executions.failure_words import translated
from facho.config import Config, current
from facho.core.event_types import EventType, Level, level_of
from facho.engine.events.journal_words import plain, shown
from facho.engine.events.log_rows import Entry, Flusher, Rows
from facho.log_files import LineFile, Lost, one_line
from facho.masking import masked

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

log = logging.getLogger(__name__)
# Commands set up no log of their own, and do not talk of this on the terminal either.
log.addHandler(logging.NullHandler())

MAIN: Final = "coordinator/main.log"
DISCOVERY: Final = "discovery.log"
GET: Final = "get.log"
DATABASE: Final = "coordinator_logs"
# Who decided it, for the reader of the file; the rest is decided by the coordinator's loop.
_DECIDED_BY: Final[Mapping[EventType, str]] = {
    **dict.fromkeys((EventType.EXECUTION_ABORTED, EventType.LEASE_LOST), "executions"),
    **dict.fromkeys((EventType.OLT_SUSPENDED, EventType.NODE_SUSPENDED), "executions"),
    **dict.fromkeys((EventType.OLT_BACK, EventType.NODE_BACK), "probes"),
    **dict.fromkeys(
        (EventType.RECOVERED, EventType.ENGINE_WAS_STOPPED, EventType.CLOCK_CHANGED), "scheduler"
    ),
    **dict.fromkeys((EventType.SATURATION_BEGINS, EventType.SATURATION_ENDS), "pollers"),
    **dict.fromkeys((EventType.PORT_OUTAGE, EventType.PORT_OUTAGE_ENDED), "executions"),
    EventType.UNREADABLE_ROWS: "executions",
    **dict.fromkeys((EventType.REMOVAL_WAITS, EventType.REMOVAL_RESUMED), "retention"),
    EventType.LOG_LOST: "log",
}
_MOST_LETTERS: Final = 2000
# What an event tells in the words of whoever caused it.
_SENTENCES: Final = frozenset({"why", "reason"})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_names: ContextVar[Mapping[int, str]] = ContextVar("names", default=MappingProxyType({}))


class Writer:
    """Makes an entry, and writes it: first to the file, then to the queue of the database."""

    # Whether a thread writes the rows; tests write them themselves.
    background = True

    def __init__(self, config: Config | None = None) -> None:
        self._given = config
        self._flusher = Flusher(self.flush)

    # Read late: whoever imports this may have no settings yet.
    @cached_property
    def config(self) -> Config:
        return self._given or current()

    @cached_property
    def rows(self) -> Rows:
        return Rows(self.config.log_queue)

    @cached_property
    def files(self) -> Mapping[str, LineFile]:
        config = self.config
        return {
            name: LineFile(config.logs / name, largest=config.log_bytes, backups=config.log_backups)
            for name in (MAIN, DISCOVERY, GET)
        }

    def lost(self) -> dict[str, int]:
        """Lines that could not be written, and about which nothing could be written either so far."""
        files = {name: file.losses.lines for name, file in self.files.items()}
        return {**files, DATABASE: self.rows.losses.lines}

    def write_line(self, name: str, at: datetime, level: Level, by: str, message: str) -> None:
        """To one of the files alone. `by` is who says it."""
        here = at.astimezone(self.config.time_zone)
        line = f"{here:%Y-%m-%d %H:%M:%S} [{level}] {by}: {_clean(message)}"
        if lost := self.files[name].write(line, at):
            self._tell_lost(name, lost, at)

    def flush(self) -> bool:
        """Into the database what waits for it. False when something had to be left."""
        while last := self.rows.flush():
            if not (lost := self.rows.losses.take()):
                break
            self._tell_lost(DATABASE, lost, last.at)
        return not len(self.rows)

    def _tell_lost(self, sink: str, lost: Lost, now: datetime) -> None:
        entry = self._entry(
            EventType.LOG_LOST,
            now,
            None,
            _("%(lines)d lines of %(sink)s were lost, from %(since)s to %(until)s"),
            {"sink": sink, "lines": lost.lines, "since": lost.since, "until": lost.until},
            {},
        )
        self._write(entry)

    def _note(
        self,
        event: EventType,
        now: datetime,
        olt_id: int | None,
        sentence: Text,
        details: Mapping[str, Any] = _NOTHING,
        **values: Any,
    ) -> None:
        if olt_id is not None and (name := _names.get().get(olt_id)):
            values["olt"] = name

        def write() -> None:
            try:
                self._write(self._entry(event, now, olt_id, sentence, details, values))
            except Exception:
                log.exception("not logged by a bug", extra={"action": "bug", "event": event.value})

        when_settled(write)

    def _entry(
        self,
        event: EventType,
        now: datetime,
        olt_id: int | None,
        sentence: Text,
        details: Mapping[str, Any],
        values: Mapping[str, Any],
    ) -> Entry:
        zone = self.config.time_zone
        said = {**details, **values}
        if olt_id is not None and "olt" not in values:
            said["olt"] = _name(olt_id)
        with translation.override(self.config.language):
            told = {name: shown(value, zone) for name, value in said.items()}
            told |= {name: translated(str(told[name])) for name in _SENTENCES & told.keys()}
            message = str(sentence) % told
        return Entry(event, now, olt_id, _clean(message), plain(details))

    def _write(self, entry: Entry) -> None:
        level = level_of(entry.event)
        by = _DECIDED_BY.get(entry.event, "coordinator_loop")
        self.write_line(MAIN, entry.at, level, f"coordinator.{by}", entry.message)
        self.rows.put(entry)
        if self.background:
            self._flusher.wake()
        about = {"action": entry.event.value, "olt_id": entry.olt_id}
        log.log(logging.getLevelNamesMapping()[level], "%s", entry.message, extra=about)


def when_settled(write: Callable[[], None]) -> None:
    """At once, unless a transaction is under way."""
    if connection.in_atomic_block:
        transaction.on_commit(write, robust=True)
    else:
        write()


@contextmanager
def named(names: Mapping[int, str]) -> Iterator[None]:
    """For who has much to say of many OLTs and knows their names: to ask for each takes long."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def _name(olt_id: int) -> str:
    unknown = f"OLT {olt_id}"
    try:
        found = sql.fetch_rows("SELECT name FROM olts WHERE id = %s", [olt_id])
    except DatabaseError:
        if not connection.in_atomic_block:
            connection.close()
        return unknown
    return str(found[0][0]) if found else unknown


def _clean(message: str) -> str:
    """Masked first: a secret that was cut or quoted before would not be found."""
    text = one_line(masked(message))
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}..."
