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
        self._always = layout.changing(Changes.ALWAYS)
        # When each counter was encoded, for those that were asked for.
        self._counted_at: dict[int, float] = {}
        self._unsteady = self._always | layout.changing(Changes.GROWING)
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
        if number in self._unsteady:
            return self._changing_column(number, now)
        if column is None:
            at = now if self.model.motion.still else self._epoch
            column = self._built[number] = self.layout.columns[number].build(self.model, at)
        return column

    def _changing_column(self, number: int, now: float) -> Column:
        at = now if number in self._always else self.model.counted_at(now)
        column = self._built[number]
        if column is None or number in self._always or self._counted_at.get(number) != at:
            self._counted_at[number] = at
            column = self._built[number] = self.layout.columns[number].build(self.model, at)
        return column

    def value(self, number: int, row: int, at: float) -> Value:
        """Return a value as it was or will be served at a moment, while nobody changes the state."""
        spec = self.layout.columns[number].spec
        if spec.changes is Changes.GROWING:
            return spec.value(self.model, row, self.model.counted_at(at))
        moment = at if self.model.motion.still else self.model.epoch(at)
        return spec.value(self.model, row, moment)

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
