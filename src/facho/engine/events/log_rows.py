"""The coordinator's log on its way to the database: a bounded queue, and a thread that empties it.

Who has something to say never waits for the database. While that is locked, full or away the rows stay here,
and when there are too many the oldest are dropped, and counted.
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
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.hosts.models import Olt
from facho.core.event_types import EventType, level_of
from facho.log_files import Losses

log = logging.getLogger(__name__)

_CHUNK: Final = 500
_EVERY_S: Final = 1.0
# Of a process that ends: what is left then is in the file alone.
_PATIENCE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Entry:
    event: EventType
    at: datetime
    # None is what concerns them all.
    olt_id: int | None
    message: str
    details: dict[str, Any]


class Rows:
    def __init__(self, most: int) -> None:
        self.losses = Losses()
        self._most = most
        self._queue: deque[Entry] = deque()
        self._lock = threading.Lock()
        # One at a time takes from the front.
        self._flushing = threading.Lock()
        self._works = True

    def put(self, entry: Entry) -> None:
        with self._lock:
            self._queue.append(entry)
            self._drop_oldest()

    def flush(self) -> Entry | None:
        """Never raises. Returns the last entry that was written, if any was."""
        written = None
        with self._flushing:
            while chunk := self._take():
                last = chunk[-1]
                if not self._write(chunk):
                    self._put_back(chunk)
                    break
                written = last
        return written

    def forget(self) -> None:
        with self._lock:
            self._queue.clear()
        self.losses.take()

    def __len__(self) -> int:
        return len(self._queue)

    def _take(self) -> list[Entry]:
        with self._lock:
            return [self._queue.popleft() for _ in range(min(_CHUNK, len(self._queue)))]

    def _put_back(self, chunk: Sequence[Entry]) -> None:
        with self._lock:
            self._queue.extendleft(reversed(chunk))
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while len(self._queue) > self._most:
            self.losses.add(self._queue.popleft().at)

    def _write(self, chunk: list[Entry]) -> bool:
        """False when the database is not there for now; what is left of the chunk is to be tried again."""
        try:
            self._insert_all(chunk)
        except Exception:
            # Said once: it is tried every second.
            if self._works:
                log.exception("not in the database yet", extra={"action": "log_kept"})
            self._works = False
            if not connection.in_atomic_block:
                connection.close()
            return False
        self._works = True
        return True

    def _insert_all(self, chunk: list[Entry]) -> None:
        try:
            _insert(chunk)
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError):
            # One of them is refused, or its OLT was removed just now: that must not keep the others waiting.
            while chunk:
                self._insert_alone(chunk[0])
                del chunk[0]

    def _insert_alone(self, entry: Entry) -> None:
        try:
            _insert([entry])
        except (OperationalError, InterfaceError):
            raise
        except (DatabaseError, ValueError) as error:
            log.error("refused by the database", extra={"action": "log_refused", "error": str(error)})
            self.losses.add(entry.at)


def _insert(entries: Sequence[Entry]) -> None:
    with sql.write_transaction():
        olts = {entry.olt_id for entry in entries if entry.olt_id is not None}
        known = set(Olt.objects.filter(id__in=olts).values_list("id", flat=True))
        CoordinatorLog.objects.bulk_create(
            CoordinatorLog(
                # Its name is in the message.
                olt_id=entry.olt_id if entry.olt_id in known else None,
                event_type=entry.event.value,
                level=level_of(entry.event).value,
                message=entry.message,
                details=entry.details,
                timestamp=entry.at,
            )
            for entry in entries
        )


class Flusher:
    """A thread that calls `flush` a second after there is something to write, and when the process ends."""

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
                # A process that ends takes no more threads; the line is in the file.
                with contextlib.suppress(RuntimeError):
                    self._thread.start()
                    atexit.register(self._end)

    def _run(self) -> None:
        while not self._ending.is_set():
            self._wanted.wait()
            # Others come in the meantime, and go with it.
            self._ending.wait(_EVERY_S)
            self._wanted.clear()
            if not self._flush():
                self._wanted.set()
            sql.release_connection()
        connection.close()

    def _end(self) -> None:
        self._ending.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)
