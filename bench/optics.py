"""Optical readings of ONUs, made up, and stored as closed hours of history."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from facho.apps.discovery.models import Onu

FACTS: Final = ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c")
EVERY: Final = timedelta(minutes=5)
PER_PORT: Final = 64
HOUR: Final = timedelta(hours=1)
# The range of each fact over all ONUs.
_RANGES: Final = {
    "onu_rx_dbm": (-27.0, -15.0),
    "onu_tx_dbm": (1.5, 3.5),
    "olt_rx_dbm": (-29.0, -17.0),
    "temperature_c": (35.0, 60.0),
}
# The noise of a reading, which differs by ONU, and the drift of the value between two readings.
_JITTER: Final = (0.1, 0.3)
_DRIFT: Final = 0.02
_OFFLINE: Final = 0.03
_SEED: Final = 1

Columns = dict[str, list[float | None]]


class Optics:
    """Readings of ONUs that change all the time; a few ONUs are off and have none."""

    def __init__(self, onus: int, noise: random.Random) -> None:
        self._noise = noise
        self._jitter = [noise.uniform(*_JITTER) for _ in range(onus)]
        self._off = [noise.random() < _OFFLINE for _ in range(onus)]
        self._centres = {
            fact: [noise.uniform(low, high) for _ in range(onus)] for fact, (low, high) in _RANGES.items()
        }

    def collections(self) -> Iterator[Columns]:
        while True:
            yield {fact: self._read(fact) for fact in FACTS}

    def _read(self, fact: str) -> list[float | None]:
        gauss, centres = self._noise.gauss, self._centres[fact]
        self._centres[fact] = [centre + gauss(0.0, _DRIFT) for centre in centres]
        return [
            None if off else centre + gauss(0.0, jitter)
            for centre, jitter, off in zip(centres, self._jitter, self._off, strict=True)
        ]


def fill_history(onus: Sequence[Onu], until: int, days: int) -> None:
    """Store readings of ONUs of one OLT, every five minutes up to the last full hour before `until`."""
    from facho.apps.db import sql
    from facho.apps.history.models import HistoryHour, Subject

    end = datetime.fromtimestamp(until, UTC).replace(minute=0, second=0, microsecond=0)
    optics = Optics(len(onus), random.Random(_SEED)).collections()
    rows = [
        HistoryHour(olt_id=onus[0].olt_id, subject=Subject.ONU, place=place, hour=hour, data=data)
        for hour in (end - number * HOUR for number in range(24 * days, 0, -1))
        for place, data in encode_hour(hour, onus, islice(optics, HOUR // EVERY)).items()
    ]
    with sql.write_transaction():
        HistoryHour.objects.bulk_create(rows, batch_size=500)


def encode_hour(hour: datetime, onus: Sequence[Onu], collections: Iterable[Columns]) -> dict[str, bytes]:
    """Return the closed hour of each place, encoded."""
    from facho.apps.history.store import milliseconds
    from facho.core.frames import read_sheet, write_frame
    from facho.core.hours import merge_by_place

    ids = [onu.pk for onu in onus]
    frames = [
        write_frame(milliseconds(hour + turn * EVERY), ids, columns)
        for turn, columns in enumerate(collections)
    ]
    return dict(
        merge_by_place([read_sheet(frame) for frame in frames], {onu.pk: place_of(onu) for onu in onus})
    )


def place_of(onu: Onu) -> str:
    return f"{onu.frame}/{onu.slot}/{onu.port}"
