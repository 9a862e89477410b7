"""The step that puts hours of history in order when they are over."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from facho.apps.history.store import close_hours
from facho.config import Config

# OLTs in one turn. An hour of a large one is about a tenth of a second of work.
_MOST: Final = 60


def tend_history(now: datetime, config: Config) -> int:
    """How many hours of OLTs were closed; what is left waits for the next turn."""
    return close_hours(now, grace=config.history_close_after, most=_MOST)
