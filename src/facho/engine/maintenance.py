"""Leaves OLTs alone while people work on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from facho.apps.maintenance.selectors import closed_times
from facho.config import current
from facho.core.maintenance import Span, span_at

_TICK: Final = timedelta(microseconds=1)
# Windows that follow one another are told as one for so long.
_AHEAD: Final = timedelta(days=2)


def windows_of(olt_ids: Sequence[int] | None, after: datetime, until: datetime) -> Mapping[int, list[Span]]:
    """Of each OLT that has any in [after, until), those of its site with its own, apart from each other.

    Of all OLTs, if none are named.
    """
    return closed_times(olt_ids, after, until, current().time_zone)


def under_maintenance(olt_id: int, at: datetime) -> bool:
    return bool(windows_of([olt_id], at, at + _TICK))


def olts_under_maintenance(at: datetime) -> dict[int, datetime]:
    """With each until when."""
    every = windows_of(None, at, at + _AHEAD)
    lasting = {olt_id: span_at(spans, at) for olt_id, spans in every.items()}
    return {olt_id: span[1] for olt_id, span in lasting.items() if span is not None}
