"""The Datacom profile: ONUs whose numbers say nothing, and whose names say everything."""

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import by_key, column, under

PROFILE = builtin()["datacom"]
DECODER = Decoder(PROFILE)
TREE = "1.3.6.1.4.1.3709.3.6"
A, B, OFF, UPLINK = 117440512, 117440768, 117506049, 50331649

ONUS = under(
    f"{TREE}.2.1.1",
    {
        "3": {
            A: b"gpon-1/1/1-onu-0",
            B: b"gpon-1/1/1-onu-127",
            OFF: b"gpon-1/1/16-onu-7",
            UPLINK: b"ten-gigabit-ethernet-1/1/1",
        },
        "5": {A: "Peñaflor 3".encode(), B: b"N/A", OFF: b"casa 7"},
        "6": {A: 1, B: 2, OFF: 1},
        "7": {A: 1, B: 1, OFF: 2, UPLINK: 1},
        "8": {A: Counter64(5), B: Counter64(7), OFF: Counter64(0)},
        "15": {A: Counter64(6), B: Counter64(8), OFF: Counter64(0)},
        "21": {A: b"2.31", B: b"1.90 dBm", OFF: b"0.00"},
        "22": {A: b"-21.45", B: b"-27.00", OFF: b"N/A"},
        "23": {A: b"norte", B: b"", OFF: b"N/A"},
        "31": {A: b"", B: b"LOSi", OFF: b"DGi"},
        "38": {A: b"DACM0000002A", B: b"HWTC41424344", OFF: b"N/A"},
    },
)

EXPECTED: dict[Key, dict[str, object]] = {
    Key(1, 1, 1, 0): {
        "name": "Peñaflor 3",
        "admin_state": Said("enabled", "up"),
        "state": Said("online", "up"),
        "up_octets": 5,
        "down_octets": 6,
        "description": "norte",
        "down_cause": None,
        "serial": "DACM0000002A",
        "onu_tx_dbm": 2.31,
        "onu_rx_dbm": -21.45,
    },
    Key(1, 1, 1, 127): {
        "name": None,
        "admin_state": Said("disabled", "down"),
        "state": Said("online", "up"),
        "up_octets": 7,
        "down_octets": 8,
        "description": "",
        "down_cause": Said("los", "LOSi"),
        "serial": "HWTC41424344",
        "onu_tx_dbm": 1.9,
        "onu_rx_dbm": -27.0,
    },
    Key(1, 1, 16, 7): {
        "name": "casa 7",
        "admin_state": Said("enabled", "up"),
        "state": Said("offline", "down"),
        "up_octets": 0,
        "down_octets": 0,
        "description": None,
        "down_cause": Said("power_off", "DGi"),
        "serial": None,
        "onu_tx_dbm": None,
        "onu_rx_dbm": None,
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
    assert list(map(str, decoded.onus.keys)) == ["1/1/1:0", "1/1/1:127", "1/1/16:7"]
    facts = {each.fact for table in PROFILE.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(1, 1, 1, 0)])


@pytest.mark.parametrize("raw", [b"", b"N/A", b"-", b"--", b"0.00", b"0"])
def test_power_that_is_not_known_is_no_number(raw: bytes) -> None:
    rows = under(f"{TREE}.2.1.1", {"3": {A: b"gpon-1/1/1-onu-0"}, "21": {A: raw}, "22": {A: raw}})
    found = DECODER.decode(rows)
    assert found.onus.row(0) == {"onu_tx_dbm": None, "onu_rx_dbm": None}
    assert found.problems.first == []


def test_a_cause_without_a_word_is_kept_as_the_olt_says_it() -> None:
    rows = under(f"{TREE}.2.1.1", {"3": {A: b"gpon-1/1/1-onu-0"}, "31": {A: b"Rogue"}})
    found = DECODER.decode(rows)
    assert found.onus.columns["down_cause"] == [Said("unknown", "Rogue")]
    assert len(found.problems) == 1


def test_ports_are_known_by_name_or_by_their_number() -> None:
    port, other, uplink = 101744641, 101744642, 50331649
    index = compile_index(next(index for index in PROFILE.indexes if index.name == "port"))
    assert index.decode((port,)) == Key(1, 1, 1)
    rows = under(
        "1.3.6.1.2.1",
        {
            "31.1.1.1.1": {
                port: b"gpon-1/1/1",
                other: b"gpon-1/1/2",
                uplink: b"gigabit-ethernet-1/1/1",
                A: b"gpon-1/1/1-onu-0",
            },
            "2.2.1.8": {port: 1, other: 2, uplink: 1, A: 1},
            "1.1": {0: b"DM4610 - 8xGPON + 4xGX + 2xXS, DmOS 5.8.0"},
            "1.3": {0: TimeTicks(72420617)},
            "1.5": {0: b"olt-7"},
        },
    ) | {f"{TREE}.8.2.1.1.3": column({(port, 1): 512, (other, 1): 487, (uplink, 1): -210})}
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(1, 1, 1): {"name": "gpon-1/1/1", "state": Said("up", "up"), "tx_dbm": 5.12},
        Key(1, 1, 2): {"name": "gpon-1/1/2", "state": Said("down", "down"), "tx_dbm": 4.87},
    }
    assert found[Entity.OLT].row(0) == {
        "description": "DM4610 - 8xGPON + 4xGX + 2xXS, DmOS 5.8.0",
        "uptime_s": 724206,
        "name": "olt-7",
    }
