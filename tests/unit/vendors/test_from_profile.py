"""A profile is enough to simulate its brand, and what is simulated reads back as what the model says."""

import pytest

from facho.sim.families.facts import MODEL_FACTS
from facho.sim.families.family import Family
from facho.sim.families.from_profile import from_profile
from facho.sim.families.huawei import HUAWEI
from facho.sim.families.table_rows import simulated_tables
from facho.sim.families.zte import ZTE
from facho.sim.model import Cause, Shape
from facho.sim.tables import Layout
from facho.vendors import Decoded, Decoder, Entity, Identity, Profile, builtin, detect
from facho.vendors.parse import parse_profile
from tests.unit.vendors.simulated import NOW, model, rows

# What most of the other brands have, in one: ONUs known by interface name, optics as text or linear, another
# index in one table, a serial as index, a join through the MAC, images of which one is active.
ODD = """\
profile: odd
title: Everything at once
confidence: guess
source: a test
detect:
  any: [{object_id: 1.3.6.1.4.1.99999.1.7, descr: '^Odd [AB]\\d+'}]
indexes:
  by_name: [{column: 1.3.6.1.2.1.31.1.1.1.1, names: ['EPON{frame}/{port}:{onu}', 'GPON{frame}/{port}:{onu}']}]
  by_parts: [frame, port, onu, {skip: yes}, {only: 7}]
  by_bits: [{bits: {frame: {at: 25, width: 6}, port: {at: 19, width: 6}, onu: {at: 8, width: 11}}}]
  by_port_name: [{column: 1.3.6.1.2.1.31.1.1.1.1, names: ['EPON{frame}/{port}']}]
  by_mac: [{skip: yes}, {octets: 6}]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: by_name
    columns:
      mac: 1
      serial: 2
      state:
        column: 3
        enum: {0: {word: wire down, is: los}, 1: online, 2: {word: gasp, is: power_off}, 3: offline}
      sw_version: {column: 4, when: {column: 5, is: 1}, otherwise: [{column: 6, when: {column: 7, is: 1}}]}
  optics:
    of: onu
    oid: 1.3.6.1.4.1.99999.3.1
    index: by_parts
    columns:
      onu_rx_dbm: {column: 1, number_in_text: {after: "(", before: " dBm"}, no_value: ["-", "N/A"]}
      onu_tx_dbm: {column: 2, milliwatts: 0.0001, no_value: 0}
      temperature_c: {column: 3, scale: 1/256, signed: 16, no_value: 32767}
      distance_m: {column: 4, scale: 0.1, no_value: -1}
  olt_optics:
    of: onu
    oid: 1.3.6.1.4.1.99999.4.1
    index: by_bits
    columns:
      olt_rx_dbm: {column: 1, scale: 0.1, no_value: [65534]}
  names:
    of: onu
    oid: 1.3.6.1.4.1.99999.5.1
    index: by_mac
    columns:
      name: 1
      down_cause:
        column: 2
        enum: {LOS: los, dying-gasp: power_off, reset: reboot, "off": disabled, "--": none}
  ports:
    of: port
    oid: 1.3.6.1.4.1.99999.6.1
    index: by_port_name
    columns:
      state: {column: 1, enum: {1: up, 2: down}}
      temperature_c: {column: 2, number_in_text: yes}
"""
ODD_PROFILE = parse_profile(ODD, "odd.yaml")
SHAPE = Shape(300)
CHECKED = {**builtin(), "odd": ODD_PROFILE}
# What is rounded on its way: by the steps in which the vendor counts.
STEP = {"distance_m": 10.0, "uptime_s": 1.0, "registered_s": 1.0}
# The brand's own, and what is not as fine as the model; where an ONU is is compared by its index.
NOT_COMPARED = {
    "mac", "name", "serial", "state", "down_cause", "config_state", "match_state", "frame", "slot", "port",
    "onu_id",
}  # fmt: skip


def close(fact: str, read: object, told: object, step: float | None = None) -> bool:
    if isinstance(told, int | float) and isinstance(read, int | float):
        allowed = STEP.get(fact, 0.51 if fact in ("temperature_c", "bias_ma") else 0.051)
        return abs(read - told) <= (step or allowed)
    return str(read) == str(told)


def told_linearly(profile: Profile) -> set[str]:
    """Power that comes in steps of so many milliwatts, which are coarse where it is weak."""
    return {column.fact for table in profile.tables for column in table.columns if column.rule.milliwatts}


def coarse(profile: Profile) -> dict[str, float]:
    """What is told in large steps, such as hundreds of metres: half a step."""
    columns = (column for table in profile.tables for column in table.columns)
    return {column.fact: column.rule.scale / 2 for column in columns if column.rule.scale > 1}


def decoded(profile: Profile, family: Family) -> Decoded:
    return Decoder(profile).decode(rows(family, model(SHAPE)))


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_simulated_from_a_profile_reads_back_as_the_facts_of_the_model(name: str) -> None:
    profile = CHECKED[name]
    found = decoded(profile, from_profile(profile))
    assert found.problems.first == []
    olt = model(SHAPE)
    for entity in (Entity.ONU, Entity.PORT):
        facts = found[entity]
        expected = {Entity.ONU: SHAPE.onus, Entity.PORT: SHAPE.ports}[entity]
        assert len(facts) in (0, expected)
        for fact, values in facts.columns.items():
            if fact in NOT_COMPARED:
                continue
            step = 0.25 if fact in told_linearly(profile) else coarse(profile).get(fact)
            for row, value in enumerate(values):
                told = MODEL_FACTS[entity][fact](olt, row, NOW)
                assert close(fact, value, told, step), (fact, row, value, told)


@pytest.mark.parametrize("name", CHECKED)
def test_simulated_onus_can_be_told_apart_as_those_of_the_profile_can(name: str) -> None:
    profile = CHECKED[name]
    facts = decoded(profile, from_profile(profile)).onus
    tables = [table for table in simulated_tables(profile) if table.entity is Entity.ONU]
    tells = {column.fact for table in tables for column in table.columns}
    if tells.intersection(("serial", "mac")):
        serials, macs = (facts.columns.get(fact, [None] * len(facts)) for fact in ("serial", "mac"))
        assert len({serial or mac for serial, mac in zip(serials, macs, strict=True)} - {None}) == SHAPE.onus
    assert len(set(facts.keys)) == len(facts)


@pytest.mark.parametrize("name", CHECKED)
def test_a_device_simulated_from_a_profile_is_detected_as_such(name: str) -> None:
    family = from_profile(CHECKED[name])
    served = rows(family, model(Shape(2)))
    (descr,), (object_id,) = (tuple(served[f"1.3.6.1.2.1.1.{n}"].values()) for n in (1, 2))
    assert isinstance(descr, bytes)
    rows_there = {oid: "1" for oid, column in served.items() if column}
    assert detect(Identity(str(object_id), descr.decode()), rows_there, CHECKED).profile == name


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("onus", [0, 1, 2000])
def test_every_column_can_be_walked(name: str, onus: int) -> None:
    family = from_profile(CHECKED[name])
    layout = Layout(family.columns, family.spaces(Shape(onus)))
    firsts = [column.first for column in layout.columns]
    assert firsts == sorted(firsts)
    assert len({column.prefix for column in layout.columns}) == len(layout.columns)


def test_more_onus_than_an_index_has_room_for_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot hold 60000 ONUs"):
        from_profile(builtin()["huawei"]).spaces(Shape(60_000))


@pytest.mark.parametrize(("profile", "hand_written"), [("huawei", HUAWEI), ("zte", ZTE)])
def test_the_hand_written_simulation_says_the_same_as_the_one_from_the_profile(
    profile: str, hand_written: Family
) -> None:
    by_hand = decoded(builtin()[profile], hand_written)
    by_profile = decoded(builtin()[profile], from_profile(builtin()[profile]))
    assert by_hand.problems.first == []
    # Maker and model of an ONU are the brand's own; so is the arrangement of boards in the chassis.
    own = {"serial", "model", "type", "name"}
    compared = set(by_hand.onus.columns) - own
    assert len(compared) >= 12
    for fact in compared:
        for row, value in enumerate(by_hand.onus.columns[fact]):
            assert str(value) == str(by_profile.onus.columns[fact][row]), (fact, row)
    for row, value in enumerate(by_hand.onus.columns["serial"]):
        assert str(value)[4:] == str(by_profile.onus.columns["serial"][row])[4:]
    assert [key.onu for key in by_hand.onus.keys] == [key.onu for key in by_profile.onus.keys]
    ports, others = by_hand[Entity.PORT], by_profile[Entity.PORT]
    for fact in set(ports.columns) - {"name"}:
        assert list(map(str, ports.columns[fact])) == list(map(str, others.columns[fact])), fact


def test_a_cut_fibre_shows_in_the_facts() -> None:
    olt = model(SHAPE)
    olt.dark_ports.add(1)
    for row in SHAPE.rows_of_port(1):
        olt.take_offline(row, Cause.LOS, NOW)
    found = Decoder(ODD_PROFILE).decode(rows(from_profile(ODD_PROFILE), olt))
    assert str(found[Entity.PORT].columns["state"][1]) == "down"
    here = [found.onus.row(row) for row in SHAPE.rows_of_port(1)]
    assert {str(each["state"]) for each in here} <= {"los", "power_off", "offline"}
    assert {each["onu_rx_dbm"] for each in here} == {None}
