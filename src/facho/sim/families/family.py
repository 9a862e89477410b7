"""What a brand has to say to be simulated, and the columns that every brand has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from facho.sim.model import OltModel, Shape
from facho.sim.tables import Changes, ColumnSpec, IndexSpace
from facho.snmp.values import Oid, TimeTicks, Value

OltColumn = ColumnSpec[OltModel]
# What a row of a column says: (OLT, row, now).
Teller = Callable[[OltModel, int, float], Value]


@dataclass(frozen=True, slots=True)
class Family:
    """`spaces` gives the index spaces that the columns name. It raises ValueError, with a sentence, for a
    shape that is more than such an OLT can hold."""

    name: str
    columns: tuple[OltColumn, ...]
    spaces: Callable[[Shape], Mapping[str, IndexSpace]]


def _uptime(olt: OltModel, _row: int, now: float) -> Value:
    return TimeTicks(olt.uptime_ticks(now))


SCALAR: Final = IndexSpace([(0,)])
UPTIME: Final = ColumnSpec("sys_uptime", "1.3.6.1.2.1.1.3", "scalar", _uptime, Changes.ALWAYS)


def system_columns(description: str, object_id: str) -> tuple[OltColumn, ...]:
    """SNMPv2-MIB's system group."""

    def text(value: str) -> Teller:
        return lambda _olt, _row, _now: value.encode()

    oid = Oid.parse(object_id)
    return (
        ColumnSpec("sys_descr", "1.3.6.1.2.1.1.1", "scalar", text(description)),
        ColumnSpec("sys_object_id", "1.3.6.1.2.1.1.2", "scalar", lambda _olt, _row, _now: oid),
        UPTIME,
        ColumnSpec("sys_contact", "1.3.6.1.2.1.1.4", "scalar", text("")),
        ColumnSpec("sys_name", "1.3.6.1.2.1.1.5", "scalar", lambda olt, _row, _now: olt.name.encode()),
        ColumnSpec("sys_location", "1.3.6.1.2.1.1.6", "scalar", text("simulated")),
    )
