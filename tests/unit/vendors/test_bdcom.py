"""The BDCOM profile: ONUs that are interfaces with a name, of GPON and of EPON, and a real OLT."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import Cells, by_key, recorded, under

BDCOM = builtin()["bdcom"]
DECODER = Decoder(BDCOM)
P = "1.3.6.1.4.1.3320"
IF_NAME = "31.1.1.1.1"
# Interfaces in the order in which their ONUs registered.
A, B, OFF, LOST, UPLINK, PORT_2, PORT_4 = 1468, 1180, 1392, 1393, 97, 111, 113
FIBRE = bytes((0x07, 0xE9, 3, 14, 15, 9, 26, 0))

NAMES: Cells = {
    UPLINK: b"GigaEthernet0/1",
    PORT_2: b"GPON0/2",
    PORT_4: b"GPON0/4",
    A: b"GPON0/2:17",
    B: b"GPON0/2:2",
    OFF: b"GPON0/4:13",
    LOST: b"GPON0/4:14",
    2210: b"VLAN101",
}
GPON = under(
    P,
    {
        "10.3.1.1.2": {A: b"BDCM", B: b"HWTC", OFF: b"", LOST: b"ZTEG"},
        "10.3.1.1.3": {A: b"not this", B: b"HG8310M", OFF: b"GP1702", LOST: b""},
        "10.3.1.1.4": {A: b"BDCM\x1a\x2b\x3c\x4d", B: b"HWTC:1234abcd", OFF: b""},
        "10.3.3.1.2": {A: b"XXXX\0\0\0\0", OFF: b"BDCM00000013"},
        "10.2.6.1.3": {(PORT_2, 17): b"YYYY\0\0\0\0", (PORT_4, 14): b"ZTEG0000000E"},
        "10.3.1.1.9": {A: b"GP1702-4G"},
        "10.3.1.1.19": {A: 86400, B: 17},
        "10.3.1.1.20": {A: b"10.0.1", B: b"old", OFF: b"x"},
        "10.3.1.1.22": {A: 1, B: 0, OFF: 0},
        "10.3.1.1.24": {A: b"old", B: b"V5R019", OFF: b"y"},
        "10.3.1.1.26": {A: 0, B: 1, OFF: 0},
        "10.3.1.1.33": {A: 12345, B: 0, OFF: -1, LOST: 20},
        "10.3.1.1.35": {A: 0, B: 11, OFF: 8, LOST: 1},
        "10.3.3.1.4": {A: 3, B: 3, OFF: 0},
        "10.3.2.1.3": {A: 1, B: 1, OFF: 2, LOST: 1},
        "10.3.4.1.2": {A: -235, B: -199, OFF: -65535, LOST: -65535},
        "10.3.4.1.3": {A: 23, B: 21, OFF: -65535, LOST: -65535},
        "10.2.3.1.3": {A: -241, B: -210, OFF: -65535, LOST: -65535},
    },
) | under(
    "1.3.6.1.2.1",
    {
        IF_NAME: NAMES,
        "2.2.1.8": {UPLINK: 1, PORT_2: 1, PORT_4: 2, A: 1, B: 2, OFF: 1, LOST: 2, 2210: 1},
        "31.1.1.1.6": {UPLINK: Counter64(9), PORT_2: Counter64(5), A: Counter64(2**40), B: Counter64(0)},
        "31.1.1.1.10": {UPLINK: Counter64(9), PORT_2: Counter64(6), A: Counter64(2**41), B: Counter64(0)},
        "31.1.1.1.15": {UPLINK: 1000, PORT_2: 2500, A: 1000},
        "31.1.1.1.18": {UPLINK: b"uplink", PORT_2: b"norte", A: b"casa 17", B: b"", OFF: b"casa 13"},
    },
)  # fmt: skip

EXPECTED: dict[str, dict[str, object]] = {
    "0/2:17": {
        "serial": "BDCM1A2B3C4D",
        "vendor_id": "BDCM",
        "model": "GP1702-4G",
        "sw_version": "10.0.1",
        "uptime_s": 86400,
        "distance_m": 1234,
        "down_cause": None,
        "state": Said("online", "active"),
        "admin_state": Said("enabled", "enable"),
        "onu_rx_dbm": -23.5,
        "onu_tx_dbm": 2.3,
        "olt_rx_dbm": -24.1,
        "up_octets": 2**40,
        "down_octets": 2**41,
        "description": "casa 17",
    },
    "0/2:2": {
        "serial": "HWTC1234ABCD",
        "vendor_id": "HWTC",
        "model": "HG8310M",
        "sw_version": "V5R019",
        "uptime_s": 17,
        "distance_m": None,
        "down_cause": Said("other", "reboot, or password mismatch"),
        # Its own table is believed before the state of the interface.
        "state": Said("online", "active"),
        "admin_state": Said("enabled", "enable"),
        "onu_rx_dbm": -19.9,
        "onu_tx_dbm": 2.1,
        "olt_rx_dbm": -21.0,
        "up_octets": 0,
        "down_octets": 0,
        "description": "",
    },
    "0/4:13": {
        "serial": "BDCM00000013",
        "vendor_id": "",
        "model": "GP1702",
        "sw_version": None,
        "uptime_s": None,
        "distance_m": None,
        "down_cause": Said("los", "wire down"),
        "state": Said("offline", "offline"),
        "admin_state": Said("disabled", "disable"),
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "olt_rx_dbm": None,
        "up_octets": None,
        "down_octets": None,
        "description": "casa 13",
    },
    "0/4:14": {
        "serial": "ZTEG0000000E",
        "vendor_id": "ZTEG",
        "model": "",
        "sw_version": None,
        "uptime_s": None,
        "distance_m": 2,
        "down_cause": Said("power_off", "dying-gasp"),
        # Not in the table of states: its interface tells.
        "state": Said("offline", "down"),
        "admin_state": Said("enabled", "enable"),
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "olt_rx_dbm": None,
        "up_octets": None,
        "down_octets": None,
        "description": None,
    },
}


def onus(decoded: Decoded) -> dict[str, dict[str, object]]:
    return {str(key): row for key, row in by_key(decoded.onus).items()}


@pytest.fixture(scope="module")
def gpon() -> Decoded:
    return DECODER.decode(GPON)


@pytest.mark.parametrize("place", EXPECTED)
def test_every_field_of_a_gpon_onu_is_read(gpon: Decoded, place: str) -> None:
    assert onus(gpon)[place] == EXPECTED[place]


def test_other_interfaces_are_no_onus_and_no_problems(gpon: Decoded) -> None:
    assert gpon.problems.first == []
    assert set(onus(gpon)) == set(EXPECTED)
    assert gpon.onus.technologies == ["gpon"] * 4


def facts_of(entity: Entity, technology: str) -> set[str]:
    tables = [table for table in BDCOM.tables if table.entity is entity and table.technology == technology]
    return {column.fact for table in tables for column in table.columns}


def test_no_fact_of_gpon_is_untested() -> None:
    assert facts_of(Entity.ONU, "gpon") == set(EXPECTED["0/2:17"])


@pytest.mark.parametrize(
    ("column", "raw", "said"),
    [
        *(("10.3.3.1.4", raw, said) for raw, said in enumerate(["offline", "offline", "disabled", "online"])),
        *(
            ("10.3.1.1.35", raw, said)
            for raw, said in enumerate(
                [
                    "None",
                    "power_off",
                    "rogue",
                    "disabled",
                    "signal",
                    "unknown",
                    "los",
                    "signal",
                    "los",
                    "other",
                ]
            )
        ),
        # From here on the meaning depends on the firmware.
        ("10.3.1.1.35", 10, "other"),
        ("10.3.1.1.35", 11, "other"),
        ("10.3.1.1.35", 12, "other"),
        ("10.3.1.1.35", 13, "signal"),
    ],
)
def test_states_and_causes_of_gpon(column: str, raw: int, said: str) -> None:
    found = DECODER.decode(under("1.3.6.1.2.1", {IF_NAME: NAMES}) | under(P, {column: {A: raw}}))
    fact = "state" if column == "10.3.3.1.4" else "down_cause"
    assert [str(each) for each in found.onus.columns[fact]] == [said]
    assert len(found.problems) == 0


EPON_NAMES: Cells = {12: b"EPON0/1", 40: b"EPON0/1:1", 41: b"EPON0/1:2", 42: b"EPON0/1:3", 3: b"g0/3"}
HERE, GONE, UNKNOWN = 40, 41, 42
MACS = {
    HERE: b"\x00\x25\x9e\x01\x02\x03",
    GONE: b"\x00\x25\x9e\x01\x02\x04",
    UNKNOWN: b"\x00\x25\x9e\x01\x02\x05",
}
BY_MAC = {onu: (12, *mac) for onu, mac in MACS.items()}
EPON = under(
    f"{P}.101",
    {
        "10.1.1.1": {HERE: b"BDCM", GONE: b"BDCM"},
        "10.1.1.2": {HERE: b"P1501D", GONE: b"P1004"},
        "10.1.1.3": {HERE: MACS[HERE], GONE: MACS[GONE], UNKNOWN: MACS[UNKNOWN]},
        "10.1.1.4": {HERE: b"A.1", GONE: b""},
        "10.1.1.5": {HERE: b"10.0.22B"},
        "10.1.1.6": {HERE: b"not this", GONE: b"10.0.9"},
        "10.1.1.26": {HERE: 3, GONE: 2},
        "10.1.1.27": {HERE: 812, GONE: 0},
        "10.1.1.80": {HERE: 3600},
        "10.5.1.2": {HERE: 11040, GONE: -65535},
        "10.5.1.3": {HERE: 32900, GONE: -65535},
        "10.5.1.5": {HERE: -214, GONE: -65535},
        "10.5.1.6": {HERE: 23, GONE: -65535},
        "108.1.3": {HERE: -229},
        "11.1.1.4": {BY_MAC[HERE]: b"tienda", BY_MAC[GONE]: b"N/A"},
        "11.1.1.10": {BY_MAC[HERE]: bytes(8), BY_MAC[GONE]: FIBRE},
        "11.1.1.11": {BY_MAC[HERE]: 2, BY_MAC[GONE]: 9},
        "6.1.1.21": {12: 1},
        "6.1.1.22": {12: 2},
    },
) | under(
    "1.3.6.1",
    {
        "4.1.3320.9.183.1.1.5": {HERE: -100, GONE: -65535, UNKNOWN: -250},
        f"2.1.{IF_NAME}": EPON_NAMES,
        "2.1.2.2.1.8": {12: 1, HERE: 2, GONE: 1, UNKNOWN: 1, 3: 1},
        "2.1.31.1.1.1.6": {12: Counter64(7), HERE: Counter64(1)},
        "2.1.31.1.1.1.10": {12: Counter64(8), HERE: Counter64(2)},
        "2.1.31.1.1.1.15": {12: 1000},
        "2.1.31.1.1.1.18": {12: b"sur", HERE: b"", GONE: b"casa 2"},
    },
)  # fmt: skip


def test_epon_onus_find_their_names_and_what_became_of_them_by_hardware_address() -> None:
    found = DECODER.decode(EPON)
    assert found.problems.first == []
    assert found.onus.technologies == ["epon"] * 3
    assert onus(found) == {
        "0/1:1": {
            "vendor_id": "BDCM",
            "model": "P1501D",
            "mac": "00:25:9e:01:02:03",
            "hw_version": "A.1",
            "sw_version": "10.0.22B",
            "state": Said("online", "auto-config"),
            "distance_m": 812,
            "uptime_s": 3600,
            "temperature_c": 43.125,
            "voltage_v": 3.29,
            "onu_rx_dbm": -21.4,
            "onu_tx_dbm": 2.3,
            "olt_rx_dbm": -22.9,
            "up_octets": 1,
            "down_octets": 2,
            "description": "",
            "name": "tienda",
            "last_down": None,
            "down_cause": Said("other", "normal"),
        },
        "0/1:2": {
            "vendor_id": "BDCM",
            "model": "P1004",
            "mac": "00:25:9e:01:02:04",
            "hw_version": "",
            "sw_version": "10.0.9",
            "state": Said("offline", "deregistered"),
            "distance_m": None,
            "uptime_s": None,
            "temperature_c": None,
            "voltage_v": None,
            "onu_rx_dbm": None,
            "onu_tx_dbm": None,
            "olt_rx_dbm": None,
            "up_octets": None,
            "down_octets": None,
            "description": "casa 2",
            "name": None,
            "last_down": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
            "down_cause": Said("power_off", "power off"),
        },
        # An ONU of which only its address, its interface and its light on a P3310B are told.
        "0/1:3": {
            **dict.fromkeys(facts_of(Entity.ONU, "epon")),
            "mac": "00:25:9e:01:02:05",
            "state": Said("online", "up"),
            "olt_rx_dbm": -25.0,
        },
    }


@pytest.mark.parametrize(
    ("column", "raw", "said"),
    [
        *(
            ("10.1.1.26", raw, said)
            for raw, said in enumerate(["online", "starting", "offline", "online", "offline", "unknown"])
        ),
        *(
            ("11.1.1.11", raw, said)
            for raw, said in enumerate(
                ["other", "signal", "signal", "reboot", "auth_failed", "disabled", "los", "power_off"], 2
            )
        ),
    ],
)
def test_states_and_causes_of_epon(column: str, raw: int, said: str) -> None:
    index = HERE if column == "10.1.1.26" else BY_MAC[HERE]
    rows = under(f"{P}.101", {"10.1.1.3": {HERE: MACS[HERE]}, column: {index: raw}})
    found = DECODER.decode(rows | under("1.3.6.1.2.1", {IF_NAME: EPON_NAMES}))
    fact = "state" if index == HERE else "down_cause"
    assert [str(each) for each in found.onus.columns[fact]] == [said]
    assert len(found.problems) == 0


def test_a_name_for_an_onu_that_is_not_there_is_reported() -> None:
    found = DECODER.decode(EPON | under(f"{P}.101", {"11.1.1.4": {(12, 1, 2, 3, 4, 5, 6): b"who?"}}))
    assert "no onu has 01:02:03:04:05:06" in found.problems.first[0].why
    assert len(found.onus) == 3


def test_ports_fans_and_health_are_read(gpon: Decoded) -> None:
    rows = under(
        P,
        {
            "10.2.1.1.2": {PORT_2: 1, PORT_4: 2},
            "10.2.1.1.4": {PORT_2: 2, PORT_4: 0},
            "10.2.1.1.5": {PORT_2: 0, PORT_4: 2},
            "10.2.2.1.2": {PORT_2: 9216, PORT_4: -65535},
            "10.2.2.1.3": {PORT_2: 32500, PORT_4: -65535},
            "10.2.2.1.5": {PORT_2: 61, PORT_4: -65535},
            "3.6.10.1.3": {0: b"GP3600-16B mother card"},
            "3.6.10.1.4": {0: b"00321000156"},
            "3.6.10.1.6": {0: b"10.3.0D Build 74104"},
            "3.6.10.1.11": {0: 4},
            "3.6.10.1.12": {0: 26},
            "3.6.10.1.13": {0: 33},
            "9.187.4.1.2": {0: 1, 1: 2, 2: 3},
            "9.187.4.1.3": {0: 3029, 1: 0},
        },
    ) | under("1.3.6.1.2.1.1", {"3": {0: TimeTicks(100)}})
    found = DECODER.decode(GPON | rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(slot=0, port=2): {
            "admin_state": Said("enabled", "no-shutdown"),
            "onus_online": 2,
            "onus_offline": 0,
            "temperature_c": 36.0,
            "voltage_v": 3.25,
            "tx_dbm": 6.1,
            "name": "GPON0/2",
            "in_octets": 5,
            "out_octets": 6,
            "speed_mbps": 2500,
            "description": "norte",
            "state": Said("up", "up"),
        },
        Key(slot=0, port=4): {
            "admin_state": Said("disabled", "shutdown"),
            "onus_online": 0,
            "onus_offline": 2,
            "temperature_c": None,
            "voltage_v": None,
            "tx_dbm": None,
            "name": "GPON0/4",
            "in_octets": None,
            "out_octets": None,
            "speed_mbps": None,
            "description": None,
            "state": Said("down", "down"),
        },
    }
    assert by_key(found[Entity.FAN]) == {
        Key(extra=0): {"state": Said("ok", "ok"), "speed_rpm": 3029.0},
        Key(extra=1): {"state": Said("fault", "stop"), "speed_rpm": 0.0},
        Key(extra=2): {"state": Said("offline", "unused"), "speed_rpm": None},
    }
    assert found[Entity.OLT].row(0) == {
        "uptime_s": 1,
        "model": "GP3600-16B mother card",
        "serial": "00321000156",
        "version": "10.3.0D Build 74104",
        "cpu_pct": 4.0,
        "memory_pct": 26.0,
        "temperature_c": 33.0,
    }


def test_ports_of_epon_are_read() -> None:
    assert by_key(DECODER.decode(EPON)[Entity.PORT]) == {
        Key(slot=0, port=1): {
            "onus_online": 1,
            "onus_offline": 2,
            "name": "EPON0/1",
            "in_octets": 7,
            "out_octets": 8,
            "speed_mbps": 1000,
            "description": "sur",
            "state": Said("up", "up"),
        }
    }


@pytest.mark.skipif(not (RECORDINGS / "bdcom.snmprec").exists(), reason="the recordings are not here")
def test_a_real_olt_has_64_onus_and_16_ports() -> None:
    found = DECODER.decode(recorded(BDCOM, "bdcom.snmprec"))
    assert found.problems.first == []
    assert len(found.onus) == len(set(found.onus.keys)) == 64
    assert Counter(str(state) for state in found.onus.columns["state"]) == {"online": 54, "offline": 10}
    assert Counter(key.port for key in found.onus.keys) == {2: 51, 4: 13}
    # The recording was cut to what IF-MIB has.
    assert set(found.onus.columns) == {"state", "up_octets", "down_octets", "description"}
    assert onus(found)["0/2:17"] == {
        "state": Said("online", "up"),
        "up_octets": 89437589,
        "down_octets": 737861428,
        "description": "",
    }
    ports = by_key(found[Entity.PORT])
    assert [str(key) for key in ports] == [f"0/{port}" for port in range(1, 17)]
    counts = {str(key): (row["onus_online"], row["onus_offline"]) for key, row in ports.items()}
    assert {place: count for place, count in counts.items() if count != (0, 0)} == {
        "0/2": (43, 8),
        "0/4": (11, 2),
    }
    assert [str(key) for key, row in ports.items() if str(row["state"]) == "up"] == ["0/2", "0/4"]
    assert len(found[Entity.FAN]) == 9
    assert {str(state) for state in found[Entity.FAN].columns["state"]} == {"ok"}
    assert found[Entity.OLT].columns["cpu_pct"] == [4.0]
