"""The tables of one OLT as they are now: encoded when first asked for, and again when facts have changed."""

from __future__ import annotations

from facho.sim.model import OltModel
from facho.sim.tables import Changes, Column, Layout


class View:
    def __init__(self, layout: Layout[OltModel], model: OltModel) -> None:
        self.layout = layout
        self.model = model
        self._built: list[Column | None] = [None] * len(layout.columns)
        self._always = {n for n, each in enumerate(layout.columns) if each.spec.changes is Changes.ALWAYS}
        self._epoch = 0.0

    def column(self, number: int, now: float) -> Column:
        column = self._built[number]
        if column is None or number in self._always:
            told_at = now if self.model.motion.still or number in self._always else self._epoch
            column = self._built[number] = self.layout.columns[number].build(self.model, told_at)
        return column

    def advance(self, now: float) -> None:
        """Lets time-dependent tables move on, all to the same moment and at most once every few seconds."""
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
