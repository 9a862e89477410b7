"""The rows of the coordinator log: a bounded queue, and a thread that writes it to the database.

Publishing an event never waits for the database. While that is locked, full or unavailable the rows stay in
the queue; when there are too many, the oldest are dropped and counted.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from facho.apps.db import sql
from facho.apps.db.database import release_connection
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.hosts.models import Olt
from facho.core.event_types import EventType, Level
from facho.log_files import LossCounter

log = logging.getLogger(__name__)

_CHUNK: Final = 500
_FLUSH_DELAY_S: Final = 1.0
# A process that ends waits so long; rows that are left then are only in the file.
_EXIT_WAIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class LogEntry:
    type: EventType
    level: Level
    source: str
    at: datetime
    # None for an event that concerns all OLTs.
    olt_id: int | None
    message: str
    details: dict[str, Any]


class LogRows:
    def __init__(self, most: int) -> None:
        self.losses = LossCounter()
        self._most = most
        self._queue: deque[LogEntry] = deque()
        self._lock = threading.Lock()
        # Two threads that flush would reorder the rows.
        self._flushing = threading.Lock()
        self._database_works = True

    def put(self, entry: LogEntry) -> None:
        with self._lock:
            self._queue.append(entry)
            self._drop_oldest()

    def flush(self) -> LogEntry | None:
        """Write the queue to the database, and return the last entry that was written. Never raises."""
        written = None
        with self._flushing:
            while chunk := self._take():
                last = chunk[-1]
                if not self._write(chunk):
                    self._put_back(chunk)
                    break
                written = last
        return written

    def clear(self) -> None:
        with self._lock:
            self._queue.clear()
        self.losses.take()

    def __len__(self) -> int:
        return len(self._queue)

    def _take(self) -> list[LogEntry]:
        with self._lock:
            return [self._queue.popleft() for _ in range(min(_CHUNK, len(self._queue)))]

    def _put_back(self, chunk: Sequence[LogEntry]) -> None:
        with self._lock:
            self._queue.extendleft(reversed(chunk))
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while len(self._queue) > self._most:
            self.losses.add(self._queue.popleft().at)

    def _write(self, chunk: list[LogEntry]) -> bool:
        """Return False when the database is unavailable; what is left of the chunk is to be tried again."""
        try:
            self._insert_all(chunk)
        except Exception:
            # Logged once, for it is tried again every second.
            if self._database_works:
                log.exception(
                    "coordinator log not written to the database, retrying", extra={"action": "log_kept"}
                )
            self._database_works = False
            if not connection.in_atomic_block:
                connection.close()
            return False
        self._database_works = True
        return True

    def _insert_all(self, chunk: list[LogEntry]) -> None:
        try:
            _insert(chunk)
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError):
            # One entry is refused, or its OLT was removed just now: the others must not wait for it.
            while chunk:
                self._insert_alone(chunk[0])
                del chunk[0]

    def _insert_alone(self, entry: LogEntry) -> None:
        try:
            _insert([entry])
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError) as error:
            log.error(
                "log entry refused by the database", extra={"action": "log_refused", "error": str(error)}
            )
            self.losses.add(entry.at)


def _insert(entries: Sequence[LogEntry]) -> None:
    with sql.write_transaction():
        olts = {entry.olt_id for entry in entries if entry.olt_id is not None}
        known = set(Olt.objects.filter(id__in=olts).values_list("id", flat=True))
        CoordinatorLog.objects.bulk_create(
            CoordinatorLog(
                # The message names an OLT that was removed.
                olt_id=entry.olt_id if entry.olt_id in known else None,
                event_type=entry.type.value,
                level=entry.level.value,
                message=entry.message,
                details=entry.details,
                timestamp=entry.at,
            )
            for entry in entries
        )


class Flusher:
    """A thread that calls `flush` a second after it is woken, and when the process ends."""

    def __init__(self, flush: Callable[[], object]) -> None:
        self._flush = flush
        self._wanted = threading.Event()
        self._ending = threading.Event()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        self._wanted.set()
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="coordinator-log", daemon=True)
                # A process that ends cannot start a thread; the line is in the file.
                with contextlib.suppress(RuntimeError):
                    self._thread.start()
                    atexit.register(self._end)

    def _run(self) -> None:
        while not self._ending.is_set():
            self._wanted.wait()
            # Entries that come in this second are written together.
            self._ending.wait(_FLUSH_DELAY_S)
            self._wanted.clear()
            if not self._flush():
                self._wanted.set()
            release_connection()
        connection.close()

    def _end(self) -> None:
        self._ending.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(_EXIT_WAIT_S)
