"""Keeping numbers: a frame for each collection, and hours that are put in order when they are over."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import InterfaceError, OperationalError

from facho.apps.db import sql
from facho.apps.discovery.frame_values import HISTORY_FACTS
from facho.apps.history.closing import close_hour
from facho.apps.history.models import Subject
from facho.apps.history.times import hour_of, milliseconds, moment_of
from facho.core.frames import write_frame

log = logging.getLogger(__name__)

PORT_FACTS: Final = ("tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma", "onus_online")
FACTS_OF: Final[Mapping[str, tuple[str, ...]]] = {Subject.ONU: HISTORY_FACTS, Subject.PORT: PORT_FACTS}


def append_frame(
    olt_id: int,
    at: datetime,
    subject: str,
    ids: Sequence[int],
    columns: Mapping[str, Sequence[float | None]],
) -> None:
    """What a collection said, in the caller's transaction.

    Each column has a value for each of `ids`. Facts that have no history are left out.
    """
    kept = {fact: columns[fact] for fact in FACTS_OF[subject] if fact in columns}
    if not any(value is not None for column in kept.values() for value in column):
        return
    time = milliseconds(at)
    # The row has it to the millisecond too: what is read twice while its hour is closed has the same time.
    values = [olt_id, subject, sql.db_time(moment_of(time)), write_frame(time, ids, kept)]
    sql.execute(_APPEND, values)


_APPEND: Final = "INSERT INTO onu_history_frames (olt_id, subject, at, data) VALUES (%s, %s, %s, %s)"


def close_hours(now: datetime, *, grace: timedelta, most: int) -> int:
    """Closes hours that ended longer ago than `grace`, of so many OLTs at most, one hour of each.

    Returns how many were closed. Whoever else does the same at the same time does no harm.
    """
    closed = 0
    for olt_id, hour in _due(hour_of(now - grace), most):
        try:
            closed += close_hour(olt_id, hour)
        except (OperationalError, InterfaceError):
            # The database is away, or has no room: that is no fault of this hour.
            raise
        except Exception:
            # What one OLT brings to light must not keep the hours of all others open.
            log.exception("an hour was not closed", extra={"action": "hour_not_closed", "olt_id": olt_id})
    return closed


def _due(before: datetime, most: int) -> list[tuple[int, datetime]]:
    """OLTs that have frames of hours before this one, and the first such hour of each."""
    found = sql.fetch_rows(_DUE, [sql.db_time(before), most])
    return [(olt_id, hour_of(sql.parse_time(at))) for olt_id, at in found]


_DUE: Final = (
    "SELECT olt_id, MIN(at) FROM onu_history_frames WHERE at < %s"
    " GROUP BY olt_id ORDER BY MIN(at), olt_id LIMIT %s"
)
