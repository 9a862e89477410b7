"""Writes of executions and their attempts that several parts of the engine share."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.executions.models import Execution, State
from facho.core.reasons import Reason, encode

_CLOSE_ATTEMPT: Final = (
    "UPDATE execution_attempts SET ended_at = %s, error = %s WHERE execution_id = %s AND number = %s"
)


def close_attempt(execution_id: int, number: int, now: datetime, error: Reason) -> None:
    sql.execute(_CLOSE_ATTEMPT, [sql.db_time(now), encode(error), execution_id, number])


def return_to_queue(**where: object) -> int:
    """PENDING -> WAITING, for claimed executions that nobody is going to start. Return how many."""
    pending = Execution.objects.filter(state=State.PENDING, **where)
    return pending.update(state=State.WAITING, lease_expires_at=None)
