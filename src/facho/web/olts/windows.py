"""When an OLT will be left alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import windows_between
from facho.config import Config
from facho.core.maintenance import now_and_next

_AHEAD: Final = timedelta(days=14)
_MOST: Final = 5


@dataclass(frozen=True, slots=True)
class Upcoming:
    window_id: int
    name: str
    start: datetime
    end: datetime


def upcoming_windows(olt: Olt, now: datetime, config: Config) -> list[Upcoming]:
    """Of each window of it or its site the one that lasts and the one after, the earliest first."""
    its = Q(olt=olt.id) | (Q(site=olt.site) & ~Q(site=""))
    found = [
        Upcoming(window.pk, window.name, *span)
        for window in windows_between(now, now + _AHEAD).filter(its)
        for span in now_and_next(window.plan, now, config.time_zone)
        if span is not None and span[0] < now + _AHEAD
    ]
    return sorted(found, key=lambda each: each.start)[:_MOST]
