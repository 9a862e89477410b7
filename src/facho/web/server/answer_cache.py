"""Answers that are computed at most once in a while, so that frequent requests do not load the database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from django.core.cache import cache

T = TypeVar("T")

# For the answer of another thread. With a longer wait requests would pile up.
_WAIT_S: Final = 2.0


class AnswerBusy(Exception):
    """Another thread is computing the answer and takes long."""


class AnswerCache:
    """Computes one answer at a time and keeps it for a while."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def get(self, name: str, max_age: timedelta, compute: Callable[[], T]) -> T:
        key = f"{self._name}.{name}"
        found: T | None = cache.get(key)
        if found is not None:
            return found
        if not self._lock.acquire(timeout=_WAIT_S):
            raise AnswerBusy
        try:
            return cache.get(key) or self._store(key, max_age, compute())
        finally:
            self._lock.release()

    @staticmethod
    def _store(key: str, max_age: timedelta, answer: T) -> T:
        cache.set(key, answer, max_age.total_seconds())
        return answer
