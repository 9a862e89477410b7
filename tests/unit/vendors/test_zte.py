"""The ZTE profile: every field of some ONUs, and the three kinds of index told apart."""

from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import CompiledIndex, compile_index
from facho.vendors.schema import Asking
from tests.unit.vendors.rows import by_key, column, under

ZTE = builtin()["zte"]
DECODER = Decoder(ZTE)
GPON = "1.3.6.1.4.1.3902.1012.3"
OTHER = "1.3.6.1.4.1.3902.1015"
# In the PON tables: 1/1/1 and 1/3/1.
PORT_1, PORT_2 = 268501248, 268632320
A, B, OFF = (PORT_1, 1), (PORT_1, 128), (PORT_2, 7)
FIBRE = bytes((0x07, 0xE9, 3, 14, 15, 9, 26, 0))


def optics(onu: tuple[int, int]) -> tuple[int, ...]:
    return (*onu, 1)


ONUS = under(
    GPON,
    {
        "28.1.1.1": {A: b"ZTE-F660", B: b"ZTE-F601", OFF: b"ZTE-F670L"},
        "28.1.1.2": {A: b"ONU-1", B: b"ONU-128", OFF: b""},
        "28.1.1.3": {A: "$$Ñuñoa 12$$".encode(), B: b"$$$$", OFF: b"casa 7"},
        "28.1.1.5": {A: b"ZTEG\x00\x00\x00\x2a", B: b"HWTCABCD", OFF: b"GPON\xff\xff\xff\xff"},
        "28.1.1.17": {A: 1, B: 2},
        "28.2.1.1": {A: 2, B: 1, OFF: 1},
        "28.2.1.4": {A: 3, B: 3, OFF: 4},
        "28.2.1.5": {A: FIBRE, B: b"2025-03-14 15:09:26", OFF: bytes(8)},
        "28.2.1.6": {A: bytes(8), B: b"0000-00-00 00:00:00", OFF: FIBRE},
        "28.2.1.7": {A: 1, B: 12, OFF: 9},
        "11.4.1.2": {A: 1234, B: -1, OFF: 0},
        "50.12.1.1.10": {optics(A): 5635, optics(B): 65036, optics(OFF): 65535, (*A, 2): 1},
        "50.12.1.1.14": {optics(A): 16150, optics(B): 0, optics(OFF): -32768},
        "50.12.1.1.17": {optics(A): 160, optics(B): 165, optics(OFF): 65535},
        "50.12.1.1.19": {optics(A): 11040, optics(B): 64768, optics(OFF): 65535},
        "50.11.2.1.1": {A: b"ZTEG", B: b"HWTC", OFF: b""},
        "50.11.2.1.2": {A: b"V6.0", B: b"V5", OFF: b""},
        "50.11.2.1.9": {A: b"F660"},
        "50.11.2.1.17": {A: b"not this", B: b"HG8310M"},
        "50.16.1.1.10": {optics(A): IPv4Address("10.1.2.3"), optics(B): IPv4Address(0)},
    },
) | under(f"{OTHER}.1010.11.2.1", {"2": {A: -21876, B: 65535000, OFF: -80000}})

EXPECTED: dict[Key, dict[str, object]] = {
    Key(1, 1, 1, 1): {
        "type": "ZTE-F660",
        "name": "ONU-1",
        "description": "Ñuñoa 12",
        "serial": "ZTEG0000002A",
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "working"),
        "last_up": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "last_down": None,
        "down_cause": Said("unknown", "unknown"),
        "distance_m": 1234,
        "onu_rx_dbm": -18.73,
        "onu_tx_dbm": 2.3,
        "voltage_v": 3.2,
        "temperature_c": 43.125,
        "olt_rx_dbm": -21.88,
        "vendor_id": "ZTEG",
        "sw_version": "V6.0",
        "model": "F660",
        "ip": IPv4Address("10.1.2.3"),
    },
    Key(1, 1, 1, 128): {
        "type": "ZTE-F601",
        "name": "ONU-128",
        "description": "",
        "serial": "HWTC41424344",
        "admin_state": Said("disabled", "disabled"),
        "state": Said("online", "working"),
        "last_up": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
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
        "ip": None,
    },
    Key(1, 3, 1, 7): {
        "type": "ZTE-F670L",
        "name": "",
        "description": "casa 7",
        "serial": "GPONFFFFFFFF",
        "admin_state": Said("enabled", "enabled"),
        "state": Said("power_off", "dyingGasp"),
        "last_up": None,
        "last_down": datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC),
        "down_cause": Said("power_off", "dyingGasp"),
        "distance_m": None,
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
        "olt_rx_dbm": None,
        "vendor_id": "",
        "sw_version": "",
        "model": None,
        "ip": None,
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
    assert len(decoded.onus) == 3
    gpon = {
        column.fact
        for table in ZTE.tables
        if table.entity is Entity.ONU and table.technology == "gpon"
        for column in table.columns
    }
    assert gpon == set(EXPECTED[Key(1, 1, 1, 1)])


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["starting", "los", "starting", "online", "power_off", "auth_failed", "offline"])],
)
def test_phases_count_from_zero(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(GPON, {"28.2.1.4": {A: raw}})).onus.columns["state"]
    assert str(said) == state


def test_optics_are_asked_of_online_onus_only() -> None:
    asked = {table.name: table.batch for table in ZTE.tables if table.asking is Asking.GET_ONLINE}
    assert asked == {"gpon_optics": 24, "gpon_olt_optics": 24, "epon_optics": 24}


def layout(name: str) -> CompiledIndex:
    return compile_index(next(index for index in ZTE.indexes if index.name == name))


def test_one_number_is_another_port_in_each_kind_of_index() -> None:
    number = 268501248
    assert layout("onu").decode((number, 1)) == Key(1, 1, 1, 1)
    assert layout("interface").decode((number,)) == Key(1, 2, 2)
    with pytest.raises(ValueError, match="0x10010100"):
        layout("newer_onu").decode((number, 1))


@pytest.mark.parametrize(
    ("kind", "arcs", "key"),
    [
        ("interface", (268435456,), Key(1, 1, 1)),
        ("interface", (268435712,), Key(1, 1, 2)),
        ("interface", (268632064,), Key(1, 4, 1)),
        ("interface", (268632320,), Key(1, 4, 2)),
        ("onu", (268501248, 3), Key(1, 1, 1, 3)),
        ("onu", (268501504, 3), Key(1, 1, 2, 3)),
        ("onu", (268566784, 3), Key(1, 2, 1, 3)),
        ("onu", (268632320, 3), Key(1, 3, 1, 3)),
        ("newer_onu", (285278465, 3), Key(1, 1, 1, 3)),
        ("newer_onu", (285278721, 3), Key(1, 2, 1, 3)),
        ("newer_onu", (285278977, 3), Key(1, 3, 1, 3)),
        ("newer_onu", (285279233, 3), Key(1, 4, 1, 3)),
        ("epon_onu", (0x30000000 | 2 << 19 | 3 << 16 | 17 << 8,), Key(1, 2, 4, 17)),
        ("epon_onu", (0x90000000 | 5 << 20 | 15 << 16 | 64 << 8,), Key(1, 5, 16, 64)),
        ("epon_onu", (0x31000000 | 2 << 19 | 0 << 16 | 1 << 8,), Key(2, 2, 1, 1)),
    ],
)
def test_indices_seen_on_real_olts(kind: str, arcs: tuple[int, ...], key: Key) -> None:
    assert layout(kind).decode(arcs) == key


def test_epon_onus_have_their_optics_as_text() -> None:
    here, gone = 0x30000000 | 2 << 19 | 3 << 16 | 17 << 8, 0x90000000 | 5 << 20 | 15 << 16 | 64 << 8
    rows = under(
        f"{OTHER}.1010",
        {
            "1.7.4.1.1": {here: b"tienda", gone: b""},
            "1.7.4.1.5": {here: b"ZTE-F460", gone: b"ZTE-F420"},
            "1.7.4.1.7": {here: b"\x00\x25\x9e\x01\x02\x03", gone: b"\x00\x25\x9e\x01\x02\x04"},
            "1.7.4.1.17": {here: 3, gone: 1},
            "1.7.4.1.27": {here: 21, gone: 22},
            "1.1.1.29.1.4": {here: b"2.31", gone: b"N/A"},
            "1.1.1.29.1.5": {here: b"-21.40 dBm", gone: b""},
            "1.2.1.1.10": {here: 812, gone: 0},
            "5.56.1.1.2": {here: Counter64(5), gone: Counter64(0)},
            "5.56.1.1.3": {here: Counter64(6), gone: Counter64(0)},
        },
    )
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found.onus) == {
        Key(1, 2, 4, 17): {
            "description": "tienda",
            "type": "ZTE-F460",
            "mac": "00:25:9e:01:02:03",
            "state": Said("online", "online"),
            "down_cause": Said("los", "LOS"),
            "onu_tx_dbm": 2.31,
            "onu_rx_dbm": -21.4,
            "distance_m": 812,
            "up_octets": 5,
            "down_octets": 6,
        },
        Key(1, 5, 16, 64): {
            "description": "",
            "type": "ZTE-F420",
            "mac": "00:25:9e:01:02:04",
            "state": Said("power_off", "power off"),
            "down_cause": Said("power_off", "power off"),
            "onu_tx_dbm": None,
            "onu_rx_dbm": None,
            "distance_m": None,
            "up_octets": 0,
            "down_octets": 0,
        },
    }


def test_traffic_of_a_gpon_onu_is_found_by_its_place() -> None:
    """The table of counters has one number for the whole place, as those of EPON have."""
    here = 0x30000000 | 1 << 19 | 0 << 16 | 128 << 8
    found = DECODER.decode(ONUS | {f"{OTHER}.1010.5.56.1.1.2": column({here: Counter64(9)})})
    assert len(found.onus) == 3
    assert by_key(found.onus)[Key(1, 1, 1, 128)] == {**EXPECTED[Key(1, 1, 1, 128)], "up_octets": 9}
    assert found.onus.technologies == ["gpon"] * 3


def test_ports_are_known_by_name_and_cards_by_either_tree() -> None:
    # A C300 whose interfaces are numbered in another way: the names say which port it is.
    card = (1, 1, 4)
    rows = (
        under(
            "1.3.6.1.2.1",
            {
                "31.1.1.1.1": {
                    268435456: b"gpon_1/2/1",
                    268632064: b"gei_1/4/1",
                    268435712: b"gpon-olt_1/2/2",
                },
                "2.2.1.8": {268435456: 1, 268632064: 1, 268435712: 2},
                "1.3": {0: TimeTicks(560758104)},
            },
        )
        | under(
            f"{OTHER}.3.1.13.1",
            {
                "4": {268435456: 4213, 268435712: -80000},
                "10": {268435456: 3291, 268435712: 0},
                "12": {268435456: 41002, 268435712: 65535000},
            },
        )
        | under(
            f"{OTHER}.2.1.1.3.1", {"4": {card: b"GTGH"}, "5": {card: 11}, "9": {card: 12}, "11": {card: 44}}
        )
        | under("1.3.6.1.4.1.3902.1082.10.1.2.4.1", {"4": {card: b"no", (1, 1, 5): b"SMXA"}})
        | {
            f"{OTHER}.2.1.3.13.5.1.1": column({card: 39}),
            "1.3.6.1.4.1.3902.1082.10.10.2.4.11.1.7": column({(1, 1, 2): 3300}),
            f"{GPON}.13.3.1.2": column({(PORT_1, 1): b"ZTEG\x00\x00\x00\x01"}),
            f"{GPON}.50.14.1.1.6": column({(*A, 1): 1}),
        }
    )
    found = DECODER.decode(rows)
    assert by_key(found[Entity.PORT]) == {
        Key(1, 2, 1): {
            "name": "gpon_1/2/1",
            "state": Said("up", "up"),
            "tx_dbm": 4.21,
            "voltage_v": 3.291,
            "temperature_c": 41.002,
        },
        Key(1, 2, 2): {
            "name": "gpon-olt_1/2/2",
            "state": Said("down", "down"),
            "tx_dbm": None,
            "voltage_v": None,
            "temperature_c": None,
        },
    }
    # The names are believed, and that they contradict the numbers is said.
    assert "its name says 1/2/1, its number 1/1/1" in found.problems.first[0].why
    assert by_key(found[Entity.BOARD]) == {
        Key(1, 4): {
            "name": "GTGH",
            "state": Said("offline", "noPower"),
            "cpu_pct": 12.0,
            "memory_pct": 44.0,
            "temperature_c": 39.0,
        },
        Key(1, 5): {
            "name": "SMXA",
            "state": None,
            "cpu_pct": None,
            "memory_pct": None,
            "temperature_c": None,
        },
    }
    assert by_key(found[Entity.FAN]) == {Key(1, extra=2): {"speed_rpm": 3300.0}}
    assert by_key(found[Entity.AUTOFIND]) == {Key(1, 1, 1, extra=1): {"serial": "ZTEG00000001"}}
    assert by_key(found[Entity.UNI]) == {Key(1, 1, 1, 1, 1): {"state": Said("up", "up")}}
    assert found[Entity.OLT].row(0) == {"uptime_s": 5607581}
