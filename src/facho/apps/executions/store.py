"""Writes of executions and their attempts that several parts of the engine share."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from facho.apps.db import sql

_CLOSE_ATTEMPT: Final = (
    "UPDATE execution_attempts SET ended_at = %s, error = %s WHERE execution_id = %s AND number = %s"
)


def close_attempt(execution_id: int, number: int, now: datetime, error: str) -> None:
    sql.execute(_CLOSE_ATTEMPT, [sql.db_time(now), error, execution_id, number])
