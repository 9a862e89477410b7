"""The tables of one OLT, encoded at the first request, and again when the facts have changed."""

from __future__ import annotations

from facho.sim.model import OltModel
from facho.sim.tables import Changes, Column, Layout


class EncodedTables:
    def __init__(self, layout: Layout[OltModel], model: OltModel) -> None:
        self.layout = layout
        self.model = model
        self._built: list[Column | None] = [None] * len(layout.columns)
        self._always = {n for n, each in enumerate(layout.columns) if each.spec.changes is Changes.ALWAYS}
        self._epoch = 0.0

    def column(self, number: int, now: float) -> Column:
        column = self._built[number]
        if column is None or number in self._always:
            at = now if self.model.motion.still or number in self._always else self._epoch
            column = self._built[number] = self.layout.columns[number].build(self.model, at)
        return column

    def advance(self, now: float) -> None:
        """Move tables that depend on time to `now`, all at once and at most every few seconds."""
        epoch = now - now % self.model.motion.refresh_s
        if epoch != self._epoch:
            self._epoch = epoch
            self.forget_state()

    def forget_state(self) -> None:
        for number, placed in enumerate(self.layout.columns):
            if placed.spec.changes is not Changes.NEVER:
                self._built[number] = None

    def build_all(self, now: float) -> None:
        for number in range(len(self._built)):
            self.column(number, now)
