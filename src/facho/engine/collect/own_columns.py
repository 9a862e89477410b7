"""Columns of the operator's own that provide facts, added to the profile of the OLT as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from facho.engine.collect.request_plan import AskedColumn
from facho.vendors import Entity, Profile, known_facts
from facho.vendors.facts import Confidence
from facho.vendors.schema import Column, IndexLayout, Origin, ReadMethod, Rule, Source, Table

_ORIGIN: Final = Origin(Confidence.SINGLE, "operator")
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
        (Column(column.provides, source, Rule(), _ORIGIN, meaning=fact),),
        _ORIGIN,
    )


def _layout(profile: Profile, entity: Entity) -> IndexLayout | None:
    tables = [table for table in profile.tables if table.entity is entity]
    # The names that an index may need are not asked for with an own column.
    by_number = [table for table in tables if table.index.named is None]
    usual = [table for table in by_number if table.read_method is ReadMethod.WALK and not table.slow]
    return next((table.index for table in (*usual, *by_number, *tables)), None)
