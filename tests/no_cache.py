"""Parts of pages that are rendered each time, for tests that look again at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any


class NoCache:
    """In place of the cache of shared parts."""

    def get(self, _name: str, _max_age: timedelta, compute: Callable[[], Any], *_: Any) -> Any:
        return compute()

    def forget(self) -> None:
        pass
