"""What a collection told in numbers, for the history. No value here is older than the collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from facho.apps.discovery.finding import Rows
from facho.apps.discovery.roster import Roster

HISTORY_FACTS: Final = (
    "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "voltage_v", "bias_ma", "distance_m",
)  # fmt: skip
Numbers = list[float | None]


@dataclass(frozen=True, slots=True)
class Told:
    """Columns as long as `ids`, of the facts that were told; None where one was not. Only to be read: these
    are the lists that the collection came in."""

    ids: list[int] = field(default_factory=list)
    columns: dict[str, Numbers] = field(default_factory=dict)


def told(roster: Roster, collection: Sequence[Rows]) -> Told:
    """Of everybody in the roster, who must have been written by now: also the new ones have their ids."""
    telling = {fact: [rows for rows in collection if rows.tells(fact)] for fact in HISTORY_FACTS}
    return Told(roster.ids, {fact: _column(roster, fact, rows) for fact, rows in telling.items() if rows})


def _column(roster: Roster, fact: str, telling: Sequence[Rows]) -> Numbers:
    """Of several parts that tell it, the last one that has a value counts."""
    everybody = range(roster.size)
    columns = [cast(Numbers, rows.facts.columns[fact]) for rows in telling]
    if len(telling) == 1 and telling[0].at == everybody:
        return columns[0]
    found: Numbers = [None] * len(everybody)
    for rows, values in zip(telling, columns, strict=True):
        for position, value in zip(rows.at, values, strict=True):
            if position >= 0 and value is not None:
                found[position] = value
    return found
