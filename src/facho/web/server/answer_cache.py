"""What is asked for again and again is worked out once in a while: nobody can load the database by asking."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from django.core.cache import cache

T = TypeVar("T")

# For somebody else's answer, if it is the same question. Longer, and those who ask would pile up.
_WAIT_S: Final = 2.0


class AnswerBusy(Exception):
    """Somebody else is at it, and it takes long."""


class AnswerCache:
    """Works out one answer at a time, and gives it again for a while."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._turn = threading.Lock()

    def get(self, about: str, kept: timedelta, work_out: Callable[[], T]) -> T:
        key = f"{self._name}.{about}"
        found: T | None = cache.get(key)
        if found is not None:
            return found
        if not self._turn.acquire(timeout=_WAIT_S):
            raise AnswerBusy
        try:
            return cache.get(key) or self._keep(key, kept, work_out())
        finally:
            self._turn.release()

    @staticmethod
    def _keep(key: str, kept: timedelta, answer: T) -> T:
        cache.set(key, answer, kept.total_seconds())
        return answer
