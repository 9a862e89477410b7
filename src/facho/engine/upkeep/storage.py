"""The size of the database and its free space, measured every hour to forecast its growth."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from facho.apps.db.database import database_bytes, database_folder
from facho.apps.execution_coordinator.models import StorageSample
from facho.config import Config
from facho.core.disk import LOOKS_BACK, Forecast, Room, Sample, forecast

_EVERY: Final = timedelta(hours=1)


def take_sample(now: datetime, _config: Config) -> Sample | None:
    """Measure the storage, unless a process did in the last hour."""
    # A sample from the future was taken before the clock was set back.
    if StorageSample.objects.filter(at__lte=now, at__gt=now - _EVERY).exists():
        return None
    sample = measure_storage(now, database_room())
    row = StorageSample(at=now, database_bytes=sample.database_bytes, free_bytes=sample.free_bytes)
    StorageSample.objects.bulk_create([row], ignore_conflicts=True)
    return sample


def measure_storage(now: datetime, seen: Room | None) -> Sample:
    return Sample(now, database_bytes(), None if seen is None else seen.free)


def forecast_storage(now: datetime, seen: Room | None) -> Forecast:
    """Forecast the growth of the database on a disk with this room."""
    rows = StorageSample.objects.filter(at__lt=now, at__gte=now - LOOKS_BACK)
    samples = [Sample(*row) for row in rows.values_list("at", "database_bytes", "free_bytes")]
    return forecast(samples, measure_storage(now, seen))


def database_room() -> Room | None:
    """Return the space on the disk of the database; None if it is remote or not readable."""
    folder = database_folder()
    return None if folder is None else room_of_folder(folder)


def room_of_folder(folder: Path) -> Room | None:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return Room(usage.free, usage.total)
