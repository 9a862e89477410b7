"""The Huawei profile: every field of some ONUs, ports and boards, from raw rows to facts."""

from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import split_arcs
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import Table, by_key, column, recorded, under

HUAWEI = builtin()["huawei"]
DECODER = Decoder(HUAWEI)
XPON = "1.3.6.1.4.1.2011.6.128.1.1"
# GPON 0/1/1, 0/4/6: above 2^31, as on real OLTs.
PORT_1, PORT_2 = 4194312448, 4194338304
A, B, OFF = (PORT_1, 0), (PORT_1, 127), (PORT_2, 5)
NONE = 2147483647
FIBRE = bytes((0x07, 0xE9, 3, 14, 15, 9, 26, 0))

ONUS = under(
    f"{XPON}.2",
    {
        "43.1.3": {A: b"HWTC\x12\x34\xab\xcd", B: b"ZTEG\xc0\xff\xee\x00", OFF: bytes(range(8))},
        "43.1.7": {A: b"line-profile_1", B: b"FTTH 100M", OFF: b""},
        "43.1.8": {A: b"srv-profile_1", B: b"srv", OFF: b""},
        "43.1.9": {A: "cli-001 Peñón".encode(), B: b"ONT_NO_DESCRIPTION", OFF: b"casa 7\x00\x00"},
        "45.1.1": {A: b"15E4.A", B: b"V6.0", OFF: b""},
        "45.1.4": {A: b"HG8546M\x00\x00\x00", B: b"F660", OFF: b""},
        "45.1.5": {A: b"V5R019C10S115", B: b"V6.0.10P6", OFF: b""},
        "45.1.6": {A: b"V5R017C00", B: b"", OFF: b""},
        "45.1.10": {A: b"\x00\x1e\x10\xaa\xbb\xcc", B: bytes(6), OFF: b""},
        "46.1.1": {A: 1, B: 1, OFF: 2},
        "46.1.15": {A: 1, B: 1, OFF: 2},
        "46.1.16": {A: 2, B: 5, OFF: -1},
        "46.1.18": {A: 2, B: 3, OFF: -1},
        "46.1.20": {A: 4213, B: 0, OFF: -1},
        "46.1.21": {A: 3, B: -1, OFF: -1},
        "46.1.22": {A: FIBRE, B: bytes(8), OFF: FIBRE + b"+\x05\x1e"},
        "46.1.23": {A: bytes(8), B: bytes(8), OFF: FIBRE + b"-\x05\x00"},
        "46.1.24": {A: -1, B: 13, OFF: 1},
        "46.1.25": {A: bytes(8), B: FIBRE, OFF: bytes(8)},
        "46.1.29": {A: 4213, B: 900, OFF: 1777},
        "46.1.30": {A: b"HWTC\x12\x34\xab\xcd", B: b"ZTEG\xc0\xff\xee\x00", OFF: bytes(8)},
        "51.1.1": {A: 45, B: -3, OFF: NONE},
        "51.1.2": {A: 12, B: 9, OFF: NONE},
        "51.1.3": {A: 231, B: -150, OFF: NONE},
        "51.1.4": {A: -2350, B: -1999, OFF: NONE},
        "51.1.5": {A: 3312, B: 3300, OFF: NONE},
        "51.1.6": {A: 7650, B: 8123, OFF: NONE},
        "51.1.7": {A: -120, B: NONE, OFF: NONE},
        "49.1.2": {(*A, 0): IPv4Address("10.20.30.40"), (*A, 1): IPv4Address("10.9.9.9"), (*B, 0): bytes(4)},
        "49.1.4": {(*A, 0): b"\x00\x1e\x10\xaa\xbb\xcd"},
    },
) | under(f"{XPON}.4.23.1", {"3": {A: Counter64(2**63 + 1)}, "4": {A: Counter64(17)}})  # fmt: skip

EXPECTED: dict[Key, dict[str, object]] = {
    Key(0, 1, 1, 0): {
        "serial": "HWTC1234ABCD",
        "serial_actual": "HWTC1234ABCD",
        "line_profile": "line-profile_1",
        "srv_profile": "srv-profile_1",
        "description": "cli-001 Peñón",
        "hw_version": "15E4.A",
        "model": "HG8546M",
        "sw_version": "V5R019C10S115",
        "sw_version_standby": "V5R017C00",
        "mac": "00:1e:10:aa:bb:cc",
        "admin_state": Said("enabled", "active"),
        "state": Said("online", "online"),
        "config_state": Said("ok", "normal"),
        "match_state": Said("ok", "match"),
        "distance_m": 4213,
        "last_distance_m": 4213,
        "mac_count": 3,
        "last_up": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "last_down": None,
        "down_cause": None,
        "last_dying_gasp": None,
        "temperature_c": 45.0,
        "bias_ma": 12.0,
        "onu_tx_dbm": 2.31,
        "onu_rx_dbm": -23.5,
        "voltage_v": 3.312,
        "olt_rx_dbm": -23.5,
        "catv_rx_dbm": -1.2,
        "ip": IPv4Address("10.20.30.40"),
        "ip_mac": "00:1e:10:aa:bb:cd",
        "up_octets": 2**63 + 1,
        "down_octets": 17,
    },
    Key(0, 1, 1, 127): {
        "serial": "ZTEGC0FFEE00",
        "serial_actual": "ZTEGC0FFEE00",
        "line_profile": "FTTH 100M",
        "srv_profile": "srv",
        "description": "ONT_NO_DESCRIPTION",
        "hw_version": "V6.0",
        "model": "F660",
        "sw_version": "V6.0.10P6",
        "sw_version_standby": "",
        "mac": None,
        "admin_state": Said("enabled", "active"),
        "state": Said("online", "online"),
        "config_state": Said("starting", "config"),
        "match_state": Said("mismatch", "mismatch"),
        "distance_m": None,
        "last_distance_m": 900,
        "mac_count": None,
        "last_up": None,
        "last_down": None,
        "down_cause": Said("power_off", "dying-gasp"),
        "last_dying_gasp": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "temperature_c": -3.0,
        "bias_ma": 9.0,
        "onu_tx_dbm": -1.5,
        "onu_rx_dbm": -19.99,
        "voltage_v": 3.3,
        "olt_rx_dbm": -18.77,
        "catv_rx_dbm": None,
        "ip": None,
        "ip_mac": None,
        "up_octets": None,
        "down_octets": None,
    },
    Key(0, 4, 6, 5): {
        "serial": "0001020304050607",
        "serial_actual": None,
        "line_profile": "",
        "srv_profile": "",
        "description": "casa 7",
        "hw_version": "",
        "model": "",
        "sw_version": "",
        "sw_version_standby": "",
        "mac": None,
        "admin_state": Said("disabled", "deactivated"),
        "state": Said("offline", "offline"),
        "config_state": None,
        "match_state": None,
        "distance_m": None,
        "last_distance_m": 1777,
        "mac_count": None,
        "last_up": datetime(2025, 3, 14, 9, 39, 26, tzinfo=UTC),
        "last_down": datetime(2025, 3, 14, 20, 9, 26, tzinfo=UTC),
        "down_cause": Said("los", "LOS"),
        "last_dying_gasp": None,
        "temperature_c": None,
        "bias_ma": None,
        "onu_tx_dbm": None,
        "onu_rx_dbm": None,
        "voltage_v": None,
        "olt_rx_dbm": None,
        "catv_rx_dbm": None,
        "ip": None,
        "ip_mac": None,
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
    gpon = {
        column.fact
        for table in HUAWEI.tables
        if table.entity is Entity.ONU and table.technology == "gpon"
        for column in table.columns
    }
    assert gpon == set(EXPECTED[Key(0, 1, 1, 0)])
    assert decoded.onus.technologies == ["gpon"] * 3


def test_epon_onus_stand_beside_gpon_onus() -> None:
    here = (PORT_2, 9)
    epon = under(
        f"{XPON}.2",
        {
            "53.1.3": {here: b"\x00\x25\x9e\x01\x02\x03"},
            "53.1.7": {here: b"line"},
            "53.1.9": {here: b"tienda"},
            "55.1.5": {here: b"V3"},
            "57.1.15": {here: 1},
            "57.1.19": {here: 812},
            "57.1.25": {here: 13},
            "104.1.1": {here: 7900},
            "104.1.2": {here: 40},
            "104.1.3": {here: 11},
            "104.1.4": {here: 205},
            "104.1.5": {here: -2011},
            "104.1.6": {here: 3290},
        },
    )
    onus = DECODER.decode(ONUS | epon).onus
    assert len(onus) == 4
    assert onus.technologies[3] == "epon"
    told = {fact: value for fact, value in onus.row(3).items() if value is not None}
    assert (onus.keys[3], told) == (
        Key(0, 4, 6, 9),
        {
            "mac": "00:25:9e:01:02:03",
            "line_profile": "line",
            "description": "tienda",
            "sw_version": "V3",
            "state": Said("online", "online"),
            "distance_m": 812,
            "down_cause": Said("power_off", "dying-gasp"),
            "olt_rx_dbm": -21.0,
            "temperature_c": 40.0,
            "bias_ma": 11.0,
            "onu_tx_dbm": 2.05,
            "onu_rx_dbm": -20.11,
            "voltage_v": 3.29,
        },
    )


def test_ports_boards_health_and_unknown_onus_are_read() -> None:
    board = (0, 7)
    rows: Table = (
        under(f"{XPON}.2", {
            "21.1.10": {PORT_1: 1, PORT_2: 2},
            "21.1.16": {PORT_1: 2, PORT_2: 1},
            "21.1.19": {PORT_1: -1, PORT_2: 2},
            "23.1.1": {PORT_1: 34, PORT_2: NONE},
            "23.1.2": {PORT_1: 321, PORT_2: NONE},
            "23.1.3": {PORT_1: 32, PORT_2: NONE},
            "23.1.4": {PORT_1: 716, PORT_2: NONE},
            "23.1.5": {PORT_1: NONE, PORT_2: NONE},
            "48.1.2": {(PORT_1, 1): b"HWTC\x00\x00\x00\x01"},
            "48.1.6": {(PORT_1, 1): b"V5"},
            "48.1.7": {(PORT_1, 1): b"EG8145V5"},
            "48.1.8": {(PORT_1, 1): FIBRE},
            "62.1.22": {(*A, 1): 1, (*A, 2): 2, (*B, 1): -1},
        })
        | under(f"{XPON}.4.21.1", {"15": {PORT_1: Counter64(5)}, "30": {PORT_1: Counter64(6)}})
        | under("1.3.6.1.2.1.31.1.1.1", {
            "6": {PORT_1: Counter64(1), PORT_2: Counter64(7)},
            "10": {PORT_1: Counter64(1), PORT_2: Counter64(8)},
        })
        | under("1.3.6.1.4.1.2011.2.6.7.1.1.2.1", {
            "5": {board: 17, (0, 8): -1},
            "6": {board: 75, (0, 8): -1},
            "7": {board: b"H802SCUN", (0, 8): b"H802X2CS"},
            "10": {board: 22, (0, 8): NONE},
            "11": {board: 50, (0, 8): 9},
        })
        | under("1.3.6.1.4.1.2011.6.3.3.2.1", {"8": {board: 2, (0, 8): 15}})
        | under("1.3.6.1", {
            "2.1.1.1": {0: b"Huawei Integrated Access Software"},
            "2.1.1.3": {0: TimeTicks(111404777)},
            "2.1.1.5": {0: b"olt-norte"},
            "4.1.2011.6.3.1.999": {0: b"MA5603V800R018C10B085"},
            "4.1.2011.2.6.7.1.1.1.1.11": {0: 226},
        })
    )  # fmt: skip
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(0, 1, 1): {
            "state": Said("up", "up"),
            "onus_known": 2,
            "down_cause": Said("other", "other"),
            "temperature_c": 34.0,
            "voltage_v": 3.21,
            "bias_ma": 32.0,
            "tx_dbm": 7.16,
            "rx_dbm": None,
            "in_octets": 5,
            "out_octets": 6,
        },
        Key(0, 4, 6): {
            "state": Said("down", "down"),
            "onus_known": 1,
            "down_cause": Said("no_module", "no module"),
            "temperature_c": None,
            "voltage_v": None,
            "bias_ma": None,
            "tx_dbm": None,
            "rx_dbm": None,
            # Of IF-MIB, where the vendor's own counters are not there.
            "in_octets": 7,
            "out_octets": 8,
        },
    }
    assert by_key(found[Entity.BOARD]) == {
        Key(0, 7): {
            "cpu_pct": 17.0,
            "memory_pct": 75.0,
            "name": "H802SCUN",
            "temperature_c": 22.0,
            "power_w": 50.0,
            "state": Said("ok", "normal"),
        },
        Key(0, 8): {
            "cpu_pct": None,
            "memory_pct": None,
            "name": "H802X2CS",
            "temperature_c": None,
            "power_w": 9.0,
            "state": Said("fault", "overheat"),
        },
    }
    assert found[Entity.OLT].row(0) == {
        "description": "Huawei Integrated Access Software",
        "uptime_s": 1114048,
        "name": "olt-norte",
        "version": "MA5603V800R018C10B085",
        "power_w": 226.0,
    }
    assert by_key(found[Entity.AUTOFIND]) == {
        Key(0, 1, 1, extra=1): {
            "serial": "HWTC00000001",
            "sw_version": "V5",
            "model": "EG8145V5",
            "seen_at": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        }
    }
    assert by_key(found[Entity.UNI]) == {
        Key(0, 1, 1, 0, 1): {"state": Said("up", "up")},
        Key(0, 1, 1, 0, 2): {"state": Said("down", "down")},
        Key(0, 1, 1, 127, 1): {"state": None},
    }


def test_an_interface_that_is_no_pon_port_is_no_pon_port() -> None:
    names = "1.3.6.1.2.1.31.1.1.1.1"
    found = DECODER.decode(
        {names: column({PORT_1: b"GPON 0/1/1", 234938432: b"ethernet0/7/1", 42: b"vlanif1"})}
    )
    assert by_key(found[Entity.PORT]) == {Key(0, 1, 1): {"name": "GPON 0/1/1"}}
    assert len(found.problems) == 0


def test_a_port_of_another_kind_is_known_by_its_name() -> None:
    """No real XGS-PON board's index has been seen; its name would say where it is."""
    rows = {
        "1.3.6.1.2.1.31.1.1.1.1": column({77: b"XGS-PON 0/3/2"}),
        f"{XPON}.2.23.1.1": column({77: 51}),
    }
    ports = DECODER.decode(rows)[Entity.PORT]
    assert by_key(ports) == {Key(0, 3, 2): {"name": "XGS-PON 0/3/2", "temperature_c": 51.0}}


@pytest.mark.parametrize(
    ("number", "place"),
    [(4194304000, "0/0/0"), (4194312448, "0/1/1"), (4194313984, "0/1/7"), (4194338304, "0/4/6")],
)
def test_ports_above_2_31_are_read_from_their_number_alone(number: int, place: str) -> None:
    found = DECODER.decode(
        {f"{XPON}.2.46.1.15": column({(number, 3): 1}), f"{XPON}.2.21.1.10": column({number: 1})}
    )
    assert [str(key) for key in found.onus.keys] == [f"{place}:3"]
    assert [str(key) for key in found[Entity.PORT].keys] == [place]


@pytest.mark.skipif(not (RECORDINGS / "smartax.snmprec").exists(), reason="the recordings are not here")
def test_a_real_olt_has_32_ports_with_optics_and_4_boards() -> None:
    found = DECODER.decode(recorded(HUAWEI, "smartax.snmprec"))
    ports, boards = found[Entity.PORT], found[Entity.BOARD]
    assert found.problems.first == []
    assert [str(key) for key in ports.keys] == [f"0/{slot}/{port}" for slot in (0, 1) for port in range(16)]
    for number, key in enumerate(ports.keys):
        assert ports.columns["name"][number] == f"GPON {key}"
    assert None not in ports.columns["tx_dbm"] + ports.columns["temperature_c"] + ports.columns["voltage_v"]
    assert set(ports.columns["rx_dbm"]) == {None}
    assert {split_arcs(index)[0] > 2**31 for index in ports.indexes} == {True}
    assert by_key(ports)[Key(0, 1, 0)]["tx_dbm"] == 7.16
    assert by_key(ports)[Key(0, 0, 15)]["onus_known"] == 11
    assert boards.columns["name"] == ["H805GPFD", "H805GPFD", "H802SCUN", "H802X2CS"]
    assert boards.columns["cpu_pct"] == [11.0, 12.0, 17.0, None]
    assert [str(state) for state in boards.columns["state"]] == ["ok"] * 4
    assert found[Entity.OLT].columns["version"] == ["MA5603V800R018C10B085"]
    assert len(found.onus) == 0
