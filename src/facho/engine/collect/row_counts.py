"""How many rows each column had the last time, so that a walk does not read past its end. A hint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facho.snmp import Oid, Value

_MOST: Final = 1 << 16


class RowCounts:
    """Of the OLTs that this process asked. When it is full it forgets, and learns again."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, Oid], int] = {}

    def expected(self, olt_id: int, columns: Iterable[Oid]) -> dict[Oid, int]:
        rows = self._rows
        return {oid: rows[olt_id, oid] for oid in columns if (olt_id, oid) in rows}

    def note(self, olt_id: int, columns: Mapping[Oid, Mapping[bytes, Value]]) -> None:
        if len(self._rows) + len(columns) > _MOST:
            self._rows.clear()
        self._rows.update(((olt_id, oid), len(rows)) for oid, rows in columns.items())
