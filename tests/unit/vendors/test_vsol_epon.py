"""The V-SOL EPON profile: ONUs by port and number, optics as text, and a real V1600D."""

from datetime import UTC, datetime

import pytest

from facho.snmp.values import Counter64, TimeTicks, Value
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import by_key, column, recorded, under

VSOL = builtin()["vsol_epon"]
DECODER = Decoder(VSOL)
P = "1.3.6.1.4.1.37950.1.1.5"
IF = "1.3.6.1.2.1"
A, B, C, OFF = (1, 1), (1, 2), (4, 64), (2, 7)
FIRST, SECOND, THIRD = b"2025/03/14 15:09:26", b"2025/03/14 15:09:27", b"2025/03/01 00:00:00"
MAC = b"\x90\xfd\x73\xfc\x90\x0f"
# Interfaces in no order that would say anything.
NAMES: dict[tuple[int, ...] | int, Value] = {
    1: b"GE0/1", 5: b"EPON0/1", 6: b"EPON0/2", 8: b"EPON0/1:1", 9: b"EPON0/4:64", 10: b"EPON0/1:2",
    11: b"EPON02ONU7", 12: b"vlan1200",
}  # fmt: skip
ONUS = (
    under(
        f"{P}.12.1",
        {
            "25.1.4": {A: 1, B: 1, C: 1, OFF: 0},
            "25.1.5": {A: b"00:6d:61:b4:b4:71", B: b"006d.61b4.cc59", C: MAC, OFF: b"N/A"},
            "25.1.6": {A: b"V2801E", B: b"", C: b"HG8010", OFF: b"'-'"},
            "25.1.9": {A: "casa Muñoz".encode(), B: b"tienda", C: b"", OFF: b"casa 7"},
            "25.1.15": {A: 1, B: 0, C: 1, OFF: 0},
            "25.1.17": {A: 1240, B: 0, C: 19, OFF: 0},
            "25.1.18": {A: FIRST, B: SECOND, C: b"N/A", OFF: THIRD},
            "25.1.19": {A: b"N/A", B: b"-", C: b"", OFF: b"2025/03/14 16:00:00"},
            "20.1.3": {A: 1, B: 2, OFF: 7},
            "20.1.10": {A: 1, B: 3, OFF: 8},
        },
    )
    | under(
        f"{P}.12.2.1",
        {
            "2.1.4": {A: b"not this", B: b"V2804", OFF: b"--"},
            "2.1.6": {A: b"V1.0", B: b"N/A", C: b"A", OFF: b""},
            "2.1.7": {A: b"V2.0.01", B: b"V1.9", C: b"B", OFF: b"-"},
            "8.1.3": {A: b"30.67 C", B: b"37 C", C: b"-3.5 C", OFF: b"'-'"},
            "8.1.4": {A: b"3.27 V", B: b"3.30 V", C: b"3.25 V", OFF: b"-"},
            "8.1.5": {A: b"11.65 mA", B: b"9.60 mA", C: b"17.91 mA", OFF: b""},
            "8.1.6": {A: b"2.38 mW (3.77 dBm)", B: b"1.50 mW (1.77 dBm)", C: b"1 mW (-0.1 dBm)", OFF: b"-"},
            "8.1.7": {A: b"0.03 mW (-14.61 dBm)", B: b"0.00 mW (-27.45 dBm)", C: b"-65535", OFF: b"-"},
        },
    )
    | under(
        IF,
        {
            "31.1.1.1.1": NAMES,
            "2.2.1.8": dict.fromkeys(NAMES, 2),
            "31.1.1.1.6": {5: Counter64(50), 8: Counter64(2**40), 9: Counter64(0)},
            "31.1.1.1.10": {5: Counter64(60), 8: Counter64(17), 9: Counter64(1)},
        },
    )
)  # fmt: skip
EXPECTED: dict[Key, dict[str, object]] = {
    Key(None, 0, 1, 1): {
        "state": Said("online", "online"),
        "mac": "00:6d:61:b4:b4:71",
        "model": "V2801E",
        "description": "casa Muñoz",
        "down_cause": Said("power_off", "power off"),
        "distance_m": 1240,
        "last_up": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "last_down": None,
        "hw_version": "V1.0",
        "sw_version": "V2.0.01",
        "temperature_c": 30.67,
        "voltage_v": 3.27,
        "bias_ma": 11.65,
        "onu_tx_dbm": 3.77,
        "onu_rx_dbm": -14.61,
        "up_octets": 2**40,
        "down_octets": 17,
    },
    Key(None, 0, 1, 2): {
        "state": Said("online", "online"),
        "mac": "00:6d:61:b4:cc:59",
        "model": "V2804",
        "description": "tienda",
        "down_cause": Said("los", "wire down"),
        "distance_m": None,
        "last_up": datetime(2025, 3, 14, 15, 9, 27, tzinfo=UTC),
        "last_down": None,
        "hw_version": None,
        "sw_version": "V1.9",
        "temperature_c": 37.0,
        "voltage_v": 3.3,
        "bias_ma": 9.6,
        "onu_tx_dbm": 1.77,
        "onu_rx_dbm": -27.45,
        "up_octets": 2,
        "down_octets": 3,
    },
    Key(None, 0, 4, 64): {
        "state": Said("online", "online"),
        "mac": "90:fd:73:fc:90:0f",
        "model": "HG8010",
        "description": "",
        "down_cause": Said("power_off", "power off"),
        "distance_m": 19,
        "last_up": None,
        "last_down": None,
        "hw_version": "A",
        "sw_version": "B",
        "temperature_c": -3.5,
        "voltage_v": 3.25,
        "bias_ma": 17.91,
        "onu_tx_dbm": -0.1,
        "onu_rx_dbm": None,
        "up_octets": 0,
        "down_octets": 1,
    },
    Key(None, 0, 2, 7): {
        "state": Said("offline", "offline"),
        "mac": None,
        "model": None,
        "description": "casa 7",
        "down_cause": Said("los", "wire down"),
        "distance_m": None,
        "last_up": datetime(2025, 3, 1, tzinfo=UTC),
        "last_down": datetime(2025, 3, 14, 16, tzinfo=UTC),
        "hw_version": None,
        "sw_version": None,
        "temperature_c": None,
        "voltage_v": None,
        "bias_ma": None,
        "onu_tx_dbm": None,
        "onu_rx_dbm": None,
        "up_octets": 7,
        "down_octets": 8,
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
    assert [str(key) for key in decoded.onus.keys] == ["0/1:1", "0/1:2", "0/4:64", "0/2:7"]
    facts = {each.fact for table in VSOL.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(None, 0, 1, 1)])
    assert set(decoded.onus.technologies) == {"epon"}


@pytest.mark.parametrize("marker", [b"-", b"'-'", b"-65535", b"", b"N/A", b"--", b"0.00 mW (-65535 dBm)"])
def test_what_means_no_power_is_none(marker: bytes) -> None:
    found = DECODER.decode(under(f"{P}.12.2.1.8.1", {"6": {A: marker}, "7": {A: marker}}))
    assert by_key(found.onus) == {Key(None, 0, 1, 1): {"onu_tx_dbm": None, "onu_rx_dbm": None}}
    assert found.problems.first == []


def test_firmware_without_the_table_of_onus_tells_their_state_as_that_of_interfaces() -> None:
    names = column({8: b"EPON0/1:1", 9: b"EPON0/1:2", 10: b"EPON0/1:3 casa"})
    found = DECODER.decode({f"{IF}.31.1.1.1.1": names, f"{IF}.2.2.1.8": column({8: 1, 9: 2, 10: 7})})
    assert [(str(key), row["state"]) for key, row in by_key(found.onus).items()] == [
        ("0/1:1", Said("online", "up")),
        ("0/1:2", Said("offline", "down")),
        ("0/1:3", Said("offline", "lowerLayerDown")),
    ]


def test_the_table_of_those_that_are_online_says_what_the_other_leaves_out() -> None:
    rows = under(
        f"{P}.12.1",
        {"25.1.9": {A: b"a", B: b"b"}, "29.1.4": {A: 1}, "29.1.5": {A: b"00:6d:61:b4:b4:71"}},
    )
    found = DECODER.decode(rows)
    assert found.onus.columns["state"] == [Said("online", "online"), None]
    assert found.onus.columns["mac"] == ["00:6d:61:b4:b4:71", None]


def test_ports_and_health_are_read() -> None:
    rows = (
        ONUS
        | under(
            P,
            {
                "10.13.1.1.2": {1: b"27.84 .C", 2: b"N/A"},
                "10.13.1.1.3": {1: b"3.22 V", 2: b"N/A"},
                "10.13.1.1.4": {1: b"7.01 mA", 2: b"N/A"},
                "10.13.1.1.5": {1: b"6.56 dbm", 2: b"N/A"},
                "12.1.27.1.2": {1: 16, 2: 0},
                "12.1.27.1.3": {1: 15, 2: 0},
                "10.14.5": {0: b"V1600D2"},
                "10.12.3": {0: 26},
                "10.12.4": {0: 18},
                "10.12.5.4": {0: b"V2.03.74R"},
                "10.12.5.9": {0: 40},
                "10.12.5.11": {0: b"V2007150017"},
            },
        )
        | under(f"{IF}.1", {"1": {0: b"V1600D"}, "3": {0: TimeTicks(566843939)}, "5": {0: b"olt-norte"}})
    )
    rows[f"{IF}.2.2.1.8"] = column({5: 1, 6: 2})
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(None, 0, 1): {
            "name": "EPON0/1",
            "state": Said("up", "up"),
            "in_octets": 50,
            "out_octets": 60,
            "temperature_c": 27.84,
            "voltage_v": 3.22,
            "bias_ma": 7.01,
            "tx_dbm": 6.56,
            "onus_known": 16,
            "onus_online": 15,
        },
        Key(None, 0, 2): {
            "name": "EPON0/2",
            "state": Said("down", "down"),
            "in_octets": None,
            "out_octets": None,
            "temperature_c": None,
            "voltage_v": None,
            "bias_ma": None,
            "tx_dbm": None,
            "onus_known": 0,
            "onus_online": 0,
        },
    }
    assert found[Entity.OLT].row(0) == {
        "description": "V1600D",
        "uptime_s": 5668439,
        "name": "olt-norte",
        "model": "V1600D2",
        "version": "V2.03.74R",
        "serial": "V2007150017",
        "cpu_pct": 26.0,
        "memory_pct": 18.0,
        "temperature_c": 40.0,
    }


# Description, temperature, voltage, bias, power sent and received, octets from and to the customer.
RECORDED = {
    "0/1:1": ("AAAAAA", 30.67, 3.27, 11.65, 3.77, -14.61, 120267444, 9535236),
    "0/1:2": ("BBBBBB", 37.45, 3.25, 11.1, 4.27, -15.92, 825068477, 4733158357),
    "0/1:3": ("CCCCCC", 35.14, 3.4, 17.6, 1.81, -14.76, 1669141921, 24193305041),
    "0/1:4": ("DDDDDD", 27.11, 3.4, 14.25, 1.77, -17.06, 4630636877, 187704103120),
    "0/1:5": ("EEEEEE", 36.76, 3.3, 9.6, 7.71, -20.27, 12589640083, 195476008589),
    "0/1:6": ("FFFFFF", 37.45, 3.26, 11.45, 4.22, -23.77, 2696246229, 41792904679),
    "0/1:7": ("GGGGGG", 35.5, 3.4, 15.0, 2.29, -27.45, 6710645846, 260612934153),
    "0/1:8": ("HHHHHH", 31.3, 3.43, 17.75, 1.92, -18.83, 4204278130, 127281400261),
    "0/1:9": ("IIIIII", 29.2, 3.43, 15.0, 2.22, -18.18, 1275389076, 28026743656),
    "0/1:10": ("JJJJJJ", 36.2, 3.36, 15.95, 2.19, -21.61, 983013884, 18654693017),
    "0/1:11": ("KKKKKK", 31.3, 3.37, 16.6, 2.01, -20.0, 1590187729, 83945280237),
    "0/1:12": ("LLLLLL", 31.65, 3.39, 17.91, 2.11, -24.09, 3809040285, 140763720288),
    "0/1:13": ("MMMMMM", 23.96, 3.43, 14.05, 1.92, -17.99, 5808129031, 186798317734),
    "0/1:14": ("NNNNNN", 28.85, 3.41, 10.6, 2.45, -14.08, 1960109451, 11263192536),
    "0/1:15": ("OOOOOO", 31.65, 3.36, 16.3, 1.96, -23.37, 14061430597, 21359526992),
    "0/1:16": ("PPPPPP", 29.2, 3.42, 14.0, 2.14, -28.24, 5817476653, 258922076820),
}
RECORDED_FACTS = (
    "description", "temperature_c", "voltage_v", "bias_ma", "onu_tx_dbm", "onu_rx_dbm", "up_octets",
    "down_octets",
)  # fmt: skip


@pytest.mark.skipif(
    not (RECORDINGS / "vsolution_v1600d.snmprec").exists(), reason="the recordings are not here"
)
def test_a_real_olt_has_16_onus_whose_state_the_interfaces_tell() -> None:
    found = DECODER.decode(recorded(VSOL, "vsolution_v1600d.snmprec"))
    assert found.problems.first == []
    assert {
        str(key): tuple(row[fact] for fact in RECORDED_FACTS) for key, row in by_key(found.onus).items()
    } == RECORDED
    assert found.onus.columns["state"] == [Said("online", "up")] * 16
    # The recording has no more: what was not read is missing, and no ONU with it.
    assert set(found.onus.columns) == {*RECORDED_FACTS, "state"}
    ports = by_key(found[Entity.PORT])
    assert {str(key): (row["name"], str(row["state"]), row["tx_dbm"]) for key, row in ports.items()} == {
        "0/1": ("EPON0/1", "up", 6.56),
        "0/2": ("EPON0/2", "down", 6.66),
    }
    olt = found[Entity.OLT].row(0)
    assert (olt["model"], olt["version"], olt["cpu_pct"], olt["memory_pct"], olt["temperature_c"]) == (
        "V1600D2", "V2.03.74R", 26.0, 18.0, 40.0
    )  # fmt: skip
