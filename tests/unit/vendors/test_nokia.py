"""The Nokia profile: every field of some ONTs, picked from among thousands of other interfaces."""

import pytest

from facho.snmp.values import Gauge32, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import compile_index
from facho.vendors.schema import Asking
from tests.unit.vendors.rows import by_key, column, under

PROFILE = builtin()["nokia"]
DECODER = Decoder(PROFILE)
TREE = "1.3.6.1.4.1.637.61.1"
IF_OPER_STATUS = "1.3.6.1.2.1.2.2.1.8"
# 1/1:1, 1/4:1 and 1/4:97.
A, B, OFF = 96468992, 96665600, 96714752
# PON 1 and 4 as boards with XGS-PON number them, and PON 1 of another board as others do.
PON_1, PON_4, PLAIN = 94380032, 94576640, 3 << 25 | 0x01A00000
# Interfaces of other kinds: the NT, a bridge port, a customer port of an ONT.
OTHERS = (20971520, 1077936128, A + 1, B + 257)

ONTS = under(
    TREE,
    {
        "35.10.1.1.5": {A: b"ALCL\xfa\x01\x02\x03", B: b"HWTCABCD", OFF: b"ALCL\x00\x00\x00\x01"},
        "35.10.1.1.9": {A: b"3FE45655AOCK89", B: b"V5", OFF: b""},
        "35.10.1.1.24": {A: "Ñuñoa 12".encode(), B: b"tienda", OFF: b"casa 7"},
        "35.10.1.1.26": {A: b"G-240W-A", B: b"HG8310M", OFF: b""},
        "6.5.1.1": {A: b"cliente 12", B: b"available", OFF: b"", **dict.fromkeys(OTHERS, b"available")},
        "35.10.4.1.3": {A: 12, B: 0, OFF: 65534},
        "35.10.4.1.11": {A: TimeTicks(8640000), B: TimeTicks(100), OFF: TimeTicks(0)},
        "35.10.14.1.2": {A: -9250, B: -13500, OFF: 32768},
        "35.10.14.1.3": {A: 165, B: 160, OFF: 32768},
        "35.10.14.1.4": {A: 1150, B: 1000, OFF: 32768},
        "35.10.14.1.5": {A: 5800, B: 6000, OFF: 32768},
        "35.10.14.1.6": {A: 11040, B: 64768, OFF: 32768},
        "35.10.18.1.2": {A: -213, B: -270, OFF: 65534},
    },
) | {IF_OPER_STATUS: column({**dict.fromkeys(OTHERS, 1), PON_1: 1, A: 1, B: 1, OFF: 2})}

EXPECTED: dict[Key, dict[str, object]] = {
    Key(slot=1, port=1, onu=1): {
        "serial": "ALCLFA010203",
        "sw_version": "3FE45655AOCK89",
        "description": "Ñuñoa 12",
        "model": "G-240W-A",
        "state": Said("online", "up"),
        "name": "cliente 12",
        "distance_m": 1200,
        "uptime_s": 86400,
        "onu_rx_dbm": -18.5,
        "voltage_v": 3.3,
        "onu_tx_dbm": 2.3,
        "bias_ma": 11.6,
        "temperature_c": 43.125,
        "olt_rx_dbm": -21.3,
    },
    Key(slot=1, port=4, onu=1): {
        "serial": "HWTC41424344",
        "sw_version": "V5",
        "description": "tienda",
        "model": "HG8310M",
        "state": Said("online", "up"),
        "name": None,
        "distance_m": 0,
        "uptime_s": 1,
        "onu_rx_dbm": -27.0,
        "voltage_v": 3.2,
        "onu_tx_dbm": 2.0,
        "bias_ma": 12.0,
        "temperature_c": -3.0,
        "olt_rx_dbm": -27.0,
    },
    Key(slot=1, port=4, onu=97): {
        "serial": "ALCL00000001",
        "sw_version": "",
        "description": "casa 7",
        "model": "",
        "state": Said("offline", "down"),
        "name": "",
        "distance_m": None,
        "uptime_s": 0,
        "onu_rx_dbm": None,
        "voltage_v": None,
        "onu_tx_dbm": None,
        "bias_ma": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
    },
}


@pytest.fixture(scope="module")
def decoded() -> Decoded:
    return DECODER.decode(ONTS)


@pytest.mark.parametrize("key", EXPECTED, ids=str)
def test_every_field_of_an_ont_is_read(decoded: Decoded, key: Key) -> None:
    assert by_key(decoded.onus)[key] == EXPECTED[key]


def test_other_interfaces_are_no_onts_and_nothing_is_reported(decoded: Decoded) -> None:
    assert decoded.problems.first == []
    assert list(map(str, decoded.onus.keys)) == ["1/1:1", "1/4:1", "1/4:97"]
    facts = {each.fact for table in PROFILE.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(slot=1, port=1, onu=1)])


@pytest.mark.parametrize(
    ("name", "arcs", "key"),
    [
        ("ont", (96468992,), Key(slot=1, port=1, onu=1)),
        ("ont", (96665600,), Key(slot=1, port=4, onu=1)),
        ("ont", (96714752,), Key(slot=1, port=4, onu=97)),
        ("ont", (17 << 25 | 0x01C00000 | 15 << 16 | 127 << 9,), Key(slot=16, port=16, onu=128)),
        ("pon", (94380032,), Key(slot=1, port=1)),
        ("pon", (94576640,), Key(slot=1, port=4)),
        ("pon", (2 << 25 | 0x01A00000 | 3 << 16,), Key(slot=1, port=4)),
        ("pon_interface", (96468992,), None),
        ("ont_interface", (94380032,), None),
        ("ont_interface", (1089863680,), None),
        ("sfp", (4355, 1), Key(slot=1, port=1)),
        ("sfp", (4353, 1), None),
    ],
)
def test_indices_seen_on_real_olts(name: str, arcs: tuple[int, ...], key: Key | None) -> None:
    assert compile_index(next(index for index in PROFILE.indexes if index.name == name)).decode(arcs) == key


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["online", "offline", "starting", "unknown", "offline", "offline", "offline"], 1)],
)
def test_an_ont_is_what_its_interface_is(raw: int, state: str) -> None:
    (said,) = DECODER.decode({IF_OPER_STATUS: column({A: raw})}).onus.columns["state"]
    assert str(said) == state


def test_optics_are_asked_of_online_onts_only() -> None:
    asked = {table.name for table in PROFILE.tables if table.asking is Asking.GET_ONLINE}
    assert asked == {"ont_optics", "olt_optics"}


def test_ports_are_read_whichever_way_their_boards_count() -> None:
    rows = {
        IF_OPER_STATUS: column({**dict.fromkeys(OTHERS, 1), PON_1: 1, PON_4: 7, PLAIN: 2, A: 1}),
        f"{TREE}.35.11.9.1.2": column({PON_1: 49, PON_4: 65534, PLAIN: 32768}),
        # The table of PON ports counts; the text is for those that it leaves out.
        f"{TREE}.56.5.1.6": column(
            {(4355, 1): b"4.94 dBm", (4355, 4): b"4.10 dBm", (4356, 1): b"not-available"}
        ),
        f"{TREE}.56.5.1.7": column(
            {
                (4353, 1): b"-3.10 dBm",
                (4355, 1): b"-24.94 dBm",
                (4355, 4): b"not-available",
                (4356, 1): b"No-Power",
            }
        ),
    }
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(slot=1, port=1): {"state": Said("up", "up"), "tx_dbm": 4.9, "rx_dbm": -24.94},
        Key(slot=1, port=4): {"state": Said("down", "lowerLayerDown"), "tx_dbm": 4.1, "rx_dbm": None},
        Key(slot=2, port=1): {"state": Said("down", "down"), "tx_dbm": None, "rx_dbm": None},
    }
    assert len(found.onus) == 1


def test_boards_and_the_olt_are_read() -> None:
    rows = under(
        TREE,
        {
            "23.3.1.3": {4353: b"FANT-F", 4354: b"EMPTY", 4355: b"FGLT-B"},
            "23.3.1.6": {4353: 1, 4354: 2, 4355: 1},
            "23.3.1.19": {4353: b"YP1820F477B", 4354: b"", 4355: b"YP1823F4F73"},
            "9.29.1.1.4": {4353: Gauge32(7)},
            "9.29.2.1.1": {4353: Gauge32(1327)},
            "9.29.2.1.2": {4353: Gauge32(1162)},
            "23.10.1.2": {(4353, 1): 34, (4353, 2): 30, (4355, 1): 41},
            "9.28.1": {0: b"R5.7.02a"},
        },
    ) | {"1.3.6.1.2.1.1.3": column({0: TimeTicks(107702681)})}
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.BOARD]) == {
        Key(extra=4353): {
            "name": "FANT-F",
            "state": Said("ok", "enabled"),
            "serial": "YP1820F477B",
            "cpu_pct": 7.0,
            "memory_pct": 87.566,
            "temperature_c": 34.0,
        },
        Key(extra=4354): {
            "name": None,
            "state": Said("offline", "disabled"),
            "serial": "",
            "cpu_pct": None,
            "memory_pct": None,
            "temperature_c": None,
        },
        Key(extra=4355): {
            "name": "FGLT-B",
            "state": Said("ok", "enabled"),
            "serial": "YP1823F4F73",
            "cpu_pct": None,
            "memory_pct": None,
            "temperature_c": 41.0,
        },
    }
    assert found[Entity.OLT].row(0) == {"uptime_s": 1077027, "version": "R5.7.02a"}
