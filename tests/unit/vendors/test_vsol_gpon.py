"""The V-SOL GPON profile: phases, serials as text, and power in every form that it was seen in."""

from datetime import UTC, datetime

import pytest

from facho.snmp.values import Counter64, TimeTicks, Value
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.rows import by_key, under

VSOL = builtin()["vsol_gpon"]
DECODER = Decoder(VSOL)
P = "1.3.6.1.4.1.37950.1.1"
A, B, C, OFF = (1, 1), (1, 128), (16, 3), (2, 7)
ONUS = under(
    f"{P}.6.1.1",
    {
        "1.1.3": {A: 1, B: 1, C: 1, OFF: 2},
        "1.1.4": {A: 2, B: 1, C: 1, OFF: 2},
        "1.1.5": {A: 3, B: 3, C: 2, OFF: 4},
        "1.1.7": {A: b"not this", C: b"tienda", OFF: b"casa 7"},
        "1.1.8": {A: b"2025/03/14 15:09:26", B: b"2025-03-14 15:09:27", C: b"N/A", OFF: b"-"},
        "1.1.9": {A: b"N/A", B: b"", C: b"--", OFF: b"2025/03/14 16:00:00"},
        "1.1.10": {A: b"LOS", B: b"N/A", C: b"", OFF: b"dying-gasp"},
        "2.1.5": {A: b"GPON00A1B2C3", B: b"hunter2!", C: b"48575443 is none", OFF: b"4857544312345678"},
        "2.1.6": {A: b"V2802RH", B: b"N/A", C: b"HG8546M", OFF: b""},
        "3.1.3": {A: b"41.25 C", B: b"45", C: b"-1.5 C", OFF: b"N/A"},
        "3.1.4": {A: b"3.27 V", B: b"3.3", C: b"3.31 V", OFF: b"-"},
        "3.1.5": {A: b"11.65 mA", B: b"9", C: b"12.5 mA", OFF: b""},
        "3.1.6": {A: b"2.5", B: 23, C: b"1.50 mW (1.77 dBm)", OFF: b"N/A"},
        "3.1.7": {A: b"-19.32(dBm)", B: -256, C: b"0.00 mW (-27.45 dBm)", OFF: b"-"},
        "3.1.8": {A: b"-21.02", B: -231, C: b"-", OFF: b"N/A"},
        "4.1.3": {A: b"GPON", B: b"HWTC", C: b"", OFF: b"-"},
        "4.1.4": {A: b"V1.0", B: b"B", C: b"C", OFF: b"N/A"},
        "4.1.5": {A: b"not this one", B: b"HWTC:1234abcd", C: b"HWTC\x12\x34"},
        "4.1.14": {A: b"not this", B: b"HG8310M"},
        "4.1.24": {A: "casa Muñoz".encode(), B: b"oficina"},
        "4.1.25": {A: b"V2.1.8", B: b"V5", C: b"-", OFF: b"N/A"},
        "12.1.3": {A: 4213, B: 17, C: 0, OFF: -1},
        "17.1.13": {A: Counter64(2**40), B: Counter64(0)},
        "17.1.15": {A: Counter64(17), B: Counter64(1)},
    },
)  # fmt: skip
EXPECTED: dict[Key, dict[str, object]] = {
    Key(None, 0, 1, 1): {
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "working"),
        "last_up": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "last_down": None,
        "down_cause": Said("los", "LOS"),
        "serial": "GPON00A1B2C3",
        "model": "V2802RH",
        "vendor_id": "GPON",
        "hw_version": "V1.0",
        "description": "casa Muñoz",
        "sw_version": "V2.1.8",
        "distance_m": 4213,
        "temperature_c": 41.25,
        "voltage_v": 3.27,
        "bias_ma": 11.65,
        "onu_tx_dbm": 2.5,
        "onu_rx_dbm": -19.32,
        "olt_rx_dbm": -21.02,
        "up_octets": 2**40,
        "down_octets": 17,
    },
    Key(None, 0, 1, 128): {
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "working"),
        "last_up": datetime(2025, 3, 14, 15, 9, 27, tzinfo=UTC),
        "last_down": None,
        "down_cause": None,
        # Let in by password: the serial is that of the table of details.
        "serial": "HWTC1234ABCD",
        "model": "HG8310M",
        "vendor_id": "HWTC",
        "hw_version": "B",
        "description": "oficina",
        "sw_version": "V5",
        "distance_m": 17,
        "temperature_c": 45.0,
        "voltage_v": 3.3,
        "bias_ma": 9.0,
        "onu_tx_dbm": 2.3,
        "onu_rx_dbm": -25.6,
        "olt_rx_dbm": -23.1,
        "up_octets": 0,
        "down_octets": 1,
    },
    Key(None, 0, 16, 3): {
        "admin_state": Said("enabled", "enabled"),
        "state": Said("starting", "syncMib"),
        "last_up": None,
        "last_down": None,
        "down_cause": None,
        "serial": None,
        "model": "HG8546M",
        "vendor_id": None,
        "hw_version": "C",
        "description": "tienda",
        "sw_version": None,
        "distance_m": None,
        "temperature_c": -1.5,
        "voltage_v": 3.31,
        "bias_ma": 12.5,
        "onu_tx_dbm": 1.77,
        "onu_rx_dbm": -27.45,
        "olt_rx_dbm": None,
        "up_octets": None,
        "down_octets": None,
    },
    Key(None, 0, 2, 7): {
        "admin_state": Said("disabled", "disabled"),
        "state": Said("power_off", "dyingGasp"),
        "last_up": None,
        "last_down": datetime(2025, 3, 14, 16, tzinfo=UTC),
        "down_cause": Said("power_off", "dying-gasp"),
        "serial": "HWTC12345678",
        "model": None,
        "vendor_id": None,
        "hw_version": None,
        "description": "casa 7",
        "sw_version": None,
        "distance_m": None,
        "temperature_c": None,
        "voltage_v": None,
        "bias_ma": None,
        "onu_tx_dbm": None,
        "onu_rx_dbm": None,
        "olt_rx_dbm": None,
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
    assert [str(key) for key in decoded.onus.keys] == ["0/1:1", "0/1:128", "0/16:3", "0/2:7"]
    facts = {each.fact for table in VSOL.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(None, 0, 1, 1)])
    assert set(decoded.onus.technologies) == {"gpon"}


@pytest.mark.parametrize(
    ("raw", "power"),
    [
        (b"-19.32(dBm)", -19.32),
        (b"-19.32 dBm", -19.32),
        (b"-19.32", -19.32),
        (b"0.01 mW (-19.32 dBm)", -19.32),
        (-193, -19.3),
        (b"-", None),
        (b"'-'", None),
        (b"-65535", None),
        (-65535, None),
        (b"N/A", None),
        (b"", None),
    ],
)
def test_power_is_read_in_every_form(raw: Value, power: float | None) -> None:
    found = DECODER.decode(under(f"{P}.6.1.1.3.1", {"7": {A: raw}}))
    assert found.onus.columns["onu_rx_dbm"] == [power]
    assert found.problems.first == []


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        *enumerate(
            [
                "starting",
                "los",
                "starting",
                "online",
                "power_off",
                "auth_failed",
                "offline",
                "disabled",
                "starting",
            ]
        ),
    ],
)
def test_phases_count_from_zero(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.6.1.1.1.1", {"5": {A: raw}})).onus.columns["state"]
    assert str(said) == state


@pytest.mark.parametrize(("raw", "state"), [(0, "offline"), (1, "online"), (2, "offline")])
def test_without_the_phase_the_management_channel_tells_the_state(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.6.1.1.1.1", {"4": {A: raw}})).onus.columns["state"]
    assert str(said) == state


def test_ports_and_health_are_read() -> None:
    rows = under(
        P,
        {
            "5.10.13.1.1.2": {1: b"27.84 .C", 2: b"N/A"},
            "5.10.13.1.1.3": {1: b"3.22 V", 2: b"N/A"},
            "5.10.13.1.1.4": {1: b"7.01 mA", 2: b"N/A"},
            "5.10.13.1.1.5": {1: b"6.56 dbm", 2: b"N/A"},
            "6.1.1.18.1.2": {1: 40, 2: 1},
            "6.1.1.18.1.3": {1: 38, 2: 0},
            "5.10.14.5": {0: b"V1600G1"},
            "5.10.12.3": {0: 26},
            "5.10.12.4": {0: 18},
            "5.10.12.5.4": {0: b"V1.4.0R"},
            "5.10.12.5.9": {0: 40},
            "5.10.12.5.11": {0: b"V2007150017"},
        },
    ) | under(
        "1.3.6.1.2.1",
        {
            "31.1.1.1.1": {1: b"GE0/1", 9: b"GPON0/1", 10: b"GPON0/2", 11: b"GPON0/1:1"},
            "2.2.1.8": {1: 1, 9: 1, 10: 2, 11: 1},
            "31.1.1.1.6": {9: Counter64(5)},
            "31.1.1.1.10": {9: Counter64(6)},
            "1.1": {0: b"V1600G1"},
            "1.3": {0: TimeTicks(100)},
            "1.5": {0: b"olt-sur"},
        },
    )
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(None, 0, 1): {
            "name": "GPON0/1",
            "state": Said("up", "up"),
            "in_octets": 5,
            "out_octets": 6,
            "temperature_c": 27.84,
            "voltage_v": 3.22,
            "bias_ma": 7.01,
            "tx_dbm": 6.56,
            "onus_known": 40,
            "onus_online": 38,
        },
        Key(None, 0, 2): {
            "name": "GPON0/2",
            "state": Said("down", "down"),
            "in_octets": None,
            "out_octets": None,
            "temperature_c": None,
            "voltage_v": None,
            "bias_ma": None,
            "tx_dbm": None,
            "onus_known": 1,
            "onus_online": 0,
        },
    }
    assert found[Entity.OLT].row(0) == {
        "description": "V1600G1",
        "uptime_s": 1,
        "name": "olt-sur",
        "model": "V1600G1",
        "version": "V1.4.0R",
        "serial": "V2007150017",
        "cpu_pct": 26.0,
        "memory_pct": 18.0,
        "temperature_c": 40.0,
    }
