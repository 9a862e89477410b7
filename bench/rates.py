"""Rates of the traffic of ONUs, as a simulated OLT has them: quiet nights, busy evenings, heavy customers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from bench.optics import EVERY, HOUR, PER_PORT, Columns
from facho.sim.model import OltModel, Shape
from facho.sim.traffic import DOWN, UP


class Rates:
    def __init__(self, onus: int) -> None:
        shape = Shape(onus, PER_PORT)
        self._traffic = OltModel(0, shape, seed=1, born=0.0, name="bench").traffic

    def collections(self, hour: datetime) -> Iterator[Columns]:
        """Yield the collections of an hour."""
        for turn in range(HOUR // EVERY):
            until = (hour + turn * EVERY).timestamp()
            since = until - EVERY.total_seconds()
            yield {
                name: list(self._traffic.onu_rates(direction, since, until))
                for name, direction in (("up_bps", UP), ("down_bps", DOWN))
            }
