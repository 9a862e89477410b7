"""A column of the operator's own provides any fact, by the rules of that fact."""

from __future__ import annotations

import pytest

from facho.apps.hosts.models import Brand, Oid, Olt
from facho.apps.hosts.selectors import columns_for
from facho.engine.collect.own_columns import with_own_columns
from facho.engine.collect.request_plan import AskedColumn
from facho.engine.collect.work_builder import _columns, profile_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.oids import NewOid, add_oid
from facho.vendors import Decoder, Entity, Key
from facho.vendors.index import join_arcs
from tests.findings import an_olt

pytestmark = pytest.mark.django_db
OWN = "1.3.6.1.4.1.99999.7"
# ONU 3 of port 0/1/7.
SUFFIX = join_arcs((0xFA000000 | 1 << 13 | 7 << 8, 3))


def own_column(brand: str, **columns: str) -> None:
    Oid.objects.create(brand=Brand.objects.get_or_create(name=brand)[0], name="mine", oid=OWN, **columns)


def asked(olt: Olt, fact: str) -> tuple[AskedColumn, ...]:
    return tuple(_columns(olt, columns_for(olt, [fact], "table")))


@pytest.mark.parametrize("brand", ["huawei", "generic"])
def test_a_fact_that_the_family_does_not_have(brand: str) -> None:
    olt = an_olt()
    own_column(brand, provides="plan")
    [column] = columns = asked(olt, "plan")
    assert (column.oid, column.read_as, column.provides) == (OWN, OWN, "plan")
    profile = with_own_columns(profile_of(olt), columns)
    decoded = Decoder(profile).decode({OWN: {SUFFIX: b"gold"}})
    assert decoded.onus.keys == [Key(0, 1, 7, 3)]
    assert decoded.onus.columns == {"plan": ["gold"]}


def test_a_fact_of_a_port() -> None:
    olt = an_olt()
    own_column("huawei", provides="description", entity="port")
    columns = asked(olt, "port.description")
    profile = with_own_columns(profile_of(olt), columns)
    port = join_arcs((0xFA000000 | 1 << 13 | 7 << 8,))
    decoded = Decoder(profile).decode({OWN: {port: b"north"}})
    assert decoded[Entity.PORT].columns == {"description": ["north"]}


def test_equal_columns_give_the_same_profile_and_none_the_one_of_the_family() -> None:
    olt = an_olt()
    own_column("huawei", provides="plan")
    profile, columns = profile_of(olt), asked(olt, "plan")
    assert with_own_columns(profile, columns) is with_own_columns(profile, columns)
    assert with_own_columns(profile, asked(olt, "serial")) is profile


def test_an_oid_without_a_fact_stays_raw() -> None:
    olt = an_olt()
    own_column("huawei")
    [row] = Oid.objects.filter(name="mine")
    assert row.provides == ""
    assert with_own_columns(profile_of(olt), [AskedColumn("mine", OWN)]) is profile_of(olt)


@pytest.mark.parametrize("fact", ["up_bps", "colour"])
def test_a_rate_and_an_unknown_fact_are_refused(fact: str) -> None:
    an_olt()
    with pytest.raises(CommandError) as refused:
        add_oid(NewOid("mine", OWN, "huawei", provides=fact))
    assert refused.value.field == "provides"
