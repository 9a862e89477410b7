"""The C-Data GPON profile: two ways to pack an index, two images, and credentials that stay there."""

from datetime import UTC, datetime

import pytest

from facho.snmp.values import Counter64, TimeTicks, Value
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import by_key, column, under

CDATA = builtin()["cdata_gpon"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.17409.2"
D = "1.3.6.1.4.1.34592.1"
IF = "1.3.6.1.2.1"
# gpon 0/0/1 onu 1, gpon 0/0/2 onu 2, gpon 0/0/16 onu 128, gpon 0/0/1 onu 7
A, B, C, OFF = 4718593, 4722690, 0x48F080, 0x480007
NAMES: dict[tuple[int, ...] | int, Value] = {
    0x140001: b"gpon 0/0/1", 0x140002: b"gpon 0/0/2", 0x080001: b"ge 0/0/1", 0x0C0001: b"xge 0/0/1",
}  # fmt: skip


def module(**rows: Value) -> dict[tuple[int, ...] | int, Value]:
    """Rows of a table with card and port of the ONU; firmware does not agree on what they are."""
    onus = {"a": (A, 0, 0), "b": (B, 0, 0x140002), "c": (C, 0, 1), "off": (OFF, 0, 0)}
    return {onus[name]: raw for name, raw in rows.items()}


ONUS = (
    under(
        f"{P}.8.4",
        {
            "1.1.2": {A: "casa Muñoz\0\0\0".encode(), B: b"gpon 0/0/2 onu 2 tienda", C: b"", OFF: b"casa 7"},
            "1.1.3": {A: b"HWTC\x12\x34\xab\xcd", B: b"ZTEG\xc0\xff\xee\x00", C: b"CDTC1234", OFF: bytes(8)},
            "1.1.5": {A: b"HWTC", B: b"ZTEG", C: b"CDTC", OFF: b""},
            "1.1.6": {A: b"HG8546M\0\0", B: b"F609V10.0", C: b"FD511G", OFF: b""},
            "1.1.7": {A: 1, B: 1, C: 1, OFF: 2},
            "1.1.8": {A: 1, B: 1, C: 2, OFF: 1},
            "1.1.9": {A: 149, B: 16979, C: 1, OFF: 0},
            "1.1.12": {A: 3600, B: 7, C: 0, OFF: 0},
            "1.1.13": {A: 86400, B: 9, C: 1, OFF: 0},
            "1.1.14": {A: b"V1", B: b"V9.0", C: b"A", OFF: b""},
            "1.1.102": {A: b"2025-03-14 15:09:26", B: b"--", C: b"", OFF: b"2025-03-14 16:00:00"},
            "1.1.103": {A: b"LOS", B: b"--", C: b"losi", OFF: b"dying-gasp"},
            "2.1.2": {A: b"V5R019", B: b"old", C: b"V1.0", OFF: b""},
            "2.1.4": {A: 1, B: 2, C: 1, OFF: 2},
            "2.1.6": {A: b"old", B: b"V9.0.10", C: b"", OFF: b""},
            "2.1.8": {A: 2, B: 1, C: 2, OFF: 2},
            "4.1.4": module(a=-2495, b=-1913, c=-3100, off=-1),
            "4.1.5": module(a=231, b=196, c=301, off=-3000),
            "4.1.7": module(a=331000, b=328000, c=-1, off=0),
            "4.1.8": module(a=4512, b=-150, c=5000, off=-1),
            "6.1.1.6": {A: 5, B: 1, C: 0, OFF: 5},
            "6.1.1.7": {A: 2, B: 1, C: 0, OFF: 2},
        },
    )
    | under(f"{P}.3.3.6.1", {"2": {A: -2508, B: -2210, C: -1, OFF: 0}})
    | under(
        f"{P}.3.10.1.1",
        {
            # With the traffic of a port, which is none of an ONU.
            "4": {(A, 0, 1): Counter64(2**40), (B, 0, 1): Counter64(0), (0x140001, 0, 0): Counter64(9)},
            "26": {(A, 0, 1): Counter64(17), (B, 0, 1): Counter64(1), (0x140001, 0, 0): Counter64(9)},
        },
    )
    | {f"{IF}.31.1.1.1.1": column(NAMES)}
)
EXPECTED: dict[Key, dict[str, object]] = {
    Key(0, 0, 1, 1): {
        "name": "casa Muñoz",
        "serial": "HWTC1234ABCD",
        "vendor_id": "HWTC",
        "model": "HG8546M",
        "state": Said("online", "online"),
        "admin_state": Said("enabled", "enabled"),
        "distance_m": 149,
        "registered_s": 3600,
        "uptime_s": 86400,
        "hw_version": "V1",
        "last_down": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "down_cause": Said("los", "LOS"),
        "sw_version": "V5R019",
        "onu_rx_dbm": -24.95,
        "onu_tx_dbm": 2.31,
        "voltage_v": 3.31,
        "temperature_c": 45.12,
        "olt_rx_dbm": -25.08,
        "line_profile": "5",
        "srv_profile": "2",
        "up_octets": 2**40,
        "down_octets": 17,
    },
    Key(0, 0, 2, 2): {
        "name": "gpon 0/0/2 onu 2 tienda",
        "serial": "ZTEGC0FFEE00",
        "vendor_id": "ZTEG",
        "model": "F609V10.0",
        "state": Said("online", "online"),
        "admin_state": Said("enabled", "enabled"),
        "distance_m": 16979,
        "registered_s": 7,
        "uptime_s": 9,
        "hw_version": "V9.0",
        "last_down": None,
        "down_cause": None,
        "sw_version": "V9.0.10",
        "onu_rx_dbm": -19.13,
        "onu_tx_dbm": 1.96,
        "voltage_v": 3.28,
        "temperature_c": -1.5,
        "olt_rx_dbm": -22.1,
        "line_profile": "1",
        "srv_profile": "1",
        "up_octets": 0,
        "down_octets": 1,
    },
    Key(0, 0, 16, 128): {
        "name": "",
        "serial": "CDTC31323334",
        "vendor_id": "CDTC",
        "model": "FD511G",
        "state": Said("online", "online"),
        "admin_state": Said("disabled", "disabled"),
        "distance_m": 1,
        "registered_s": 0,
        "uptime_s": 1,
        "hw_version": "A",
        "last_down": None,
        "down_cause": Said("los", "losi"),
        "sw_version": "V1.0",
        "onu_rx_dbm": -31.0,
        "onu_tx_dbm": 3.01,
        "voltage_v": None,
        "temperature_c": 50.0,
        "olt_rx_dbm": None,
        "line_profile": "0",
        "srv_profile": "0",
        "up_octets": None,
        "down_octets": None,
    },
    Key(0, 0, 1, 7): {
        "name": "casa 7",
        "serial": None,
        "vendor_id": "",
        "model": "",
        "state": Said("offline", "offline"),
        "admin_state": Said("enabled", "enabled"),
        "distance_m": None,
        "registered_s": 0,
        "uptime_s": 0,
        "hw_version": "",
        "last_down": datetime(2025, 3, 14, 16, tzinfo=UTC),
        "down_cause": Said("power_off", "dying-gasp"),
        "sw_version": None,
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
        "line_profile": "5",
        "srv_profile": "2",
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
    assert [str(key) for key in decoded.onus.keys] == ["0/0/1:1", "0/0/2:2", "0/0/16:128", "0/0/1:7"]
    facts = {each.fact for table in CDATA.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(0, 0, 1, 1)])
    assert set(decoded.onus.technologies) == {"gpon"}


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (4718593, Key(0, 0, 1, 1)),
        (4722690, Key(0, 0, 2, 2)),
        (0x480000 | 63 << 12 | 4095, Key(0, 0, 64, 4095)),
        # Older firmware, whose ports are named only by its interfaces.
        (0x01000105, Key(0, 0, 1, 5)),
        (0x01000705, Key(0, 0, 7, 5)),
    ],
)
def test_indices_seen_on_real_olts(number: int, key: Key) -> None:
    onu = next(index for index in CDATA.indexes if index.name == "onu")
    assert compile_index(onu).decode((number,)) == key


@pytest.mark.parametrize("number", [0x480000, 0x140001, 0x02000105, 5, 0x01010105])
def test_what_is_no_onu_is_reported(number: int) -> None:
    found = DECODER.decode(under(f"{P}.8.4.1.1", {"7": {number: 1}}))
    assert len(found.onus) == 0
    assert len(found.problems) == 1


def test_ports_of_older_firmware_are_counted_after_the_uplinks_and_known_by_name() -> None:
    names = column({0x01000100: b"ge0/0/1", 0x01000700: b"pon0/0/1", 0x01000800: b"pon0/0/2"})
    rows = (
        {f"{IF}.31.1.1.1.1": names}
        | under(f"{P}.8.4.1.1", {"7": {0x01000705: 1, 0x01000810: 2}})
        | under(f"{P}.3.3.1.1", {"5": {(1, 0, 1): 1, (1, 0, 7): 1, (1, 0, 8): 2}})
    )
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert [str(key) for key in found.onus.keys] == ["0/0/1:5", "0/0/2:16"]
    ports = {str(key): (row["name"], str(row["state"])) for key, row in by_key(found[Entity.PORT]).items()}
    assert ports == {"0/0/1": ("pon0/0/1", "up"), "0/0/2": ("pon0/0/2", "down")}


@pytest.mark.parametrize(("raw", "celsius"), [(305, 30.5), (20, 20.0), (99, 99.0), (100, 10.0)])
def test_temperatures_are_tenths_or_whole_degrees(raw: int, celsius: float) -> None:
    found = DECODER.decode(under(f"{D}.3.100.1.8", {"6": {0: raw}}))
    assert found[Entity.OLT].columns["temperature_c"] == [celsius]


def test_ports_and_health_are_read() -> None:
    one, two, uplink = (1, 0, 0x140001), (1, 0, 0x140002), (1, 0, 0x080001)
    rows = (
        under(
            P,
            {
                "3.3.1.1.5": {one: 1, two: 3},
                "3.3.1.1.6": {one: 1, two: 2},
                "3.3.1.1.8": {one: 46, two: 0},
                "3.1.1.13": {0: b"AF2101-1901000029"},
                "3.1.2.1.1.3": {1: b"FD1608S-B1", 2: b"another"},
            },
        )
        | under(
            f"{D}.5.1.1.2.17.2.1",
            {
                "1": {one: b"54.79", two: b"-", uplink: b"-"},
                "2": {one: b"3.24", two: b"-", uplink: b"-"},
                "3": {one: b"26.52", two: b"-", uplink: b"-"},
                "4": {one: b"5.90", two: b"-", uplink: b"-"},
                "5": {one: b"-24.44", two: b"-", uplink: b"-"},
            },
        )
        | under(f"{D}.3.100.1.8", {"1": {0: 19}, "2": {0: 242}, "3": {0: 86}, "6": {0: 305}})
        | under(
            IF,
            {
                "31.1.1.1.1": NAMES,
                "31.1.1.1.6": {0x140001: Counter64(5), 0x080001: Counter64(1)},
                "31.1.1.1.10": {0x140001: Counter64(6), 0x080001: Counter64(1)},
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
            "name": "gpon 0/0/1",
            "in_octets": 5,
            "out_octets": 6,
            "state": Said("up", "up"),
            "admin_state": Said("enabled", "enabled"),
            "onus_online": 46,
            "temperature_c": 54.79,
            "voltage_v": 3.24,
            "bias_ma": 26.52,
            "tx_dbm": 5.9,
            "rx_dbm": -24.44,
        },
        Key(0, 0, 2): {
            "name": "gpon 0/0/2",
            "in_octets": None,
            "out_octets": None,
            "state": Said("unknown", "testing"),
            "admin_state": Said("disabled", "disabled"),
            "onus_online": 0,
            "temperature_c": None,
            "voltage_v": None,
            "bias_ma": None,
            "tx_dbm": None,
            "rx_dbm": None,
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
        "model": "FD1608S-B1",
    }


def test_what_may_hold_credentials_is_never_read() -> None:
    never = [each.oid for each in CDATA.manners.never]
    assert {f"{P}.8.4.3.1.13", f"{P}.8.4.3.1.14"} <= set(never)
    assert not any(f"{oid}.".startswith(f"{each}.") for oid in CDATA.oids() for each in never)
