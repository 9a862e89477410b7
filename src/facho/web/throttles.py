"""Rate limits of requests, counted for all web processes together.

The counts are in a file of their own: in the database each request would be a write that the engine waits
for. With Redis, which several machines share, the counts are there.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation

from facho.config import Config, current
from facho.web.access.login_limits import counted_address_of
from facho.web.server.refusals import render_refusal, too_many_requests

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    Answer = Callable[[HttpRequest], HttpResponseBase]

log = logging.getLogger(__name__)

FILE: Final = "requests.db"
_MINUTE_S: Final = 60
_PATIENCE_S: Final = 1.0
# Counts between two deletions of old ones.
_CLEAR_EVERY: Final = 10_000
_LOG_EVERY_S: Final = 60
# Short time-outs, because each request waits for the answer.
_REDIS_CONNECT_S: Final = 1.0
_REDIS_ANSWER_S: Final = 0.5
_PAUSE_S: Final = 30

# Device and inode, by which a replaced file is noticed.
Inode = tuple[int, int]


class Counters(Protocol):
    def count(self, key: str, window: int, lasts_s: int) -> int:
        """Count the key and return its count in this window."""


class FileCounters:
    """Counts in an SQLite file that may be lost at any time, so nothing waits for the disk.

    A damaged file is replaced, and a file that was deleted or replaced is opened again.
    """

    def __init__(self, path: Path | str) -> None:
        self._path, self._lock, self._left = path, threading.Lock(), _CLEAR_EVERY
        self._file: sqlite3.Connection | None = None
        self._inode: Inode | None = None

    def count(self, key: str, window: int, lasts_s: int) -> int:
        until = (window + 1) * lasts_s
        with self._lock:
            try:
                return self._count(key, until, lasts_s)
            except sqlite3.DatabaseError as error:
                if _is_locked(error):
                    raise
                self._discard(error)
            return self._count(key, until, lasts_s)

    def _count(self, key: str, until: int, lasts_s: int) -> int:
        file = self._opened()
        self._left -= 1
        if self._left <= 0:
            self._left = _CLEAR_EVERY
            file.execute("DELETE FROM counts WHERE until < ?", [until - lasts_s])
        row = file.execute(_COUNT, [key, until]).fetchone()
        return int(row[0])

    def _opened(self) -> sqlite3.Connection:
        """Return a connection to the file that is at the path now."""
        if self._file is not None and self._inode == _inode_of(self._path):
            return self._file
        self._close()
        self._file = sqlite3.connect(
            self._path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
        )
        self._inode = _inode_of(self._path)
        self._file.execute("PRAGMA journal_mode = MEMORY")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS counts"
            " (key TEXT PRIMARY KEY, until INTEGER NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID"
        )
        return self._file

    def _discard(self, error: sqlite3.DatabaseError) -> None:
        """Remove the damaged file, unless another process has replaced it by now."""
        log.warning(
            "file of request counts unusable, creating a new one",
            extra={"action": "throttle_file_replaced", "error": str(error)},
        )
        if self._inode is not None and self._inode == _inode_of(self._path):
            Path(self._path).unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None


def _inode_of(path: Path | str) -> Inode | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_locked(error: sqlite3.DatabaseError) -> bool:
    # The lower byte of SQLite's code is the kind of the error.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_COUNT: Final = (
    "INSERT INTO counts (key, until, n) VALUES (?, ?, 1) ON CONFLICT (key) DO UPDATE"
    " SET n = CASE WHEN until = excluded.until THEN n + 1 ELSE 1 END, until = excluded.until RETURNING n"
)


class RedisCounters:
    def __init__(self, url: str) -> None:
        import redis

        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_REDIS_ANSWER_S, socket_connect_timeout=_REDIS_CONNECT_S
        )

    def count(self, key: str, window: int, lasts_s: int) -> int:
        name = f"facho:requests:{key}:{window}"
        counted, _set = self._redis.pipeline().incr(name).expire(name, 2 * lasts_s).execute()
        return int(counted)


class CountingFailures:
    """The time of the last failure. After it each process counts alone for a while, and logs little.

    Otherwise each request would wait for a file or a Redis that does not answer. Times are monotonic.
    """

    def __init__(self) -> None:
        self._paused_until = self._silent_until = float("-inf")

    def is_paused(self, now_s: float) -> bool:
        return now_s < self._paused_until

    def note(self, error: Exception, now_s: float) -> None:
        """Pause the counting, and log the failure at most once a minute."""
        self._paused_until = now_s + _PAUSE_S
        if now_s < self._silent_until:
            return
        self._silent_until = now_s + _LOG_EVERY_S
        log.warning(
            "shared request counts unavailable, each process counts alone",
            extra={"action": "throttle_alone", "error": type(error).__name__},
        )


_failures = CountingFailures()
_counters: Counters | None = None
# The counts of this process, used while the shared ones are unavailable.
_own_counters: Counters = FileCounters(":memory:")
_opening: Final = threading.Lock()


def _shared(config: Config) -> Counters:
    global _counters  # opened once by whichever request comes first
    with _opening:
        if _counters is None:
            in_redis = config.redis.startswith(("redis:", "rediss:", "unix:"))
            _counters = RedisCounters(config.redis) if in_redis else FileCounters(config.home / FILE)
        return _counters


def _count(key: str, window: int, lasts_s: int) -> int:
    if not _failures.is_paused(time.monotonic()):
        try:
            return _shared(current()).count(key, window, lasts_s)
        except Exception as error:  # noqa: BLE001  # of a file or of a Redis, which has errors of its own
            _failures.note(error, time.monotonic())
    return _own_counters.count(key, window, lasts_s)


def seconds_to_wait(who: str, most: int, now: float, lasts_s: int = _MINUTE_S) -> int | None:
    """Count a request. Return None if it is allowed, or the seconds until the next one is.

    If the shared counts are unavailable, this process counts alone: nobody is locked out because of that.
    """
    window = int(now // lasts_s)
    # The key may be a secret, such as that of a session.
    key = hashlib.sha256(who.encode()).hexdigest()[:32]
    count = _count(key, window, lasts_s)
    return None if count <= most else max(1, int((window + 1) * lasts_s - now) + 1)


def throttle(answer: Answer) -> Answer:
    """Limit requests by address and by session, before the database is used. A middleware."""

    def throttled(request: HttpRequest) -> HttpResponseBase:
        config, now = current(), time.time()
        wait = seconds_to_wait(
            f"address {counted_address_of(request, config)}", config.address_requests_a_minute, now
        )
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if wait is None and session:
            wait = seconds_to_wait(f"session {session}", config.page_requests_a_minute, now)
        if wait is None:
            return answer(request)
        with translation.override(translation.get_language_from_request(request)):
            return render_refusal(request, too_many_requests(wait))

    return throttled
