"""The ZTE C600 profile: every field of some ONUs, and what tells it from the C300."""

from datetime import UTC, datetime

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import compile_index
from facho.vendors.schema import Asking
from tests.unit.vendors.rows import by_key, column, under

PROFILE = builtin()["zte_c600"]
DECODER = Decoder(PROFILE)
TREE = "1.3.6.1.4.1.3902.1082"
# 1/1/1 and 1/3/1.
PORT_1, PORT_2 = 285278465, 285278977
A, B, OFF = (PORT_1, 1), (PORT_1, 128), (PORT_2, 7)
FIBRE = bytes((0x07, 0xE9, 3, 14, 15, 9, 26, 0))
PI = datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC)


def optics(onu: tuple[int, int]) -> tuple[int, ...]:
    return (*onu, 1)


ONUS = under(
    f"{TREE}.500",
    {
        "10.2.3.3.1.1": {A: b"ZTE-F660", B: b"ZTE-F601", OFF: b"ZTE-F670L"},
        "10.2.3.3.1.2": {A: b"ONU-1", B: b"ONU-128", OFF: b""},
        "10.2.3.3.1.3": {A: "Ñuñoa 12".encode(), B: b"$$$$", OFF: b"casa 7"},
        # Eight octets, of which one is a comma; the second firmware has the text only.
        "10.2.3.3.1.6": {A: b"ZTEG\x00\x2c\x00\x2a", OFF: b"GPON\xff\xff\xff\xff"},
        "10.2.3.3.1.18": {A: b"1,ZTEG00000000", B: b"1,HWTC41424344"},
        "10.2.3.8.1.1": {A: 1, B: 2, OFF: 1},
        "10.2.3.8.1.4": {A: 4, B: 4, OFF: 5},
        "10.2.3.8.1.5": {A: FIBRE, B: FIBRE, OFF: bytes(8)},
        "10.2.3.8.1.6": {A: bytes(8), B: bytes(8), OFF: FIBRE},
        "10.2.3.8.1.7": {A: 1, B: 12, OFF: 9},
        "10.2.3.10.1.2": {A: 1234, B: -1, OFF: 0},
        "20.2.2.2.1.10": {optics(A): 6227, optics(B): 65036, optics(OFF): 65535, (*A, 2): 1},
        "20.2.2.2.1.14": {optics(A): 16150, optics(B): 0, optics(OFF): -32768},
        "20.2.2.2.1.17": {optics(A): 160, optics(B): 165, optics(OFF): 65535},
        "20.2.2.2.1.19": {optics(A): 11040, optics(B): 64768, optics(OFF): 65535},
        "1.2.4.2.1.2": {A: -21876, B: 65535000, OFF: -80000},
        "20.2.1.2.1.1": {A: b"ZTEG", B: b"HWTC", OFF: b""},
        "20.2.1.2.1.2": {A: b"V6.0", B: b"V5", OFF: b""},
        "20.2.1.2.1.3": {A: b"ZTEG\x00\x2c\x00\x2a", B: b"HWTCABCD", OFF: bytes(8)},
        "20.2.1.2.1.8": {A: b"F660", B: b"HG8310M", OFF: b""},
        "4.2.2.2.1.1": {A: Counter64(5), B: Counter64(7), OFF: Counter64(0)},
        "4.2.2.2.1.44": {A: Counter64(6), B: Counter64(8), OFF: Counter64(0)},
    },
)

EXPECTED: dict[Key, dict[str, object]] = {
    Key(1, 1, 1, 1): {
        "type": "ZTE-F660",
        "name": "ONU-1",
        "description": "Ñuñoa 12",
        "serial": "ZTEG002C002A",
        "serial_actual": "ZTEG002C002A",
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "working"),
        "last_up": PI,
        "last_down": None,
        "down_cause": Said("unknown", "unknown"),
        "distance_m": 1234,
        "onu_rx_dbm": -17.55,
        "onu_tx_dbm": 2.3,
        "voltage_v": 3.2,
        "temperature_c": 43.125,
        "olt_rx_dbm": -21.88,
        "vendor_id": "ZTEG",
        "sw_version": "V6.0",
        "model": "F660",
        "up_octets": 5,
        "down_octets": 6,
    },
    Key(1, 1, 1, 128): {
        "type": "ZTE-F601",
        "name": "ONU-128",
        "description": "",
        "serial": "HWTC41424344",
        "serial_actual": "HWTC41424344",
        "admin_state": Said("disabled", "disabled"),
        "state": Said("online", "working"),
        "last_up": PI,
        "last_down": None,
        "down_cause": Said("reboot", "reboot"),
        "distance_m": None,
        "onu_rx_dbm": -31.0,
        "onu_tx_dbm": None,
        "voltage_v": 3.3,
        "temperature_c": -3.0,
        "olt_rx_dbm": None,
        "vendor_id": "HWTC",
        "sw_version": "V5",
        "model": "HG8310M",
        "up_octets": 7,
        "down_octets": 8,
    },
    Key(1, 3, 1, 7): {
        "type": "ZTE-F670L",
        "name": "",
        "description": "casa 7",
        "serial": "GPONFFFFFFFF",
        "serial_actual": None,
        "admin_state": Said("enabled", "enabled"),
        "state": Said("power_off", "dyingGasp"),
        "last_up": None,
        "last_down": PI,
        "down_cause": Said("power_off", "dyingGasp"),
        "distance_m": None,
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
        "vendor_id": "",
        "sw_version": "",
        "model": "",
        "up_octets": 0,
        "down_octets": 0,
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
    assert list(map(str, decoded.onus.keys)) == ["1/1/1:1", "1/1/1:128", "1/3/1:7"]
    facts = {each.fact for table in PROFILE.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(1, 1, 1, 1)])


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["starting", "los", "starting", "online", "power_off", "auth_failed", "offline"], 1)],
)
def test_phases_count_from_one(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{TREE}.500.10.2.3.8.1", {"4": {A: raw}})).onus.columns["state"]
    assert str(said) == state


@pytest.mark.parametrize(("raw", "dbm"), [(6227, -17.55), (5340, -19.32), (65535, None)])
def test_power_is_in_steps_of_two_thousandths(raw: int, dbm: float | None) -> None:
    rows = under(f"{TREE}.500.20.2.2.2.1", {"10": {optics(A): raw}})
    assert DECODER.decode(rows).onus.columns["onu_rx_dbm"] == [dbm]


def test_the_numbers_of_the_c300_are_no_ports_here() -> None:
    index = compile_index(next(index for index in PROFILE.indexes if index.name == "onu"))
    assert index.decode((285278721, 3)) == Key(1, 2, 1, 3)
    with pytest.raises(ValueError, match="0x10010100"):
        index.decode((268501248, 1))


def test_optics_are_asked_of_online_onus_only() -> None:
    asked = {table.name: table.batch for table in PROFILE.tables if table.asking is Asking.GET_ONLINE}
    assert asked == {"gpon_optics": 24, "gpon_olt_optics": 24}


def test_a_port_is_known_by_its_name_and_an_uplink_is_none() -> None:
    uplink = 285279233
    rows = under(
        "1.3.6.1.2.1",
        {
            "31.1.1.1.1": {PORT_1: b"gpon_olt-1/1/1", PORT_2: b"gpon_olt-1/3/1", uplink: b"gei_1/4/1"},
            "2.2.1.2": {PORT_1: b"norte", PORT_2: b"", uplink: b"core"},
            "2.2.1.8": {PORT_1: 1, PORT_2: 2, uplink: 1},
            "1.1": {0: b"ZXA10 C600, ZTE ZXA10 Software Version: V1.2.2"},
            "1.3": {0: TimeTicks(560758104)},
            "1.5": {0: b"ZXAN"},
        },
    )
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(1, 1, 1): {"name": "gpon_olt-1/1/1", "description": "norte", "state": Said("up", "up")},
        Key(1, 3, 1): {"name": "gpon_olt-1/3/1", "description": "", "state": Said("down", "down")},
    }
    assert found[Entity.OLT].row(0) == {
        "description": "ZXA10 C600, ZTE ZXA10 Software Version: V1.2.2",
        "version": "V1.2.2",
        "uptime_s": 5607581,
        "name": "ZXAN",
    }


def test_cards_unknown_onus_and_ports_of_onus_are_read() -> None:
    card, other = (1, 1, 3), (1, 1, 11)
    rows = under(
        f"{TREE}.10.1.2.4.1",
        {
            "4": {card: b"GFGL", other: b"SFUQ"},
            "5": {card: 1, other: 9},
            "9": {card: 12},
            "11": {card: 44, other: 22},
        },
    ) | {
        "1.3.6.1.4.1.3902.3.6002.2.1.1.8": column({(*card, 0): 99, (*other, 0): 7}),
        "1.3.6.1.4.1.3902.3.6002.2.5.1.9": column({(*card, 0, 1): 41, (*card, 0, 6): 49, (*other, 1, 1): 3}),
        f"{TREE}.500.2.2.11.2.1.2": column({(PORT_1, 1): b"ZTEG\x00\x00\x00\x01"}),
        f"{TREE}.500.2.2.11.2.1.8": column({(PORT_1, 1): b"F670L"}),
        f"{TREE}.500.2.2.11.2.1.10": column({(PORT_1, 1): b"V9"}),
        f"{TREE}.500.20.2.3.2.1.6": column({(*A, 1): 1, (*A, 2): 2}),
        f"{TREE}.500.20.2.3.2.1.7": column({(*A, 1): 6, (*A, 2): 65535}),
    }
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.BOARD]) == {
        Key(1, 3): {
            "name": "GFGL",
            "state": Said("ok", "inService"),
            "cpu_pct": 12.0,
            "memory_pct": 44.0,
            "temperature_c": 41.0,
        },
        Key(1, 11): {
            "name": "SFUQ",
            "state": Said("fault", "faulty"),
            "cpu_pct": 7.0,
            "memory_pct": 22.0,
            "temperature_c": None,
        },
    }
    assert by_key(found[Entity.AUTOFIND]) == {
        Key(1, 1, 1, extra=1): {"serial": "ZTEG00000001", "model": "F670L", "sw_version": "V9"}
    }
    assert by_key(found[Entity.UNI]) == {
        Key(1, 1, 1, 1, 1): {"state": Said("up", "up"), "speed": "1G-Full"},
        Key(1, 1, 1, 1, 2): {"state": Said("down", "down"), "speed": None},
    }
