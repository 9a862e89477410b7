"""An operator's own OID provides a fact of any kind of thing, or is refused with a sentence that helps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import columns_for
from facho.apps.hosts.store import sync_profiles
from facho.engine.collect.own_columns import with_own_columns
from facho.engine.collect.request_plan import KnownOnu, plan_get
from facho.engine.collect.work_builder import _columns, profile_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.oids import NewOid, add_oid
from facho.snmp.values import Counter32
from facho.vendors import Decoder, Entity, Key, profiles_in_use
from facho.vendors.facts import Kind
from facho.vendors.index import join_arcs
from facho.vendors.library import known_facts
from tests.factories import make_olt
from tests.own_profiles import acme, using_profiles, write

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
OWN = "1.3.6.1.4.1.99999.7"
TABLES = """\
  ports: {of: port, oid: 1.3.6.1.4.1.99999.4.1, index: port, columns: {name: 1}}
  unis: {of: uni, oid: 1.3.6.1.4.1.99999.4.2, index: uni, columns: {state: {column: 1, enum: {1: up}}}}
"""
INDEX = {Entity.ONU: (7, 3), Entity.UNI: (7, 3, 1), Entity.OLT: (0,)}
# What a device may send for a fact of each kind, and what that is.
SAMPLES: dict[Kind, tuple[object, object]] = {
    Kind.NUMBER: (b"4.5", 4.5),
    Kind.WHOLE: (3, 3),
    Kind.TEXT: (b"north", "north"),
    Kind.SERIAL: (b"ACME\x00\x00\x00\x2a", "ACME0000002A"),
    Kind.MAC: (bytes(range(6)), "00:01:02:03:04:05"),
}


@pytest.fixture
def olt(tmp_path: Path) -> Iterator[Olt]:
    with using_profiles(write(tmp_path, acme=acme() + TABLES)):
        sync_profiles(profiles_in_use())
        yield make_olt("a7", "acme")


@pytest.mark.parametrize(
    ("entity", "fact"),
    [
        (entity, next(name for name, fact in facts.items() if fact.kind is kind))
        for entity, facts in known_facts().items()
        for kind in SAMPLES
        if any(fact.kind is kind for fact in facts.values())
    ],
)
def test_each_kind_of_fact_of_each_kind_of_thing(olt: Olt, entity: Entity, fact: str) -> None:
    add_oid(NewOid("mine", OWN, "acme", entity=entity.value, provides=fact))
    columns = tuple(_columns(olt, columns_for(olt, [f"{entity}.{fact}"], "table")))
    own = [column for column in columns if column.provides]
    raw, value = SAMPLES[known_facts()[entity][fact].kind]
    index = join_arcs(INDEX.get(entity, (7,)))
    decoded = Decoder(with_own_columns(profile_of(olt), own)).decode({OWN: {index: raw}})
    assert decoded[entity].columns[fact] == [value]
    assert not len(decoded.problems)


def test_a_state_in_our_words_and_a_counter_of_32_bits(olt: Olt) -> None:
    add_oid(NewOid("state", OWN, "acme", entity="board", provides="state"))
    add_oid(NewOid("octets", f"{OWN}.2", "acme", entity="uplink", provides="in_octets"))
    facts = ["board.state", "uplink.in_octets"]
    profile = with_own_columns(profile_of(olt), _columns(olt, columns_for(olt, facts, "table")))
    row = join_arcs((7,))
    decoded = Decoder(profile).decode({OWN: {row: b"fault"}, f"{OWN}.2": {row: Counter32(5)}})
    assert str(decoded[Entity.BOARD].columns["state"][0]) == "fault"
    # A counter that is known to have 32 bits may come round.
    assert type(decoded[Entity.UPLINK].columns["in_octets"][0]) is Counter32


def test_an_unknown_fact_is_refused_with_the_way_to_declare_it(olt: Olt, tmp_path: Path) -> None:
    with translation.override("en"), pytest.raises(CommandError) as refused:
        add_oid(NewOid("mine", OWN, "acme", provides="wifi_clients"))
    assert refused.value.field == "provides"
    assert str(refused.value).endswith(
        f"declare it in a YAML file of {tmp_path}, under facts: onu: wifi_clients"
    )


def test_a_thing_of_which_the_family_has_no_table_is_refused(tmp_path: Path) -> None:
    with using_profiles(write(tmp_path, acme=acme())):
        sync_profiles(profiles_in_use())
        with (
            translation.override("en"),
            pytest.raises(CommandError, match="has no table of these things") as refused,
        ):
            add_oid(NewOid("mine", OWN, "acme", entity="port", provides="name"))
    assert refused.value.field == "entity"


def test_a_file_of_facts_alone_lets_an_own_oid_provide_a_new_fact(tmp_path: Path) -> None:
    text = "facts: {onu: {wifi_clients: {kind: whole number, en: Clients, es: Clientes, what: clients}}}"
    with using_profiles(write(tmp_path, facts=text)):
        sync_profiles(profiles_in_use())
        olt = make_olt("north", "huawei")
        add_oid(NewOid("mine", OWN, "huawei", provides="wifi_clients"))
        profile = with_own_columns(
            profile_of(olt), _columns(olt, columns_for(olt, ["wifi_clients"], "table"))
        )
        onu = join_arcs((0xFA000000 | 1 << 13 | 7 << 8, 3))
        assert Decoder(profile).decode({OWN: {onu: 12}}).onus.columns == {"wifi_clients": [12]}


RX = "1.3.6.1.4.1.2011.6.128.1.1.2.51.1.4"
STATE = "1.3.6.1.4.1.2011.6.128.1.1.2.46.1.15"


def test_an_own_oid_read_as_a_column_has_the_scale_of_that_and_its_own_fact(tmp_path: Path) -> None:
    with using_profiles(tmp_path):
        sync_profiles(profiles_in_use())
        olt = make_olt("north", "huawei")
        add_oid(NewOid("mine", OWN, "huawei", provides="uptime_s", read_as=RX))
        (column,) = _columns(olt, columns_for(olt, ["uptime_s"], "get"))
        assert (column.oid, column.read_as) == (OWN, OWN)
        profile = with_own_columns(profile_of(olt), [column])
        onu = join_arcs((0xFA000000 | 1 << 13 | 7 << 8, 3))
        assert Decoder(profile).decode({OWN: {onu: 2150}}).onus.columns == {"uptime_s": [22]}
        # An optical value is asked of the ONUs that are online, and so is what is read as it.
        asked = plan_get(profile, [column], [KnownOnu(Key(0, 1, 7, 3), "gpon", online=True)])
        assert [group.suffixes for group in asked.groups] == [[onu]]
        assert not plan_get(profile, [column], [KnownOnu(Key(0, 1, 7, 3), "gpon")]).groups


def test_a_column_of_the_same_fact_is_read_as_that_column(tmp_path: Path) -> None:
    with using_profiles(tmp_path):
        sync_profiles(profiles_in_use())
        olt = make_olt("north", "huawei")
        add_oid(NewOid("moved", OWN, "huawei", provides="onu_rx_dbm", read_as=RX))
        moved = [each for each in _columns(olt, columns_for(olt, ["onu_rx_dbm"], "get")) if each.oid == OWN]
        assert [(each.read_as, each.provides) for each in moved] == [(RX, "")]


@pytest.mark.parametrize(("fact", "column"), [("plan", RX), ("config_state", STATE), ("uptime_s", STATE)])
def test_a_column_of_another_kind_is_refused(tmp_path: Path, fact: str, column: str) -> None:
    with using_profiles(tmp_path):
        sync_profiles(profiles_in_use())
        with translation.override("en"), pytest.raises(CommandError, match="which do not fit") as refused:
            add_oid(NewOid("mine", OWN, "huawei", provides=fact, read_as=column))
        assert refused.value.field == "read_as"
