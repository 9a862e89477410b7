"""Rows of an operator's own column are of what the same rows are of in the tables of the family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from facho.engine.collect.own_columns import own_column_helpers, with_own_columns
from facho.engine.collect.request_plan import AskedColumn
from facho.sim import snmprec
from facho.vendors import Decoder, Entity, Key, Profile, builtin
from facho.vendors.schema import Source, Table
from tests.unit.vendors.facts_cases import CASES, FACTS, case_rows, expected_of
from tests.unit.vendors.rows import Table as Rows
from tests.unit.vendors.rows import rows_of

OWN = "1.3.6.1.4.1.99999.7"
# The family of each recording: they are called after it.
RECORDINGS = {
    path.stem: max((name for name in builtin() if path.stem.startswith(name)), key=len)
    for path in sorted(FACTS.parent.glob("*.snmprec"))
}


def profile_and_rows(name: str) -> tuple[Profile, Rows]:
    if name not in RECORDINGS:
        return builtin()[expected_of(name)["profile"]], case_rows(name)
    profile = builtin()[RECORDINGS[name]]
    records = snmprec.read(FACTS.parent / f"{name}.snmprec")
    rows = rows_of(profile, {each.oid.content: each.value for each in records})
    return profile, {oid: column for oid, column in rows.items() if column}


def keys(profile: Profile, tables: Iterable[Table], entity: Entity, rows: Rows) -> set[Key]:
    return set(Decoder(replace(profile, tables=tuple(tables))).decode(rows)[entity].keys)


def own_tables(profile: Profile, entity: Entity, fact: str) -> tuple[Table, ...]:
    own = AskedColumn("mine", OWN, OWN, entity=entity.value, provides=fact)
    return with_own_columns(profile, [own]).tables[len(profile.tables) :]


@pytest.mark.parametrize("name", [*RECORDINGS, *CASES])
def test_own_rows_are_of_the_things_of_the_family(name: str) -> None:
    profile, rows = profile_and_rows(name)
    for entity in Entity:
        tables = [table for table in profile.tables if table.entity is entity]
        for table, column in ((table, table.columns[0]) for table in tables):
            own = own_tables(profile, entity, column.fact)
            helpers = {each: rows[each] for each in own_column_helpers(profile, entity) if each in rows}
            oid = column.source.oid
            if oid not in rows or table.index not in [each.index for each in own]:
                continue
            alone = replace(table, columns=(replace(column, source=Source(oid), otherwise=()),))
            told = keys(profile, [alone], entity, rows)
            found = keys(profile, own, entity, {**helpers, OWN: rows[oid]})
            # With names, there may be ports of the other technology too. Conditions on rows hold
            # also where the table itself needs none.
            more = bool(table.technology) and found > told
            fewer = own[0].rows != table.rows and found < told
            assert found == told or more or fewer, (entity, table.name)


def test_ports_and_vlans_are_no_uplinks_because_an_own_column_has_them() -> None:
    profile, rows = profile_and_rows("zte_uplinks")
    names = rows["1.3.6.1.2.1.31.1.1.1.1"]
    own = own_tables(profile, Entity.UPLINK, "description")
    helpers = {each: rows[each] for each in own_column_helpers(profile, Entity.UPLINK)}
    uplinks = keys(profile, profile.tables, Entity.UPLINK, rows)
    assert keys(profile, own, Entity.UPLINK, {**helpers, OWN: names}) == uplinks
    assert 0 < len(uplinks) < len(names)


def test_an_onu_that_is_known_by_the_name_of_its_interface_has_its_place() -> None:
    profile, rows = profile_and_rows("datacom")
    own = own_tables(profile, Entity.ONU, "plan")
    [names] = own_column_helpers(profile, Entity.ONU)
    assert keys(profile, own, Entity.ONU, {names: rows[names], OWN: rows[names]}) == keys(
        profile, profile.tables, Entity.ONU, rows
    )
