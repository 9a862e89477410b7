"""The tables of one OLT, encoded at the first request, and again when the facts have changed."""

from __future__ import annotations

from facho.sim.model import OltModel
from facho.sim.tables import Changes, Column, Layout
from facho.snmp.values import Value


class EncodedTables:
    def __init__(self, layout: Layout[OltModel], model: OltModel) -> None:
        self.layout = layout
        self.model = model
        self._built: list[Column | None] = [None] * len(layout.columns)
        self._always = {n for n, each in enumerate(layout.columns) if each.spec.changes is Changes.ALWAYS}
        self._epoch = 0.0
        self._template: EncodedTables | None = None

    def share(self, template: EncodedTables) -> None:
        """Serve the columns that all OLTs of a template have in common from there, until the state changes.

        The models must have the same pattern, and move alike.
        """
        self._template = template

    def column(self, number: int, now: float) -> Column:
        if self._template is not None and number in self.layout.of_template:
            return self._template.column(number, now)
        column = self._built[number]
        if column is None or number in self._always:
            at = now if self.model.motion.still or number in self._always else self._epoch
            column = self._built[number] = self.layout.columns[number].build(self.model, at)
        return column

    def value(self, number: int, row: int, at: float) -> Value:
        """Return a value as it was or will be served at a moment, while nobody changes the state."""
        moment = at if self.model.motion.still else self.model.epoch(at)
        return self.layout.columns[number].spec.value(self.model, row, moment)

    def advance(self, now: float) -> None:
        """Move tables that depend on time to `now`, all at once and at most every few seconds."""
        if self._template is not None:
            self._template.advance(now)
        epoch = self.model.epoch(now)
        if epoch != self._epoch:
            self._epoch = epoch
            self._forget_moved()

    def forget_state(self) -> None:
        """Encode what depends on the state again. It is that of this OLT alone from now on."""
        self._template = None
        self._forget_moved()

    def _forget_moved(self) -> None:
        for number, placed in enumerate(self.layout.columns):
            if placed.spec.changes is not Changes.NEVER:
                self._built[number] = None

    def build_all(self, now: float) -> None:
        for number in range(len(self._built)):
            self.column(number, now)
