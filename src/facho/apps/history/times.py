"""Times as sheets have them, and the hours that they are in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def moment_of(time: int) -> datetime:
    return _EPOCH + time * _MILLISECOND


def hour_of(moment: datetime) -> datetime:
    """When the hour began that this moment is in."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
