"""Kinds of index that the built-in profiles do not have, and that other brands do."""

from pathlib import Path

import pytest

from facho.sim.families.from_profile import from_profile
from facho.sim.model import Shape
from facho.snmp.values import Value
from facho.vendors import Decoder, Entity, Key, State, index, with_extra
from facho.vendors.errors import BadIndex
from facho.vendors.index import compile_index
from facho.vendors.parse import parse_profile
from facho.vendors.schema import Named, Profile
from tests.unit.vendors.rows import by_key, column
from tests.unit.vendors.simulated import model, rows

KINDS = """\
profile: kinds
title: Kinds of index
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes:
  shifted:
    - value: 0x01C00000
      bits:
        slot: {at: 25, width: 6, plus: -1}
        port: {at: 16, width: 5, plus: 1}
        onu: {at: 9, width: 7, plus: 1}
  of_interest:
    - value: 0x01C00000
      bits:
        slot: {at: 25, width: 6, plus: -1, range: [1, 60]}
        port: {at: 16, width: 5, plus: 1}
        onu: {at: 9, width: 7, plus: 1}
      ignore_others: yes
  first_counts:
    - {bits: {port: {at: 12, width: 6, plus: 1}, onu: {at: 0, width: 12}}, value: 0x480000}
    - {skip: yes}
  serial: [{text: name}]
  named: [{column: 1.3.6.1.4.1.99999.9, names: ['gpon-{frame}/{slot}/{port}-onu-{onu}*']}]
  by_mac: [{skip: yes}, {octets: 6}]
  only_box: {parts: [port, onu], always: {frame: 0, slot: 0}}
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2
    index: serial
    columns:
      serial: 1
      port: {column: 2, no_value: 0, keep_last: yes}
      state: {column: 3, enum: {1: online, 2: offline}}
"""
PROFILE = parse_profile(KINDS, "kinds.yaml")
SERIAL = (12, *b"UBNT20731888")


def decoded(name: str, *arcs: int) -> Key | None:
    return compile_index(next(index for index in PROFILE.indexes if index.name == name)).decode(arcs)


@pytest.mark.parametrize(
    ("name", "arcs", "key"),
    [
        ("shifted", (96468992,), Key(slot=1, port=1, onu=1)),
        ("shifted", (96665600,), Key(slot=1, port=4, onu=1)),
        ("shifted", (96714752,), Key(slot=1, port=4, onu=97)),
        ("first_counts", (4718593, 7), Key(port=1, onu=1)),
        ("first_counts", (4722690, 0), Key(port=2, onu=2)),
        ("only_box", (3, 17), Key(frame=0, slot=0, port=3, onu=17)),
        ("serial", SERIAL, Key(extra="UBNT20731888")),
        ("by_mac", (5, 0, 30, 16, 170, 187, 204), Key(extra="00:1e:10:aa:bb:cc")),
    ],
)
def test_an_index_tells_its_place(name: str, arcs: tuple[int, ...], key: Key) -> None:
    assert decoded(name, *arcs) == key


@pytest.mark.parametrize(
    ("name", "arcs"),
    [
        ("serial", (12, 85)),
        ("serial", (1, 7)),
        ("serial", (*SERIAL, 1)),
        ("by_mac", (5, 0, 30, 16, 170, 187)),
        ("by_mac", (5, 0, 30, 16, 170, 187, 256)),
        ("named", (17,)),
        ("shifted", (0x0A000000,)),
    ],
)
def test_what_is_no_such_index_is_refused(name: str, arcs: tuple[int, ...]) -> None:
    with pytest.raises(BadIndex):
        decoded(name, *arcs)


def with_index(index: str, columns: str) -> Profile:
    head, _, _ = KINDS.partition("  onus:")
    table = f"  onus: {{of: onu, oid: 1.3.6.1.4.1.99999.2, index: {index}, columns: {columns}}}\n"
    return parse_profile(head + table, "kinds.yaml")


def test_tables_with_and_without_the_slot_in_their_index_are_joined_by_a_slot_that_is_always_the_same() -> (
    None
):
    head, _, _ = KINDS.partition("  onus:")
    profile = parse_profile(
        head
        + """\
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: only_box, columns: {description: 1}}
  more: {of: onu, oid: 1.3.6.1.4.1.99999.3, index: named, columns: {model: 1}}
""",
        "kinds.yaml",
    )
    raw = {
        "1.3.6.1.4.1.99999.9": column({17: b"gpon-0/0/3-onu-8"}),
        "1.3.6.1.4.1.99999.2.1": column({(3, 8): b"casa"}),
        "1.3.6.1.4.1.99999.3.1": column({17: b"X4"}),
    }
    found = Decoder(profile).decode(raw)
    assert by_key(found.onus) == {Key(0, 0, 3, 8): {"description": "casa", "model": "X4"}}
    assert str(found.onus.keys[0]) == "0/0/3:8"
    simulated = Decoder(profile).decode(rows(from_profile(profile), model(Shape(300))))
    assert simulated.problems.first == []
    assert {key[:2] for key in simulated.onus.keys} == {(0, 0)}
    assert len(simulated.onus) == 300
    assert None not in simulated.onus.columns["description"] + simulated.onus.columns["model"]


COUNTED = """\
profile: counted
title: Ports that are counted after the uplinks
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes:
  onu:
    - column: 1.3.6.1.4.1.99999.9
      names: ['pon0/0/{port}']
      packings:
        - {bits: {port: {at: 8, width: 8}, onu: {at: 0, width: 8}}, value: 0x01000000, apart: yes}
        - {bits: {port: {at: 12, width: 6, plus: 1}, onu: {at: 0, width: 12}}, value: 0x480000}
  port:
    - {only: 1}
    - column: 1.3.6.1.4.1.99999.9
      names: ['pon0/0/{port}']
      packings:
        - {bits: {port: {at: 8, width: 8}}, value: 0x01000000, apart: yes}
        - {bits: {port: {at: 0, width: 8}}, value: 0, apart: yes}
tables:
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: onu, columns: {description: 1}}
  ports: {of: port, oid: 1.3.6.1.4.1.99999.3, index: port, columns: {description: 1}}
"""
ONUS_AND_PORTS: dict[str, dict[bytes, Value]] = {
    # The fifth ONU of the port that is counted as 13; an ONU of another firmware; something on an uplink.
    "1.3.6.1.4.1.99999.2.1": column({0x01000D05: b"casa", 0x481007: b"tienda", 0x01000101: b"odd"}),
    "1.3.6.1.4.1.99999.3.1": column({(1, 13): b"norte", (1, 14): b"sur", (1, 1): b"uplink"}),
}


@pytest.mark.parametrize(
    "names",
    [
        {0x01000100: b"ge0/0/1", 0x01000D00: b"pon0/0/1", 0x01000E00: b"pon0/0/2"},
        {1: b"ge0/0/1", 13: b"pon0/0/1", 14: b"pon0/0/2"},
        # An agent that names the ONUs as well.
        {0x01000100: b"ge0/0/1", 0x01000D00: b"pon0/0/1", 0x01000D05: b"pon0/0/1:5", 0x01000E00: b"pon0/0/2"},
    ],
    ids=["by number", "by count", "with ONUs"],
)
def test_onus_and_tables_that_count_otherwise_are_on_the_port_that_has_the_name(
    names: dict[tuple[int, ...] | int, Value],
) -> None:
    found = Decoder(parse_profile(COUNTED, "counted.yaml")).decode(
        {"1.3.6.1.4.1.99999.9": column(names), **ONUS_AND_PORTS}
    )
    assert found.problems.first == []
    assert by_key(found.onus) == {
        Key(port=1, onu=5): {"description": "casa"},
        Key(port=2, onu=7): {"description": "tienda"},
    }
    assert by_key(found[Entity.PORT]) == {
        Key(port=1): {"description": "norte"},
        Key(port=2): {"description": "sur"},
    }


def test_without_their_names_ports_are_as_they_are_counted() -> None:
    found = Decoder(parse_profile(COUNTED, "counted.yaml")).decode(ONUS_AND_PORTS)
    assert [str(key) for key in found.onus.keys] == ["13:5", "2:7", "1:1"]
    assert [str(key) for key in found[Entity.PORT].keys] == ["13", "14", "1"]


def test_a_fact_that_a_table_leaves_out_is_taken_from_its_fallback() -> None:
    head, _, _ = KINDS.partition("  onus:")
    tables = """\
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: serial, columns: {state: {column: 1, enum: {1: online}}}}
  more:
    of: onu
    oid: 1.3.6.1.4.1.99999.3
    index: serial
    columns: {state: {column: 1, fallback: yes, enum: {2: {word: down, is: offline}}}}
"""
    other = (4, *b"ABCD")
    found = Decoder(parse_profile(head + tables, "kinds.yaml")).decode(
        {"1.3.6.1.4.1.99999.2.1": column({SERIAL: 1}), "1.3.6.1.4.1.99999.3.1": column({SERIAL: 2, other: 2})}
    )
    assert found.onus.columns["state"] == [State("online", "online"), State("offline", "down")]


@pytest.mark.parametrize(
    ("free", "total", "used"), [(86, 242, 64.463), (0, 242, 100.0), (86, 0, None), (b"?", 242, None)]
)
def test_a_percentage_is_made_of_two_columns(free: Value, total: Value, used: float | None) -> None:
    head, _, _ = KINDS.partition("  onus:")
    tables = """\
  health:
    of: olt
    oid: 1.3.6.1.4.1.99999.4
    index: scalar
    columns: {memory_pct: {column: 2, percent_of: 1, scale: -1, offset: 100, unit: "%"}}
"""
    head = head.replace("tables:\n", "  scalar: [{only: 0}]\ntables:\n")
    profile = parse_profile(head + tables, "kinds.yaml")
    assert profile.oids() == ("1.3.6.1.4.1.99999.4.2", "1.3.6.1.4.1.99999.4.1")
    raw = {"1.3.6.1.4.1.99999.4.1": column({0: total}), "1.3.6.1.4.1.99999.4.2": column({0: free})}
    assert Decoder(profile).decode(raw)[Entity.OLT].columns["memory_pct"] == [used]
    simulated = Decoder(profile).decode(rows(from_profile(profile), model(Shape(1))))
    assert simulated[Entity.OLT].columns["memory_pct"] == [33.0]


def test_names_may_go_on_after_what_matters() -> None:
    profile = with_index("named", "{description: 1}")
    found = Decoder(profile).decode(
        {
            "1.3.6.1.4.1.99999.9": column({17: b"gpon-1/1/3-onu-0 (down)", 18: b"ten-gigabit-1/1/1", 19: 5}),
            "1.3.6.1.4.1.99999.2.1": column({17: b"casa", 18: b"uplink", 19: b"odd", 20: b"no name"}),
        }
    )
    assert by_key(found.onus) == {Key(1, 1, 3, 0): {"description": "casa"}}
    assert [problem.index for problem in found.problems.first] == ["20"]


def test_other_interfaces_in_the_table_are_neither_onus_nor_problems() -> None:
    profile = with_index("of_interest", "{state: {column: 1, enum: {1: online, 2: offline}}}")
    rows = column({7: 1, 94380032: 1, 96468992: 2, 96468993: 1, 0x01C00000: 1, 96714752: 1})
    found = Decoder(profile).decode({"1.3.6.1.4.1.99999.2.1": rows})
    assert {key: str(row["state"]) for key, row in by_key(found.onus).items()} == {
        Key(slot=1, port=1, onu=1): "offline",
        Key(slot=1, port=4, onu=97): "online",
    }
    assert found.problems.first == []


def test_a_name_that_was_seen_before_is_not_matched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    more = "  more: {of: onu, oid: 1.3.6.1.4.1.99999.3, index: named, columns: {name: 1}}\n"
    head, _, _ = KINDS.partition("  onus:")
    onus = "  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: named, columns: {description: 1}}\n"
    decoder = Decoder(parse_profile(head + onus + more, "kinds.yaml"))
    matched: list[object] = []
    parts_of = index._parts_of

    def counted(named: Named, name: object) -> object:
        matched.append(name)
        return parts_of(named, name)

    monkeypatch.setattr(index, "_parts_of", counted)
    # Names that no other test has.
    numbers = range(1, 6)
    names: dict[tuple[int, ...] | int, Value] = {
        number: f"gpon-7/7/7-onu-{number}".encode() for number in numbers
    }
    rows = {
        "1.3.6.1.4.1.99999.9": column(names),
        "1.3.6.1.4.1.99999.2.1": column(dict.fromkeys(names, b"a")),
        "1.3.6.1.4.1.99999.3.1": column(dict.fromkeys(names, b"b")),
    }
    decoder.decode(rows)
    assert matched == list(names.values())
    again = decoder.decode(rows)
    assert len(matched) == len(names)
    assert again.onus.keys == [Key(7, 7, 7, number) for number in numbers]
    rows["1.3.6.1.4.1.99999.9"] = column({**names, 5: b"gpon-7/7/7-onu-77"})
    assert decoder.decode(rows).onus.keys[-1] == Key(7, 7, 7, 77)


def test_places_are_found_anew_only_when_a_name_has_changed() -> None:
    layout = next(each for each in PROFILE.indexes if each.name == "named")
    assert layout.named is not None
    rows = column({1: b"gpon-8/8/8-onu-1", 2: b"gpon-8/8/8-onu-2"})
    before = index.compile_with_names(layout, index.read_names(layout.named, rows))
    assert index.compile_with_names(layout, index.read_names(layout.named, dict(rows))) is before
    changed = {**rows, **column({2: b"gpon-8/8/8-onu-3"})}
    after = index.compile_with_names(layout, index.read_names(layout.named, changed))
    assert (before.decode((2,)), after.decode((2,))) == (Key(8, 8, 8, 2), Key(8, 8, 8, 3))


def test_of_several_rows_of_an_onu_the_first_that_says_something_counts() -> None:
    profile = with_index("first_counts", "{onu_rx_dbm: {column: 1, scale: 0.01, no_value: -1}}")
    rows = column({(4718593, 1): -1, (4718593, 2): -2495, (4718593, 3): -1000})
    onus = Decoder(profile).decode({"1.3.6.1.4.1.99999.2.1": rows}).onus
    assert by_key(onus) == {Key(port=1, onu=1): {"onu_rx_dbm": -24.95}}


JOINED = parse_profile(
    KINDS.partition("  onus:")[0]
    + """\
  optics:
    {of: onu, oid: 1.3.6.1.4.1.99999.3, index: by_mac, columns: {onu_rx_dbm: {column: 1, scale: 0.01}}}
  onus: {of: onu, oid: 1.3.6.1.4.1.99999.2, index: serial, columns: {mac: 1}}
""",
    "kinds.yaml",
)
MAC = bytes.fromhex("001e10aabbcc")
OPTICS = {"1.3.6.1.4.1.99999.3.1": column({(5, *MAC): -2000})}


def test_a_table_is_joined_through_the_hardware_address() -> None:
    found = Decoder(JOINED).decode({**OPTICS, "1.3.6.1.4.1.99999.2.1": column({SERIAL: MAC})})
    assert found.onus.keys == [Key(extra="UBNT20731888")]
    assert found.onus.columns == {"mac": ["00:1e:10:aa:bb:cc"], "onu_rx_dbm": [-20.0]}
    assert len(found.problems) == 0


@pytest.mark.parametrize("macs", [{}, {"1.3.6.1.4.1.99999.2.1": column({SERIAL: bytes(5) + b"x"})}])
def test_rows_that_join_no_onu_are_reported_and_belong_nowhere(macs: dict[str, dict[bytes, Value]]) -> None:
    found = Decoder(JOINED).decode({**OPTICS, **macs})
    assert len(found.onus.keys) == len(macs)
    assert None not in found.onus.keys
    assert [str(problem) for problem in found.problems.first] == [
        "optics.onu_rx_dbm 5.0.30.16.170.187.204: no onu has 00:1e:10:aa:bb:cc"
    ]


def test_a_table_without_a_row_that_can_be_read_does_not_shorten_its_columns() -> None:
    more = "  more: {of: onu, oid: 1.3.6.1.4.1.99999.3, index: serial, columns: {name: 1}}\n"
    found = Decoder(parse_profile(KINDS + more, "kinds.yaml")).decode(
        {"1.3.6.1.4.1.99999.2.1": column({7: b"bad"}), "1.3.6.1.4.1.99999.3.1": column({SERIAL: b"casa"})}
    )
    assert found.onus.columns == {"serial": [None], "name": ["casa"]}


def test_onus_that_are_known_by_their_serial_alone_can_be_read_and_simulated() -> None:
    found = Decoder(PROFILE).decode(rows(from_profile(PROFILE), model(Shape(5))))
    assert found.problems.first == []
    assert [(key.extra, row["serial"]) for key, row in by_key(found.onus).items()] == [
        (f"FACH{row:08X}", f"FACH{row:08X}") for row in range(5)
    ]
    assert {row["port"] for row in by_key(found.onus).values()} == {1}
    assert {str(row["state"]) for row in by_key(found.onus).values()} <= {"online", "offline"}
    assert State("online", "online") in found[Entity.ONU].columns["state"]


def test_a_profile_of_the_operator_takes_the_place_of_a_built_in_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(KINDS.replace("profile: kinds", "profile: zte"))
    profiles = with_extra(file)
    assert profiles["zte"].title == "Kinds of index"
    assert profiles["huawei"].title.startswith("Huawei")
