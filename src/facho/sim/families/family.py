"""A simulated family: its columns, and the rows that they have; and the columns that every family has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from facho.sim.families.facts import CONSTANT_FACTS, MODEL_FACTS, PATTERN_FACTS, FactOf, always
from facho.sim.model import OltModel, Shape
from facho.sim.tables import Changes, ColumnSpec, IndexSpace
from facho.sim.traffic import CounterFault
from facho.snmp.values import Counter32, Counter64, Oid, TimeTicks, Value
from facho.vendors.encode import encode_fact
from facho.vendors.facts import Entity
from facho.vendors.schema import Column, Profile, ReadMethod, Table

OltColumn = ColumnSpec[OltModel]
# Its counters have 32 bits; those of ifXTable, and of the tables of vendors, have 64.
_IF_TABLE: Final = "1.3.6.1.2.1.2.2.1."
# More than any line moves between two readings.
_JUMP: Final = 1 << 42
# The value of a row of a column: (OLT, row, now).
ValueOf = Callable[[OltModel, int, float], Value]


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
    return (
        ColumnSpec("sys_descr", "1.3.6.1.2.1.1.1", "scalar", always(description.encode())),
        ColumnSpec("sys_object_id", "1.3.6.1.2.1.1.2", "scalar", always(Oid.parse(object_id))),
        UPTIME,
        ColumnSpec("sys_contact", "1.3.6.1.2.1.1.4", "scalar", always(b"")),
        ColumnSpec("sys_name", "1.3.6.1.2.1.1.5", "scalar", lambda olt, _row, _now: olt.name.encode()),
        ColumnSpec("sys_location", "1.3.6.1.2.1.1.6", "scalar", always(b"simulated")),
    )


def fact_column(name: str, space: str, table: Table, column: Column, fact_of: FactOf) -> OltColumn:
    """Return a column of a profile whose values read back as the facts that `fact_of` gives."""
    fact, rule = column.meaning, column.rule

    def encoded(olt: OltModel, row: int, now: float) -> Value:
        return encode_fact(fact, rule, fact_of(olt, row, now))

    is_narrow = column.source.oid.startswith(_IF_TABLE)
    value_of: ValueOf = counter(encoded, is_narrow=is_narrow) if fact.is_counter else encoded
    changes = Changes.NEVER if column.fact in CONSTANT_FACTS else Changes.WITH_STATE
    if table.entity is Entity.OLT and column.fact in ("uptime_s", "clock"):
        changes = Changes.ALWAYS
    if fact.is_counter:
        changes = Changes.GROWING
    slow = table.slow or table.read_method is ReadMethod.GET_ONLINE
    of_template = table.entity is Entity.ONU and column.fact in PATTERN_FACTS
    return ColumnSpec(name, column.source.oid, space, value_of, changes, optics=slow, of_template=of_template)


def counter(fact_of: FactOf, *, is_narrow: bool) -> ValueOf:
    """Return the value of a counter, of 32 or 64 bits, with the faults of the scenario."""

    def value_of(olt: OltModel, row: int, now: float) -> Value:
        count = fact_of(olt, row, now)
        if not isinstance(count, int):
            return None
        counting = olt.counting
        if not counting.counter_faults:
            return Counter32(count & 0xFFFF_FFFF) if is_narrow else Counter64(count)
        if CounterFault.BACK in counting.counter_faults:
            before = fact_of(olt, row, counting.period(now))
            count -= before // 2 if isinstance(before, int) else 0
        count += _JUMP if counting.is_faulty(CounterFault.JUMP, now) else 0
        return Counter32(count & 0xFFFF_FFFF) if is_narrow or counting.is_narrow(now) else Counter64(count)

    return value_of


def profile_columns(
    profile: Profile, space: str, names: Mapping[str, str], own: Mapping[str, FactOf]
) -> tuple[OltColumn, ...]:
    """Return columns of a profile: `names` has their name in the simulator and `table.fact` in the profile.

    The facts are those of the model, except the `own` ones of the family, by name.
    """
    columns = {
        f"{table.name}.{column.fact}": (table, column) for table in profile.tables for column in table.columns
    }
    return tuple(
        fact_column(name, space, table, column, own.get(name) or MODEL_FACTS[table.entity][column.fact])
        for name, (table, column) in ((name, columns[fact]) for name, fact in names.items())
    )
