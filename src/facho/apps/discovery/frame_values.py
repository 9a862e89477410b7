"""The numbers of one collection, for a frame of the history. No value is older than the collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from facho.apps.discovery.findings import FindingRows
from facho.apps.discovery.roster import Roster

HISTORY_FACTS: Final = (
    "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "voltage_v", "bias_ma", "distance_m",
)  # fmt: skip
Numbers = list[float | None]


@dataclass(frozen=True, slots=True)
class FrameValues:
    """Columns of facts, each as long as `ids`; None where there is no value.

    Read only: these are the lists of the collection itself.
    """

    ids: list[int] = field(default_factory=list)
    columns: dict[str, Numbers] = field(default_factory=dict)

    def of_one(self, number: int) -> FrameValues:
        """Return the values of one id."""
        position = self.ids.index(number)
        return FrameValues([number], {fact: [values[position]] for fact, values in self.columns.items()})


def frame_values(roster: Roster, collection: Sequence[FindingRows]) -> FrameValues:
    """Return the numbers of all ONUs of the roster, which must be written by now, so that all have ids."""
    found = {fact: [rows for rows in collection if rows.has(fact)] for fact in HISTORY_FACTS}
    columns = {fact: _merge(roster, fact, several) for fact, several in found.items() if several}
    return FrameValues(roster.ids, columns)


def _merge(roster: Roster, fact: str, several: Sequence[FindingRows]) -> Numbers:
    """Join the values of several parts: the last one that has a value counts."""
    everybody = range(roster.size)
    columns = [cast(Numbers, rows.facts.columns[fact]) for rows in several]
    if len(several) == 1 and several[0].positions == everybody:
        return columns[0]
    merged: Numbers = [None] * len(everybody)
    for rows, values in zip(several, columns, strict=True):
        for position, value in zip(rows.positions, values, strict=True):
            if position >= 0 and value is not None:
                merged[position] = value
    return merged
