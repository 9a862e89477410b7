"""What a GET asks for, by the vendor's profile."""

from __future__ import annotations

import pytest

from facho.core.reasons import Reason
from facho.engine.collect.request_plan import (
    AskedColumn,
    CannotAsk,
    KnownOnu,
    SuffixFinder,
    check_allowed,
    check_walkable,
    plan_get,
    resolve_read_as,
    split_addressable,
)
from facho.vendors import Decoder, Entity, Key, Profile, builtin
from facho.vendors.index import join_arcs, split_arcs
from facho.vendors.parse import parse_profile

HUAWEI, ZTE = builtin()["huawei"], builtin()["zte"]


def columns(profile: Profile, *facts: str, entity: Entity = Entity.ONU) -> list[AskedColumn]:
    return [
        AskedColumn(f"{table.name}.{column.fact}", column.source.oid, column.source.oid)
        for table in profile.tables
        for column in table.columns
        if table.entity is entity and column.fact in facts
    ]


def asked(profile: Profile, facts: tuple[str, ...], *known: KnownOnu) -> dict[Key, list[str]]:
    """The tables' suffixes in dots, by ONU, below the last number of their column."""
    plan = plan_get(profile, columns(profile, *facts), known)
    found: dict[Key, list[str]] = {}
    for group in plan.groups:
        for onu, suffix in zip(group.onus, group.suffixes, strict=True):
            written = ".".join(map(str, split_arcs(suffix)))
            found.setdefault(onu, []).extend([written] * len(group.columns))
    return found


def test_an_onu_is_asked_for_at_its_index_in_each_table() -> None:
    onu = KnownOnu(Key(1, 2, 3, 4), "gpon", online=True)
    assert asked(ZTE, ("description", "onu_rx_dbm"), onu) == {onu.key: ["268567296.4", "268567296.4.1"]}


@pytest.mark.parametrize(
    ("profile", "technology", "key", "rx", "olt_rx"),
    [
        ("zte", "gpon", Key(1, 2, 3, 4), "268567296.4.1", "268567296.4"),
        ("zte_c600", "gpon", Key(1, 3, 1, 7), "285278977.7.1", "285278977.7"),
        ("fiberhome", "", Key(slot=1, port=1, onu=2), "34079232", "34078720.2"),
        ("fiberhome_5116", "", Key(slot=1, port=1, onu=2), "138428416", "138412032.2"),
        ("nokia", "", Key(slot=1, port=4, onu=97), "96714752", "96714752"),
        ("vsol_gpon", "gpon", Key(slot=0, port=16, onu=3), "16.3", "16.3"),
    ],
)
def test_optics_can_be_asked_of_one_onu(
    profile: str, technology: str, key: Key, rx: str, olt_rx: str
) -> None:
    onu = KnownOnu(key, technology, online=True)
    assert asked(builtin()[profile], ("onu_rx_dbm",), onu) == {key: [rx]}
    assert asked(builtin()[profile], ("olt_rx_dbm",), onu) == {key: [olt_rx]}


@pytest.mark.parametrize("profile", ["zte", "zte_c600", "nokia"])
def test_an_olt_that_asks_its_onus_for_optics_is_not_made_to_ask_those_that_are_off(profile: str) -> None:
    off = KnownOnu(Key(1, 2, 3, 4))
    assert asked(builtin()[profile], ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm"), off) == {}


def test_what_is_asked_for_is_read_as_the_same_onu() -> None:
    keys = [Key(1, slot, port, 7) for slot in (2, 9) for port in (1, 8, 9, 16)]
    known = [KnownOnu(key, "epon", online=True) for key in keys]
    plan = plan_get(ZTE, columns(ZTE, "description"), known)
    rows: dict[str, dict[bytes, object]] = {}
    for group in plan.groups:
        for column in group.columns.values():
            texts = [str(onu).encode() for onu in group.onus]
            rows.setdefault(column, {}).update(zip(group.suffixes, texts, strict=True))
    onus = Decoder(ZTE).decode(rows).onus
    assert onus.keys == keys
    assert onus.columns["description"] == [str(key) for key in keys]


def index_of(*arcs: int) -> bytes:
    return join_arcs(arcs)


@pytest.mark.parametrize(
    ("key", "seen", "asked_at"),
    [
        # Nothing was seen: the first packing that holds the port.
        (Key(1, 2, 3, 5), b"", "806487296"),
        (Key(1, 2, 9, 3), b"", "2418541312"),
        # The card has 16 ports, and all of its ports are packed alike.
        (Key(1, 2, 3, 5), index_of(0x9022_0500), str(0x9022_0500)),
        # What was seen is another ONU in this table: it says nothing.
        (Key(1, 2, 3, 5), index_of(0x9022_0600), "806487296"),
        (Key(1, 2, 3, 5), index_of(268567296, 5), "806487296"),
    ],
)
def test_an_onu_is_asked_for_at_the_index_that_the_olt_showed(key: Key, seen: bytes, asked_at: str) -> None:
    onu = KnownOnu(key, "epon", online=True, raw_index=seen)
    assert asked(ZTE, ("onu_rx_dbm",), onu) == {key: [asked_at]}


def test_an_onu_whose_port_fits_into_no_packing_is_named_and_not_asked_for() -> None:
    onu = KnownOnu(Key(1, 2, 17, 3), "epon", online=True)
    plan = plan_get(ZTE, columns(ZTE, "onu_rx_dbm"), [onu])
    assert plan.groups == []
    assert plan.nowhere == {onu.key: Reason.of("index_not_known", table="epon_optics")}


TWO_CARDS = parse_profile(
    """\
profile: two_cards
title: Cards of 8 and of 16 ports, in two tables with another index each
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.8}]}
indexes:
  onu:
    - packings:
        - bits: {slot: {at: 11, width: 5}, port: {at: 8, width: 3}, onu: {at: 0, width: 8}}
          value: 0x30000000
        - bits: {slot: {at: 12, width: 4}, port: {at: 8, width: 4}, onu: {at: 0, width: 8}}
          value: 0x90000000
  optics:
    - packings:
        - bits: {slot: {at: 19, width: 5}, port: {at: 16, width: 3}, onu: {at: 0, width: 8}}
          value: 0x40000000
        - bits: {slot: {at: 20, width: 4}, port: {at: 16, width: 4}, onu: {at: 0, width: 8}}
          value: 0x50000000
    - {only: 1}
tables:
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: onu, columns: {serial: 1}}
  light: {of: onu, oid: 1.3.6.1.4.1.99999.3, index: optics, columns: {model: 1}}
""",
    "two_cards.yaml",
)


@pytest.mark.parametrize(
    ("seen", "asked_at"), [(0x3000_1305, 0x4013_0005), (0x9000_2305, 0x5023_0005), (0, 0x4013_0005)]
)
def test_in_a_table_with_another_index_the_packing_is_that_of_the_card_that_was_seen(
    seen: int, asked_at: int
) -> None:
    onu = KnownOnu(Key(slot=2, port=3, onu=5), raw_index=index_of(seen) if seen else b"")
    assert asked(TWO_CARDS, ("model",), onu) == {onu.key: [f"{asked_at}.1"]}


def test_a_technology_that_is_known_leaves_the_tables_of_others_out() -> None:
    gpon, epon, either = (KnownOnu(Key(0, 1, 0, 1), technology) for technology in ("gpon", "epon", ""))
    assert [len(asked(HUAWEI, ("description",), onu)[onu.key]) for onu in (gpon, epon, either)] == [1, 1, 2]


def test_an_onu_that_is_off_is_not_asked_for_what_only_it_knows() -> None:
    off = KnownOnu(Key(0, 1, 0, 1), "gpon")
    assert asked(HUAWEI, ("onu_rx_dbm",), off) == {}
    assert len(asked(HUAWEI, ("onu_rx_dbm", "description"), off)[off.key]) == 1


def test_tables_that_bear_fewer_values_at_once_are_asked_apart() -> None:
    onu = KnownOnu(Key(0, 1, 0, 1), "gpon", online=True)
    plan = plan_get(HUAWEI, columns(HUAWEI, "onu_rx_dbm", "description"), [onu])
    assert {group.batch: len(group.onus) for group in plan.groups} == {0: 1, 24: 1}
    assert plan.onus == {onu.key}


ODD = parse_profile(
    """\
profile: odd
title: Places that cannot be written
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes:
  parts: [port, onu]
  named: [{column: 1.3.6.1.2.1.31.1.1.1.1, names: ['EPON{port}:{onu}']}]
  counted:
    - column: 1.3.6.1.2.1.31.1.1.1.1
      names: ['pon{port}']
      packings:
        - {bits: {port: {at: 8, width: 8}, onu: {at: 0, width: 8}}, value: 0x01000000, apart: yes}
  either:
    - column: 1.3.6.1.2.1.31.1.1.1.1
      names: ['pon{port}']
      packings:
        - {bits: {port: {at: 8, width: 8}, onu: {at: 0, width: 8}}, value: 0x01000000, apart: yes}
        - {bits: {port: {at: 12, width: 6, plus: 1}, onu: {at: 0, width: 12}}, value: 0x480000}
tables:
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: parts, columns: {state: {column: 1, enum: {1: online}}}}
  interfaces:
    of: onu
    oid: 1.3.6.1.4.1.99999.3
    index: named
    columns: {state: {column: 1, enum: {1: online}, fallback: yes}}
  models: {of: onu, oid: 1.3.6.1.4.1.99999.4, index: counted, columns: {model: 1}}
  names: {of: onu, oid: 1.3.6.1.4.1.99999.5, index: either, columns: {name: 1}}
""",
    "odd.yaml",
)


def test_a_fallback_that_cannot_be_asked_for_by_place_is_walked() -> None:
    by_place, walked = split_addressable(ODD, columns(ODD, "state"))
    assert [column.name for column in by_place] == ["onus.state"]
    assert [column.name for column in walked] == ["interfaces.state"]


def test_an_onu_of_c_data_is_asked_for_as_firmware_3_counts_and_its_module_is_looked_for() -> None:
    cdata, onu = builtin()["cdata_gpon"], KnownOnu(Key(0, 0, 2, 2), "gpon", online=True)
    assert asked(cdata, ("serial",), onu) == {onu.key: ["4722690"]}
    by_place, walked = split_addressable(cdata, columns(cdata, "onu_rx_dbm", "olt_rx_dbm"))
    assert [column.name for column in by_place] == ["olt_optics.olt_rx_dbm"]
    assert [column.name for column in walked] == ["optics.onu_rx_dbm"]


def test_ports_that_are_counted_apart_from_their_names_cannot_be_written() -> None:
    with pytest.raises(CannotAsk, match="use the kind table"):
        plan_get(ODD, columns(ODD, "model"), [])
    onu = KnownOnu(Key(port=3, onu=4))
    assert asked(ODD, ("name",), onu) == {onu.key: [str(0x482004)]}


def test_an_onu_at_no_place_of_the_table_is_named() -> None:
    nowhere = KnownOnu(Key(0, 1, 77, 1), "gpon")
    plan = plan_get(HUAWEI, columns(HUAWEI, "description"), [nowhere])
    assert plan.groups == []
    assert plan.nowhere == {nowhere.key: Reason.of("index_not_known", table="gpon_config")}
    # One whose technology is not known may well belong to the other table.
    either = KnownOnu(Key(1, 9, 16, 200))
    assert plan_get(ZTE, columns(ZTE, "description"), [either]).nowhere == {}


@pytest.mark.parametrize(
    ("facts", "entity", "words"),
    [
        (("ip",), Entity.ONU, r"gpon_ip.ip: a row of the table gpon_ip cannot .* use the kind table$"),
        (("state",), Entity.PORT, "ports.state: it is not about ONUs; use the kind table or walk"),
    ],
)
def test_a_column_that_cannot_be_asked_for_by_place_is_refused(
    facts: tuple[str, ...], entity: Entity, words: str
) -> None:
    with pytest.raises(CannotAsk, match=words):
        plan_get(HUAWEI, columns(HUAWEI, *facts, entity=entity), [])


@pytest.mark.parametrize(
    "oid",
    [
        "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4",
        "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4.4194304000.1",
        "1.3.6.1.4.1.2011.6.128.1.1.2.43",
        ".1.3.6.1.4.1.2011.6.128.1.1.2.101.1",
        "1.3.6.1",
    ],
)
def test_what_must_never_be_read_is_refused_from_above_and_from_below(oid: str) -> None:
    with pytest.raises(CannotAsk, match="is never read"):
        check_allowed(HUAWEI, [AskedColumn("x", oid)])


def test_what_lies_beside_it_is_allowed() -> None:
    check_allowed(HUAWEI, [AskedColumn("x", "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.40")])
    check_allowed(HUAWEI, columns(HUAWEI, "serial", "description"))


def test_a_column_that_the_profile_has_no_rules_for_is_the_operators_own() -> None:
    strange, (serial,) = AskedColumn("x", "1.3.6.1.9", "1.3.6.1.9"), columns(HUAWEI, "serial")
    assert resolve_read_as(HUAWEI, [strange, serial]) == [AskedColumn("x", "1.3.6.1.9"), serial]


def test_what_has_no_index_of_the_onus_place_is_walked_instead() -> None:
    by_place, walked = split_addressable(HUAWEI, columns(HUAWEI, "ip", "description"))
    assert [column.name for column in by_place] == ["gpon_config.description", "epon_config.description"]
    assert [column.name for column in walked] == ["gpon_ip.ip"]


def test_what_is_fetched_from_the_onus_is_not_walked() -> None:
    check_walkable(HUAWEI, columns(HUAWEI, "serial", "state"))
    with pytest.raises(CannotAsk, match="ask for it with the kind get"):
        check_walkable(HUAWEI, columns(HUAWEI, "serial", "onu_rx_dbm"))


def test_an_index_that_holds_more_than_the_place_is_asked_for_as_it_was_seen() -> None:
    """The last number is no part of the place, so that the index cannot be written from it."""
    (table,) = (table for table in HUAWEI.tables if table.name == "gpon_ip")
    finder, key, seen = SuffixFinder(HUAWEI, table), Key(0, 1, 0, 5), index_of(0xFA00_2000, 5, 3)
    assert finder.find(KnownOnu(key, "gpon", raw_index=seen)) == seen
    assert finder.find(KnownOnu(key, "gpon")) is None
