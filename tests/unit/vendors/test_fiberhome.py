"""The FiberHome profiles: every field of some ONUs, and how the AN5116 differs from the AN5516."""

from ipaddress import IPv4Address

import pytest

from facho.snmp.values import TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Profile, Said, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import by_key, column, under

AN5516, AN5116 = builtin()["fiberhome"], builtin()["fiberhome_5116"]
DECODER = Decoder(AN5516)
TREE = "1.3.6.1.4.1.5875.800.3"
# 1/1:1, 1/1:2 and 18/4:50; the last is an EPON ONU.
A, OFF, EPON = 34078976, 34079232, 606089728
PON_1, PON_2 = 34078720, 606076928

ONUS = under(
    TREE,
    {
        "10.1.1.2": {A: 1, OFF: 1, EPON: 18},
        "10.1.1.3": {A: 1, OFF: 1, EPON: 4},
        "10.1.1.4": {A: 1, OFF: 2, EPON: 50},
        "10.1.1.5": {A: 765, OFF: 765, EPON: 80},
        "10.1.1.6": {A: b"10.1.2.3", OFF: b"0.0.0.0", EPON: b""},
        "10.1.1.7": {A: "Peñaflor 3".encode(), OFF: b"casa 7", EPON: b""},
        "10.1.1.10": {A: b"FHTT1234abcd", OFF: b"FHTT00000002\0\0", EPON: b"00259E0102FA"},
        "10.1.1.11": {A: 1, OFF: 2, EPON: 1},
        "10.1.1.12": {A: b"RP2610", OFF: b"", EPON: b"RP0100"},
        "10.1.1.13": {A: b"WKE2.094", OFF: b"", EPON: b"WKE1"},
        "9.3.3.1.6": {A: -2145, OFF: 0, EPON: -1},
        "9.3.3.1.7": {A: 231, OFF: 0, EPON: -1},
        "9.3.3.1.8": {A: 328, OFF: 0, EPON: 1},
        "9.3.3.1.9": {A: 1165, OFF: 0, EPON: 1},
        "9.3.3.1.10": {A: 4312, OFF: 0, EPON: 1},
        # The EPON ONU cannot measure: what it says is nothing.
        "9.3.3.1.11": {A: 1, OFF: 1, EPON: 2},
        "9.3.7.1.2": {(PON_1, 1): -1850, (PON_1, 2): 0, (PON_2, 50): -2210},
    },
)

EXPECTED: dict[Key, dict[str, object]] = {
    Key(slot=1, port=1, onu=1): {
        "slot": 1,
        "port": 1,
        "onu_id": 1,
        "type": "765",
        "ip": IPv4Address("10.1.2.3"),
        "name": "Peñaflor 3",
        "serial": "FHTT1234ABCD",
        "mac": None,
        "state": Said("online", "online"),
        "sw_version": "RP2610",
        "hw_version": "WKE2.094",
        "onu_rx_dbm": -21.45,
        "onu_tx_dbm": 2.31,
        "voltage_v": 3.28,
        "bias_ma": 11.65,
        "temperature_c": 43.12,
        "olt_rx_dbm": -18.5,
    },
    Key(slot=1, port=1, onu=2): {
        "slot": 1,
        "port": 1,
        "onu_id": 2,
        "type": "765",
        "ip": None,
        "name": "casa 7",
        "serial": "FHTT00000002",
        "mac": None,
        "state": Said("power_off", "power cut"),
        "sw_version": "",
        "hw_version": "",
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "bias_ma": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
    },
    Key(slot=18, port=4, onu=50): {
        "slot": 18,
        "port": 4,
        "onu_id": 50,
        "type": "80",
        "ip": None,
        "name": "",
        "serial": None,
        "mac": "00:25:9e:01:02:fa",
        "state": Said("online", "online"),
        "sw_version": "RP0100",
        "hw_version": "WKE1",
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "bias_ma": None,
        "temperature_c": None,
        "olt_rx_dbm": -22.1,
    },
}


@pytest.fixture(scope="module")
def decoded() -> Decoded:
    return DECODER.decode(ONUS)


@pytest.mark.parametrize("key", EXPECTED, ids=str)
def test_every_field_of_an_onu_is_read(decoded: Decoded, key: Key) -> None:
    assert by_key(decoded.onus)[key] == EXPECTED[key]


def test_nothing_of_it_is_reported_and_no_fact_of_the_profile_is_untested(decoded: Decoded) -> None:
    assert decoded.problems.first == []
    assert list(map(str, decoded.onus.keys)) == ["1/1:1", "1/1:2", "18/4:50"]
    facts = {each.fact for table in AN5516.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(slot=1, port=1, onu=1)])


@pytest.mark.parametrize(
    ("raw", "serial", "mac"),
    [
        (b"FHTT1234ABCD", "FHTT1234ABCD", None),
        (b"ZTEGc0ffee00", "ZTEGC0FFEE00", None),
        (b"ALCL\xfa\x01\x02\x03", "ALCLFA010203", None),
        (b"001122AABBCC", None, "00:11:22:aa:bb:cc"),
        (b"00:11:22:AA:BB:CC", None, "00:11:22:aa:bb:cc"),
        (b"00-11-22-AA-BB-CC", None, "00:11:22:aa:bb:cc"),
        (b"\x00\x11\x22\xaa\xbb\xcc", None, "00:11:22:aa:bb:cc"),
        (b"", None, None),
    ],
)
def test_one_column_has_the_serial_or_the_address(raw: bytes, serial: str | None, mac: str | None) -> None:
    found = DECODER.decode(under(TREE, {"10.1.1.10": {A: raw}, "11.1.1.7": {1: raw}}))
    assert found.problems.first == []
    assert found.onus.row(0) == {"serial": serial, "mac": mac}
    assert by_key(found[Entity.AUTOFIND]) == {Key(extra=1): {"serial": serial, "mac": mac}}


def test_what_is_neither_is_reported_once() -> None:
    found = DECODER.decode(under(TREE, {"10.1.1.10": {A: b"no such thing"}}))
    assert found.onus.row(0) == {"serial": None, "mac": None}
    assert [problem.fact for problem in found.problems.first] == ["serial"]


def test_optics_count_where_the_olt_does_not_say_who_can_measure() -> None:
    found = DECODER.decode(under(f"{TREE}.9.3.3.1", {"6": {A: -2145, OFF: -2200}, "11": {OFF: 2}}))
    assert found.onus.columns["onu_rx_dbm"] == [-21.45]
    assert found.onus.keys == [Key(slot=1, port=1, onu=1)]


def layout(profile: Profile, name: str, *arcs: int) -> Key | None:
    return compile_index(next(index for index in profile.indexes if index.name == name)).decode(arcs)


@pytest.mark.parametrize(
    ("profile", "name", "arcs", "key"),
    [
        (AN5516, "onu", (34078976,), Key(slot=1, port=1, onu=1)),
        (AN5516, "onu", (34079232,), Key(slot=1, port=1, onu=2)),
        (AN5516, "pon", (34078720,), Key(slot=1, port=1)),
        (AN5516, "pon_and_onu", (34078720, 2), Key(slot=1, port=1, onu=2)),
        (AN5516, "uni", (606089733,), Key(slot=18, port=4, onu=50, extra=5)),
        (AN5116, "onu", (18 << 27 | 4 << 22 | 50 << 13,), Key(slot=18, port=4, onu=50)),
        (AN5116, "pon", (18 << 27 | 4 << 22,), Key(slot=18, port=4)),
        (AN5116, "pon_and_onu", (1 << 27 | 1 << 22, 2), Key(slot=1, port=1, onu=2)),
        (AN5116, "uni", (18 << 27 | 4 << 22 | 50 << 13 | 5 << 4,), Key(slot=18, port=4, onu=50, extra=5)),
    ],
)
def test_indices_of_both_kinds(profile: Profile, name: str, arcs: tuple[int, ...], key: Key) -> None:
    assert layout(profile, name, *arcs) == key


def test_a_number_of_one_model_is_none_or_another_place_on_the_other() -> None:
    with pytest.raises(ValueError, match="0x02080100"):
        layout(AN5116, "onu", 34078976)


@pytest.mark.parametrize(
    ("profile", "states"),
    [
        (AN5516, ["los", "online", "power_off", "offline"]),
        (AN5116, ["offline", "online", "power_off"]),
    ],
    ids=["5516", "5116"],
)
def test_states_differ_by_model(profile: Profile, states: list[str]) -> None:
    numbers = [
        1 << 27 | 1 << 22 | onu << 13 if profile is AN5116 else PON_1 | onu << 8 for onu in range(1, 9)
    ]
    rows = under(TREE, {"10.1.1.11": {numbers[raw]: raw for raw in range(len(states))}})
    found = Decoder(profile).decode(rows)
    assert list(map(str, found.onus.columns["state"])) == states
    assert found.problems.first == []


def test_the_models_differ_in_nothing_else() -> None:
    def read(profile: Profile) -> dict[str, object]:
        return {
            f"{table.name}.{each.fact}": (each.source, each.otherwise, each.rule)
            for table in profile.tables
            for each in table.columns
        }

    one, other = read(AN5516), read(AN5116)
    assert one.keys() == other.keys()
    assert {fact for fact in one if one[fact] != other[fact]} == {"onus.state"}
    assert AN5516.manners == AN5116.manners


def test_ports_boards_fans_and_the_olt_are_read() -> None:
    rows = under(
        TREE,
        {
            "9.3.4.1.2": {PON_1: b"PON 1/1", PON_2: b"PON 18/4"},
            "9.3.4.1.4": {PON_1: 1, PON_2: 0},
            "9.3.4.1.5": {PON_1: 1, PON_2: 0},
            "9.3.4.1.8": {PON_1: 412, PON_2: 0},
            "9.3.4.1.9": {PON_1: 329, PON_2: 0},
            "9.3.4.1.11": {PON_1: 3900, PON_2: 0},
            "9.3.4.1.12": {PON_1: 2, PON_2: 0},
            "9.2.1.1.2": {1: 260, 18: 9999},
            "9.2.1.1.4": {1: b"RP0700", 18: b"RP0701"},
            "9.2.1.1.5": {1: 1, 18: 0},
            "9.2.1.1.8": {1: 1250, 18: 0},
            "9.2.1.1.9": {1: 4400, 18: 0},
            # What a recorded OLT says of its control boards.
            "9.8.1.1.1": {9: 355},
            "9.8.1.1.3": {9: b"RP0700"},
            "9.8.1.1.4": {9: 1},
            "9.8.1.1.5": {9: 458},
            "9.8.1.1.6": {9: 5945},
            "60.2.1.1": {21: 1, 22: 2, 23: 4},
            "9.4.3": {0: b"RP0700"},
            "9.4.5": {0: 45},
        },
    ) | {"1.3.6.1.2.1.1.3": column({0: TimeTicks(72420617)})}
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(slot=1, port=1): {
            "name": "PON 1/1",
            "admin_state": Said("enabled", "enabled"),
            "state": Said("up", "occupied"),
            "tx_dbm": 4.12,
            "voltage_v": 3.29,
            "temperature_c": 39.0,
            "onus_known": 2,
        },
        Key(slot=18, port=4): {
            "name": "PON 18/4",
            "admin_state": Said("disabled", "disabled"),
            "state": Said("down", "empty"),
            "tx_dbm": None,
            "voltage_v": None,
            "temperature_c": None,
            "onus_known": 0,
        },
    }
    assert {key.slot: list(row.values()) for key, row in by_key(found[Entity.BOARD]).items()} == {
        1: ["EC2", "RP0700", Said("ok", "normal"), 12.5, 44.0],
        18: ["9999", "RP0701", Said("offline", "communication lost"), 0.0, 0.0],
        9: ["HSWA", "RP0700", Said("ok", "normal"), 4.58, 59.45],
    }
    assert by_key(found[Entity.FAN]) == {
        Key(extra=21): {"state": Said("ok", "ok")},
        Key(extra=22): {"state": Said("fault", "failed")},
        Key(extra=23): {"state": None},
    }
    assert found[Entity.OLT].row(0) == {"uptime_s": 724206, "version": "RP0700", "temperature_c": 45.0}


@pytest.mark.parametrize("profile", [AN5516, AN5116], ids=["5516", "5116"])
def test_passwords_and_communities_are_never_read(profile: Profile) -> None:
    never = {each.oid.removeprefix(f"{TREE}.") for each in profile.manners.never}
    assert {"10.1.1.9", "11.1.1.6", "1", "23"} <= never
