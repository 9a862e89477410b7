"""Whatever OLT a profile describes, its own tables agree on who its ONUs are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from facho.sim.families.family import Family
from facho.sim.families.from_profile import from_profile
from facho.sim.model import Cause, OltModel, Shape
from facho.snmp.values import Value
from facho.vendors import GENERIC, Decoded, Decoder, Entity, Profile, builtin
from facho.vendors.schema import Table, table_oids
from tests.unit.vendors.simulated import NOW, rows

Rows = Mapping[str, Mapping[bytes, Value]]
# Several ports and boards of every family, and few enough to be quick.
MOST_ONUS = 80


@cache
def variants() -> dict[str, Profile]:
    """Each profile, and each technology of it alone: an OLT is simulated with one of them."""
    found: dict[str, Profile] = {}
    for name, profile in builtin().items():
        for technology in {table.technology: None for table in profile.tables if table.entity is Entity.ONU}:
            tables = tuple(table for table in profile.tables if table.technology in ("", technology))
            found[f"{name} {technology}".strip()] = replace(profile, tables=tables)
    return found


@cache
def family(variant: str) -> Family:
    return from_profile(variants()[variant])


@cache
def decoder(variant: str) -> Decoder:
    return Decoder(variants()[variant])


@st.composite
def olts(draw: st.DrawFn) -> tuple[str, OltModel]:
    """An OLT of any family, of any shape that it can have, some of whose ONUs went away."""
    variant = draw(st.sampled_from(sorted(variants())))
    # So few of each that the index of every family has room for them.
    shape = Shape(
        onus=draw(st.integers(0, MOST_ONUS)),
        onus_per_port=draw(st.integers(8, 32)),
        ports_per_board=draw(st.integers(2, 8)),
        autofind=draw(st.integers(0, 3)),
    )
    number = draw(st.integers(0, 999))
    olt = OltModel(number, shape, seed=draw(st.integers(0, 9)), born=NOW - 60, name=f"olt-{number}")
    for row in draw(st.sets(st.integers(0, max(0, shape.onus - 1)), max_size=min(5, shape.onus))):
        olt.take_offline(row, draw(st.sampled_from(Cause)), NOW)
    return variant, olt


def onus_of(table: Table, variant: str, served: Rows) -> Decoded:
    """What this table alone says; where it is joined by the hardware address, with those."""
    wanted = set(table_oids(table))
    if "mac" in table.index.gives:
        macs = (
            other
            for other in variants()[variant].tables
            if other.entity is Entity.ONU and any(column.fact == "mac" for column in other.columns)
        )
        wanted |= {oid for other in macs for oid in table_oids(other)}
    return decoder(variant).decode({oid: column for oid, column in served.items() if oid in wanted})


@settings(max_examples=150, deadline=None)
@given(olts())
def test_every_onu_of_every_table_is_at_one_place_and_nothing_is_reported(
    drawn: tuple[str, OltModel],
) -> None:
    variant, olt = drawn
    served = rows(family(variant), olt)
    found = decoder(variant).decode(served)
    assert found.problems.first == []
    assert len(found.onus) == len(set(found.onus.keys)) == olt.shape.onus
    for table in variants()[variant].tables:
        if table.entity is Entity.ONU:
            alone = onus_of(table, variant, served)
            assert alone.problems.first == []
            assert set(alone.onus.keys) == set(found.onus.keys), table.name
    check_places(found)


def check_places(found: Decoded) -> None:
    """Where a column says the place beside the index, or instead of it, it says one for each ONU."""
    for fact, part in {"frame": "frame", "slot": "slot", "port": "port", "onu_id": "onu"}.items():
        for key, said in zip(found.onus.keys, found.onus.columns.get(fact, []), strict=False):
            assert isinstance(said, int)
            assert getattr(key, part) in (None, said)


def test_every_family_is_among_them() -> None:
    assert {name.partition(" ")[0] for name in variants()} == builtin().keys() - {GENERIC}
    assert {"bdcom gpon", "bdcom epon", "huawei epon", "zte epon"} <= variants().keys()
