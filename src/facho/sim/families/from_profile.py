"""A simulated family from its vendor profile alone: raw values that read back as the facts of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from facho.sim.families.facts import MODEL_FACTS, FactOf, always
from facho.sim.families.family import SCALAR, Family, OltColumn, ValueOf, fact_column, system_columns
from facho.sim.families.table_rows import (
    TableRows,
    onu_address,
    onu_name,
    shared_columns,
    shared_space,
    simulated_tables,
    space_name,
    uplink_name,
)
from facho.sim.model import OltModel, Shape
from facho.sim.tables import Changes, ColumnSpec, IndexSpace
from facho.snmp.values import Value
from facho.vendors.facts import Entity
from facho.vendors.schema import Column, DetectRule, Profile, Source, Table, When

_SYSTEM: Final = "1.3.6.1.2.1.1."


def from_profile(profile: Profile) -> Family:
    chassis = _Chassis(profile)

    def spaces(shape: Shape) -> Mapping[str, IndexSpace]:
        return {"scalar": SCALAR, **chassis.places(shape).spaces}

    return Family(profile.name, tuple(_columns(chassis)), spaces)


class _Chassis:
    """The rows of a profile's tables, found once for each shape of OLT."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._places: dict[Shape, TableRows] = {}

    def places(self, shape: Shape) -> TableRows:
        found = self._places.get(shape)
        if found is None:
            found = self._places[shape] = TableRows(self.profile, shape)
        return found


def _columns(chassis: _Chassis) -> Iterator[OltColumn]:
    profile = chassis.profile
    yield from system_columns(*_identity(profile))
    served: set[str] = set()
    for oid, table in _name_columns(profile).items():
        served.add(oid)
        yield ColumnSpec(f"names.{table.name}", oid, oid, _names(chassis, oid))
    shared = shared_columns(profile).keys() - served
    yield from (_shared_column(chassis, oid) for oid in sorted(shared) if not oid.startswith(_SYSTEM))
    served |= shared
    for table in simulated_tables(profile):
        for column in table.columns:
            if column.source.oid not in served and not column.source.oid.startswith(_SYSTEM):
                served.add(column.source.oid)
                yield _column(chassis, table, column)
        for source in dict.fromkeys(column.source for column in table.columns):
            yield from _helping(table, source, served)


def _name_columns(profile: Profile) -> dict[str, Table]:
    return {
        table.index.named.column: table
        for table in simulated_tables(profile)
        if table.index.named is not None
    }


def _names(chassis: _Chassis, oid: str) -> ValueOf:
    return lambda olt, row, _now: chassis.places(olt.shape).name(oid, row)


def _column(chassis: _Chassis, table: Table, column: Column) -> OltColumn:
    space = space_name(table)
    fact_of = _fact_of(chassis.profile, table, column.fact)

    def in_order(olt: OltModel, row: int, now: float) -> object:
        return fact_of(olt, chassis.places(olt.shape).order[space][row], now)

    return fact_column(f"{table.name}.{column.fact}", space, table, column, in_order)


def _shared_column(chassis: _Chassis, oid: str) -> OltColumn:
    """Return a column of several tables: a row has the value that it has in its own table."""
    values: dict[str, ValueOf] = {}
    for table in simulated_tables(chassis.profile):
        for column in table.columns:
            if column.source.oid == oid:
                values.setdefault(space_name(table), _column(chassis, table, column).value)
        for when in table.rows:
            if when.oid == oid:
                values.setdefault(space_name(table), always(_value_for(when)))

    def value_of(olt: OltModel, row: int, now: float) -> Value:
        space, row_there = chassis.places(olt.shape).shared[oid][row]
        return values[space](olt, row_there, now)

    return ColumnSpec(f"shared.{oid}", oid, shared_space(oid), value_of, Changes.WITH_STATE)


def _fact_of(profile: Profile, table: Table, fact: str) -> FactOf:
    onus = {part for each in profile.tables if each.entity is Entity.ONU for part in each.index.gives}
    if table.entity is Entity.ONU and fact == "serial" and "name" in onus:
        return lambda _olt, row, _now: onu_name(row)
    if table.entity is Entity.ONU and fact == "mac" and "mac" in onus:
        return lambda _olt, row, _now: onu_address(row + 1)
    if table.entity is Entity.ONU and fact in ("frame", "slot", "port", "onu_id"):
        return _place_of_onu(fact)
    if table.entity is Entity.UPLINK and fact == "name":
        return lambda _olt, row, _now: uplink_name(table, row)
    return MODEL_FACTS[table.entity].get(fact, always(None))


def _place_of_onu(fact: str) -> FactOf:
    """Return a part of the place of an ONU that a column has, beside the index."""

    def place(olt: OltModel, row: int, _now: float) -> object:
        port, onu = divmod(row, olt.shape.onus_per_port)
        board, number = divmod(port, olt.shape.ports_per_board)
        return {"frame": 1, "slot": board + 1, "port": number + 1, "onu_id": onu + 1}[fact]

    return place


def _helping(table: Table, source: Source, served: set[str]) -> Iterator[OltColumn]:
    """The columns that say whether another one counts: always, here; and what one is a share of."""
    helping = {when.oid: when for when in (*table.rows, source.when) if when is not None}
    for purpose, oid in table.helpers(source):
        if oid not in served:
            served.add(oid)
            value = _value_for(helping[oid]) if oid in helping else 100
            yield ColumnSpec(f"{table.name}.{purpose}.{oid}", oid, space_name(table), always(value))


def _value_for(when: When) -> Value:
    """Return a value with which the condition holds."""
    if when.unless:
        return 1 if 0 in when.values else 0
    raw = when.values[0]
    return raw.encode() if isinstance(raw, str) else raw


def _identity(profile: Profile) -> tuple[str, str]:
    """sysDescr and sysObjectID by which it is detected."""
    # What a device must say in a column of its own is not simulated.
    rule = max(profile.rules, key=lambda rule: (bool(rule.object_id), not rule.probe_text), default=None)
    if rule is None:
        return profile.title, "1.3.6.1.4.1.0"
    return _description(
        rule
    ) or profile.title, rule.object_id or f"{rule.object_id_under or '1.3.6.1.4.1.0'}.1"


def _description(rule: DetectRule) -> str:
    """A text that the rule's pattern finds, for the simple patterns that profiles have."""
    if rule.descr is None:
        return ""
    text = rule.descr.pattern.removeprefix("^").removesuffix("$").replace(".*", " ").partition("|")[0]
    text = re.sub(r"\[\^[^]]*\][+*]?", "D", text)
    text = re.sub(r"\[(.)[^]]*\][+*]?", r"\1", text)
    text = re.sub(r"\\d[+*]?", "1", text)
    return re.sub(r"\\(.)", r"\1", text)
