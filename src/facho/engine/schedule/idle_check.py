"""Tells with one statement that a step of the scheduler has nothing to do, as in most seconds."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.maintenance.selectors import ANY_WINDOW
from facho.config import Config
from facho.core.steps import SCHEDULER
from facho.engine.schedule.recovery import ODD_LEASES, latest_expiry


def last_step_if_idle(now: datetime, config: Config) -> datetime | None:
    """Return the time of the last step if this one has nothing to do; None if it may have something.

    Each condition stands for a part of the step. It may be true when there is no work, for the part looks
    again, but never false when there is.
    """
    seen, stats = config.worker_seen_within, config.poller_stats_every
    values = {
        "due": [now],
        "lost": [now - seen, now + seen],
        "leases": [now, latest_expiry(now, config)] * 2,
        "unwanted": [now - 2 * config.lease],
        "window": [now, now],
        "stats": [now - stats, now],
    }
    found = sql.fetch_rows(
        _LAST_STEP, [SCHEDULER, *(sql.db_time(each) for several in values.values() for each in several)]
    )
    return sql.parse_time(found[0][0]) if found else None


_LAST_STEP: Final = (
    "SELECT updated_at FROM coordinator_state WHERE name = %s"  # noqa: S608 - our own words
    " AND NOT EXISTS (SELECT 1 FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id"
    " JOIN olts o ON o.id = n.olt_id WHERE n.next_run_at <= %s AND n.enabled AND j.enabled AND o.enabled)"
    " AND NOT EXISTS (SELECT 1 FROM workers WHERE seen_at < %s OR seen_at > %s)"
    f" AND NOT EXISTS ({ODD_LEASES})"
    " AND NOT EXISTS (SELECT 1 FROM snmp_executions"
    " WHERE state = 'WAITING' AND node_id IS NULL AND onu_id IS NULL AND not_before <= %s)"
    f" AND NOT EXISTS ({ANY_WINDOW})"
    " AND EXISTS (SELECT 1 FROM poller_stats WHERE timestamp > %s AND timestamp <= %s)"
)
