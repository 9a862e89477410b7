"""Faults of single rows: rows that fail, hang, repeat, swap places, or come and go."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, Final

from facho.sim.scenario import Scenario
from facho.sim.tables import Changes, PlacedColumn
from facho.sim.traffic import CounterFault


class RowFaults:
    """The row faults of a scenario. They concern ONU tables only, so that other tables can still be read;
    columns that the OLT lacks may be any.
    """

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        self._scenario = scenario
        self._seed = seed
        self._columns = frozenset(scenario.columns)
        self._generr = frozenset(scenario.generr_rows)
        self._silent = frozenset(scenario.silent_rows)
        self._chain = _chain(scenario)
        self._lacks = tuple(f"{oid.strip('.')}." for oid in scenario.lacks)
        self._are_counters_gone = False
        self._generation = 0
        self._hidden: dict[int, frozenset[int]] = {}

    def concerns(self, column: PlacedColumn[Any]) -> bool:
        return column.index.of_onus and (not self._columns or column.spec.name in self._columns)

    def fails(self, column: PlacedColumn[Any], row: int) -> bool:
        return row in self._generr and self.concerns(column)

    def hangs(self, column: PlacedColumn[Any], row: int) -> bool:
        return row in self._silent and self.concerns(column)

    def hides(self, column: PlacedColumn[Any], row: int) -> bool:
        """Return whether a row is absent now: the same in every column, as when an ONU is removed."""
        if self.lacks(column):
            return True
        if not self._scenario.churn_every or not column.index.of_onus:
            return False
        return row in self._absent_rows(len(column.index))

    def lacks(self, column: PlacedColumn[Any]) -> bool:
        if self._are_counters_gone and column.spec.changes is Changes.GROWING:
            return True
        return bool(self._lacks) and f"{column.spec.oid}.".startswith(self._lacks)

    def next_row(self, column: PlacedColumn[Any], row: int) -> int:
        """Return the row that is given in place of `row`; one past the last at the end of the column."""
        if self.lacks(column):
            return len(column.index)
        if self._chain and self.concerns(column):
            row = self._chain.get(row - 1, row)
        while self.hides(column, row):
            row += 1
        return row

    def set_time(self, now: float) -> None:
        """Let counters come and go."""
        self._are_counters_gone = self._scenario.counting.is_faulty(CounterFault.GONE, now)

    def set_requests(self, requests: int) -> None:
        """Change the absent rows with the number of requests."""
        if self._scenario.churn_every:
            generation = requests // self._scenario.churn_every
            if generation != self._generation:
                self._generation = generation
                self._hidden.clear()

    def _absent_rows(self, rows: int) -> frozenset[int]:
        absent = self._hidden.get(rows)
        if absent is None:
            random = Random(f"{self._seed}/{self._generation}")
            absent = frozenset(random.sample(range(rows), min(self._scenario.churn_rows, rows)))
            self._hidden[rows] = absent
        return absent


def _chain(scenario: Scenario) -> dict[int, int]:
    """Return the row that follows each row where it is not the next one; -1 is the start of the column."""
    chain: dict[int, int] = {}
    if scenario.swap_rows:
        low, high = sorted(scenario.swap_rows)
        order = [low - 1, *range(low, high + 1), high + 1]
        order[1], order[-2] = high, low
        chain.update(pairwise(order))
    if scenario.repeat_row is not None:
        back_to = scenario.repeat_back_to
        chain[scenario.repeat_row] = scenario.repeat_row if back_to is None else back_to
    return chain


NO_FAULTS: Final = RowFaults(Scenario())
