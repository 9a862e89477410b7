"""Columns of the operator's own that provide facts, added to the profile of the OLT as tables."""

from __future__ import annotations

from collections.abc import Iterable
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
    if own not in known:
        if len(known) >= _CACHED:
            known.clear()
        tables = (table for column in own if (table := _table(profile, column)) is not None)
        known[own] = replace(profile, tables=(*profile.tables, *tables))
    return known[own]


def _table(profile: Profile, column: AskedColumn) -> Table | None:
    """Return the table of one column. Its rows have the index of the tables that the family has."""
    entity = Entity(column.entity or Entity.ONU)
    fact = known_facts()[entity].get(column.provides)
    layout = _layout(profile, entity)
    if fact is None or layout is None:
        return None
    source = Source(column.oid)
    return Table(
        f"own {column.name}",
        entity,
        layout,
        (Column(column.provides, source, _generic_rule(column) or _rule(fact), _ORIGIN, meaning=fact),),
        _ORIGIN,
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
    return _layout(profile, entity) is not None


def _layout(profile: Profile, entity: Entity) -> IndexLayout | None:
    tables = [table for table in profile.tables if table.entity is entity]
    # The names that an index may need are not asked for with an own column.
    by_number = [table for table in tables if table.index.named is None]
    usual = [table for table in by_number if table.read_method is ReadMethod.WALK and not table.slow]
    return next((table.index for table in (*usual, *by_number, *tables)), _PLAIN_INDEXES.get(entity))
