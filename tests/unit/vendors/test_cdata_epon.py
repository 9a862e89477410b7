"""The C-Data FD12xx profile: ports that are counted after the uplinks, and known by their names."""

from ipaddress import IPv4Address

import pytest

from facho.snmp.values import Counter64, TimeTicks, Value
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.rows import by_key, column, under

CDATA = builtin()["cdata_epon"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.17409.2.3"
D = "1.3.6.1.4.1.34592.1.3.100"
IF = "1.3.6.1.2.1"
# As an OLT with twelve uplinks has them: 16780544 is pon0/0/1.
PORT_1, PORT_2, UPLINK = 16780544, 16780800, 16777472
MAC = b"\0\xd3\x9f\0\0\2"
A, B, C, OFF = PORT_1 + 5, PORT_1 + 64, PORT_2 + 1, PORT_2 + 2
NAMES: dict[tuple[int, ...] | int, Value] = {
    UPLINK: b"ge0/0/1",
    16778496: b"ge0/0/5-uplink",
    16780288: b"xge0/0/4",
    PORT_1: b"pon0/0/1",
    PORT_2: b"pon0/0/2",
}


def module(**rows: Value) -> dict[tuple[int, ...] | int, Value]:
    onus = {"a": A, "b": B, "c": C, "off": OFF}
    return {(onus[name], 0, 0): raw for name, raw in rows.items()}


ONUS = (
    under(
        P,
        {
            "4.1.1.2": {A: b"casa\0\0", B: b"tienda", C: b"", OFF: b"casa 7"},
            "4.1.1.4": {A: IPv4Address("10.20.30.40"), B: IPv4Address(0), C: bytes(4), OFF: IPv4Address(0)},
            "4.1.1.7": {A: b"\0\xd3\x9f\x3a\x0e\xb8", B: b"00:D3:9F:00:00:01", C: MAC, OFF: bytes(6)},
            "4.1.1.8": {A: 1, B: 1, C: 3, OFF: 2},
            "4.1.1.9": {A: 1, B: 1, C: 1, OFF: 2},
            "4.1.1.13": {A: b"V6.0.2408E", B: b"V1", C: b"V2", OFF: b""},
            "4.1.1.15": {A: 1240, B: 1, C: -1, OFF: 0},
            "4.1.1.18": {A: 3600, B: 7, C: 0, OFF: 0},
            "4.1.1.25": {A: b"CDTC", B: b"HWTC", C: b"", OFF: b""},
            "4.1.1.26": {A: b"FD511", B: b"HG8010", C: b"X", OFF: b""},
            "4.1.1.27": {A: b"V1.0", B: b"B", C: b"C", OFF: b""},
            "4.2.1.4": module(a=-1224, b=-2705, c=-1, off=0),
            "4.2.1.5": module(a=270, b=-30, c=-3000, off=-1),
            "4.2.1.7": module(a=331000, b=328000, c=-1, off=0),
            "4.2.1.8": module(a=4512, b=-150, c=-1, off=0),
            "3.6.1.2": {A: -2508, B: -1, C: 0, OFF: -1},
            "10.1.1.4": {(A, 0, 1): Counter64(2**40), (B, 0, 1): Counter64(0), (PORT_1, 0, 0): Counter64(9)},
            "10.1.1.26": {(A, 0, 1): Counter64(17), (B, 0, 1): Counter64(1), (PORT_1, 0, 0): Counter64(9)},
        },
    )
    | under(f"{D}.12.3.1.1", {"7": {A: b"losi", B: b"", C: b"--", OFF: b"dying-gasp"}})
    | {f"{IF}.31.1.1.1.1": column(NAMES)}
)  # fmt: skip
EXPECTED: dict[Key, dict[str, object]] = {
    Key(0, 0, 1, 5): {
        "name": "casa",
        "ip": IPv4Address("10.20.30.40"),
        "mac": "00:d3:9f:3a:0e:b8",
        "state": Said("online", "up"),
        "admin_state": Said("enabled", "enabled"),
        "sw_version": "V6.0.2408E",
        "distance_m": 1240,
        "registered_s": 3600,
        "vendor_id": "CDTC",
        "model": "FD511",
        "hw_version": "V1.0",
        "onu_rx_dbm": -12.24,
        "onu_tx_dbm": 2.7,
        "voltage_v": 3.31,
        "temperature_c": 45.12,
        "olt_rx_dbm": -25.08,
        "down_cause": Said("los", "losi"),
        "up_octets": 2**40,
        "down_octets": 17,
    },
    Key(0, 0, 1, 64): {
        "name": "tienda",
        "ip": None,
        "mac": "00:d3:9f:00:00:01",
        "state": Said("online", "up"),
        "admin_state": Said("enabled", "enabled"),
        "sw_version": "V1",
        "distance_m": 1,
        "registered_s": 7,
        "vendor_id": "HWTC",
        "model": "HG8010",
        "hw_version": "B",
        "onu_rx_dbm": -27.05,
        "onu_tx_dbm": -0.3,
        "voltage_v": 3.28,
        "temperature_c": -1.5,
        "olt_rx_dbm": None,
        "down_cause": None,
        "up_octets": 0,
        "down_octets": 1,
    },
    Key(0, 0, 2, 1): {
        "name": "",
        "ip": None,
        "mac": "00:d3:9f:00:00:02",
        "state": Said("unknown", "testing"),
        "admin_state": Said("enabled", "enabled"),
        "sw_version": "V2",
        "distance_m": None,
        "registered_s": 0,
        "vendor_id": "",
        "model": "X",
        "hw_version": "C",
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
        "down_cause": None,
        "up_octets": None,
        "down_octets": None,
    },
    Key(0, 0, 2, 2): {
        "name": "casa 7",
        "ip": None,
        "mac": None,
        "state": Said("offline", "down"),
        "admin_state": Said("disabled", "disabled"),
        "sw_version": "",
        "distance_m": None,
        "registered_s": 0,
        "vendor_id": "",
        "model": "",
        "hw_version": "",
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
        "down_cause": Said("power_off", "dying-gasp"),
        "up_octets": None,
        "down_octets": None,
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
    assert [str(key) for key in decoded.onus.keys] == ["0/0/1:5", "0/0/1:64", "0/0/2:1", "0/0/2:2"]
    facts = {each.fact for table in CDATA.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(0, 0, 1, 5)])
    assert set(decoded.onus.technologies) == {"epon"}


@pytest.mark.parametrize(
    ("names", "place"),
    [
        # Models with six, twelve and ten uplinks; one whose ifIndex is the count; one that tells no names.
        ({0x01000700: b"pon0/0/1"}, {0x01000705: "0/0/1:5"}),
        ({0x01000D00: b"pon0/0/1"}, {16780549: "0/0/1:5"}),
        ({0x01000B00: b"pon0/0/1", 0x01001A00: b"pon0/0/16"}, {0x01001A05: "0/0/16:5"}),
        ({7: b"pon0/0/1"}, {0x01000705: "0/0/1:5"}),
        ({}, {0x01000705: "0/0/7:5"}),
    ],
)
def test_the_name_of_the_port_tells_where_an_onu_is(
    names: dict[tuple[int, ...] | int, Value], place: dict[int, str]
) -> None:
    ((number, written),) = place.items()
    rows = {f"{IF}.31.1.1.1.1": column(names), **under(f"{P}.4.1.1", {"8": {number: 1}})}
    found = DECODER.decode(rows)
    assert [str(key) for key in found.onus.keys] == [written]
    assert found.problems.first == []


def test_ports_and_health_are_read() -> None:
    rows = (
        under(
            P,
            {
                "3.1.1.5": {(1, 0, 13): 1, (1, 0, 14): 2},
                "3.1.1.6": {(1, 0, 13): 1, (1, 0, 14): 2},
                "3.1.1.8": {(1, 0, 13): 46, (1, 0, 14): 0},
                "1.1.13": {0: b"AF2101-1901000029"},
                "1.2.1.1.3": {1: b"FD1208S-B0"},
            },
        )
        | under(f"{D}.1.8", {"1": {0: 19}, "2": {0: 242}, "3": {0: 86}, "6": {0: 305}})
        | under(
            IF,
            {
                "31.1.1.1.1": NAMES,
                "31.1.1.1.6": {UPLINK: Counter64(1), PORT_1: Counter64(5), PORT_2: Counter64(0)},
                "31.1.1.1.10": {UPLINK: Counter64(1), PORT_1: Counter64(6), PORT_2: Counter64(0)},
                "1.1": {0: b"olt-norte"},
                "1.3": {0: TimeTicks(60468)},
                "1.5": {0: b"norte"},
            },
        )
    )
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(0, 0, 1): {
            "name": "pon0/0/1",
            "in_octets": 5,
            "out_octets": 6,
            "state": Said("up", "up"),
            "admin_state": Said("enabled", "enabled"),
            "onus_online": 46,
        },
        Key(0, 0, 2): {
            "name": "pon0/0/2",
            "in_octets": 0,
            "out_octets": 0,
            "state": Said("down", "down"),
            "admin_state": Said("disabled", "disabled"),
            "onus_online": 0,
        },
    }
    assert found[Entity.OLT].row(0) == {
        "description": "olt-norte",
        "uptime_s": 605,
        "name": "norte",
        "serial": "AF2101-1901000029",
        "cpu_pct": 19.0,
        "memory_pct": 64.463,
        "temperature_c": 30.5,
        "model": "FD1208S-B0",
    }
