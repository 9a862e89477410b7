"""Columns of the operator's own that provide facts, added to the profile of the OLT as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from facho.engine.collect.request_plan import AskedColumn
from facho.vendors import GENERIC, Entity, Profile, known_facts, profile_of_family
from facho.vendors.facts import Confidence, Fact, Kind
from facho.vendors.schema import (
    Column,
    IndexLayout,
    NumberInText,
    Only,
    Origin,
    Plain,
    ReadMethod,
    Rule,
    Source,
    Table,
    Word,
)

_ORIGIN: Final = Origin(Confidence.SINGLE, "operator")
_BY_ROW: Final = IndexLayout("row", (Plain("row"),), _ORIGIN)
# The indexes of things of which a family has no table.
_PLAIN_INDEXES: Final = {
    Entity.OLT: IndexLayout("scalar", (Only(0),), _ORIGIN),
    **dict.fromkeys((Entity.BOARD, Entity.FAN, Entity.PSU, Entity.UPLINK, Entity.AUTOFIND), _BY_ROW),
}
# Sets of own columns: of each brand, for each job.
_CACHED: Final = 512
_extended: Final[dict[int, tuple[Profile, dict[tuple[AskedColumn, ...], Profile]]]] = {}


def with_own_columns(profile: Profile, columns: Iterable[AskedColumn]) -> Profile:
    """Return the profile with the own columns among these. Equal columns give the same object."""
    own = tuple(dict.fromkeys(column for column in columns if column.provides))
    if not own:
        return profile
    _, known = _extended.setdefault(id(profile), (profile, {}))
    extended = known.get(own)
    if extended is None:
        if len(known) >= _CACHED:
            known.clear()
        tables = [table for column in own for table in _tables(profile, column)]
        # Another thread may have made it meanwhile.
        extended = known.setdefault(own, replace(profile, tables=(*profile.tables, *tables)))
    return extended


def _tables(profile: Profile, column: AskedColumn) -> Iterator[Table]:
    """Yield the tables of one column. Its rows have the index and the conditions of a table that the family
    has: the interfaces that are uplinks, for example.
    """
    entity = Entity(column.entity or Entity.ONU)
    fact = known_facts()[entity].get(column.provides)
    if fact is None:
        return
    rule, similar = _generic_rule(column) or _rule(fact), _similar_tables(profile, entity)
    for table, its, source in find_columns(profile.name, column.rule_of):
        rule = source.rule or its.rule
        if table.entity is entity:
            similar = [replace(table, name="", columns=(), origin=_ORIGIN)]
    for table in similar:
        yield replace(
            table,
            name=f"own {column.name} {table.technology}" if len(similar) > 1 else f"own {column.name}",
            technology=table.technology if len(similar) > 1 else "",
            columns=(Column(column.provides, Source(column.oid), rule, _ORIGIN, meaning=fact),),
        )


def find_columns(family: str, oid: str) -> Iterator[tuple[Table, Column, Source]]:
    """Yield where the profile of a family has a column; nothing for an empty OID."""
    for table in profile_of_family(family).tables:
        for column in table.columns:
            yield from (
                (table, column, source) for source in (column.source, *column.otherwise) if source.oid == oid
            )


def _generic_rule(column: AskedColumn) -> Rule | None:
    """Return how the generic profile reads a fact of the OLT itself."""
    columns = (
        each
        for table in profile_of_family(GENERIC).tables
        if table.entity == column.entity == Entity.OLT
        for each in table.columns
    )
    return next((each.rule for each in columns if each.source.oid == column.oid), None)


def _rule(fact: Fact) -> Rule:
    """Return how a fact is read where no profile says it: numbers may be texts, and states are our words."""
    if fact.kind is Kind.WORD:
        return Rule(enum=tuple(Word(word, word, word) for word in fact.words or ()))
    # A counter keeps the type that it has on the wire: it says when the counter comes round.
    is_gauge = fact.kind in (Kind.NUMBER, Kind.WHOLE) and not fact.is_counter
    return Rule(number_in_text=NumberInText()) if is_gauge else Rule()


def has_place(profile: Profile, entity: Entity) -> bool:
    """Return whether it is known of which thing of this kind a row of an own column is."""
    return bool(_similar_tables(profile, entity))


def own_column_helpers(profile: Profile, entity: Entity) -> list[str]:
    """Return the columns that have to be read with an own one: names behind its index, conditions on rows."""
    tables = _similar_tables(profile, entity)
    names = [table.index.named.column for table in tables if table.index.named is not None]
    return list(dict.fromkeys((*names, *(when.oid for table in tables for when in table.rows))))


def _similar_tables(profile: Profile, entity: Entity) -> list[Table]:
    """Return a table of the family whose index rows of an own column have, without its columns.

    Names behind an index tell GPON from EPON: then there is one of each.
    """
    tables = [table for table in profile.tables if table.entity is entity]
    if not tables:
        return [
            Table("", entity, layout, (), _ORIGIN)
            for each, layout in _PLAIN_INDEXES.items()
            if each is entity
        ]
    first = min(tables, key=_how_unusual)
    if first.index.named is None:
        return [_without_columns(first)]
    by_technology: dict[str, Table] = {}
    for table in sorted(tables, key=_how_unusual):
        if table.index.named is not None:
            by_technology.setdefault(table.technology, table)
    return [_without_columns(table) for table in by_technology.values()]


def _how_unusual(table: Table) -> tuple[bool, bool, bool, bool]:
    """Return the order of choice. Conditions on rows leave out what is no thing of this kind."""
    is_slow = table.slow or table.read_method is not ReadMethod.WALK
    return "mac" in table.index.gives, table.index.named is not None, not table.rows, is_slow


def _without_columns(table: Table) -> Table:
    return Table("", table.entity, table.index, (), _ORIGIN, table.technology, rows=table.rows)
