"""Answers that are computed at most once in a while, so that frequent requests do not load the database.

Each process keeps its own answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import inf
from time import monotonic
from typing import Final, Generic, NamedTuple, TypeVar

from django.core.cache import cache

T = TypeVar("T")
# Runs a function in another thread, now or soon.
RunLater = Callable[[Callable[[], None]], object]

log = logging.getLogger(__name__)

# For the answer of another thread. With a longer wait requests would pile up.
_WAIT_S: Final = 2.0


class AnswerBusy(Exception):
    """Another thread is computing the answer and takes long."""


class KeptAnswer(NamedTuple, Generic[T]):
    answer: T
    # In seconds of the monotonic clock, from the beginning of its computation.
    began_s: float

    def is_within(self, seconds: float) -> bool:
        return monotonic() - self.began_s < seconds


class AnswerCache:
    """Keeps answers for a while, and lets one thread at a time compute each of them.

    Answers with different names are computed side by side.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._guard = threading.Lock()
        # The locks of answers that are being computed, each with the number of threads that need it.
        self._turns: dict[str, tuple[threading.Lock, int]] = {}
        # The answers that `run_later` was asked to compute.
        self._refreshed: set[str] = set()
        # Answers that began before this are not used.
        self._forgotten_s = -inf

    def forget(self) -> None:
        """Use no answer any more that was computed before, or whose computation goes on."""
        self._forgotten_s = monotonic()

    def get(
        self,
        name: str,
        max_age: timedelta,
        compute: Callable[[], T],
        stale_for: timedelta = timedelta(0),
        run_later: RunLater | None = None,
    ) -> T:
        """Return the answer of that name, no older than `max_age`.

        While another thread computes it, one that is older by less than `stale_for` is returned; without
        one this waits. Raises AnswerBusy when that takes long. With `run_later` nobody waits who can get such
        an answer: the new one is computed there.
        """
        key = f"{self._name}.{name}"
        fresh_s, keep_s = max_age.total_seconds(), (max_age + stale_for).total_seconds()
        kept: KeptAnswer[T] | None = self._read_kept(key, keep_s)
        if kept is not None and kept.is_within(fresh_s):
            return kept.answer
        if kept is not None and run_later is not None:
            self._refresh(key, fresh_s, keep_s, compute, run_later)
            return kept.answer
        with self._turn(key) as lock:
            if not lock.acquire(blocking=False):
                if kept is not None:
                    return kept.answer
                if not lock.acquire(timeout=_WAIT_S):
                    raise AnswerBusy
            try:
                kept = self._read_kept(key, fresh_s)
                return (kept or _compute(key, keep_s, compute)).answer
            finally:
                lock.release()

    def _refresh(
        self, key: str, fresh_s: float, keep_s: float, compute: Callable[[], T], run_later: RunLater
    ) -> None:
        """Let the answer be computed later, unless that is under way."""

        def refresh() -> None:
            try:
                with self._turn(key) as lock, lock:
                    if self._read_kept(key, fresh_s) is None:
                        _compute(key, keep_s, compute)
            except Exception:
                # Nobody waits for this. When the previous answer is too old, who asks gets the error.
                log.exception("answer not refreshed", extra={"action": "answer_not_refreshed"})
            finally:
                with self._guard:
                    self._refreshed.discard(key)

        with self._guard:
            if key in self._refreshed:
                return
            self._refreshed.add(key)
        run_later(refresh)

    def _read_kept(self, key: str, max_age_s: float) -> KeptAnswer[T] | None:
        kept: KeptAnswer[T] | None = cache.get(key)
        is_usable = kept is not None and kept.began_s > self._forgotten_s and kept.is_within(max_age_s)
        return kept if is_usable else None

    @contextmanager
    def _turn(self, key: str) -> Iterator[threading.Lock]:
        """Yield the lock of a key, which all threads share that need it at the same time."""
        with self._guard:
            lock, users = self._turns.get(key, (threading.Lock(), 0))
            self._turns[key] = lock, users + 1
        try:
            yield lock
        finally:
            with self._guard:
                lock, users = self._turns.pop(key)
                if users > 1:
                    self._turns[key] = lock, users - 1


def _compute(key: str, keep_s: float, compute: Callable[[], T]) -> KeptAnswer[T]:
    began_s = monotonic()
    kept = KeptAnswer(compute(), began_s)
    cache.set(key, kept, keep_s)
    return kept
