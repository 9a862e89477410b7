"""The C-Data FD11xx profile: card, port and ONU as they are, and power that is linear."""

import pytest

from facho.snmp.values import TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.rows import by_key, under

CDATA = builtin()["cdata_fd11"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.34592.1.3"
A, B, C, OFF = (1, 1, 1), (1, 1, 64), (1, 8, 2), (1, 2, 7)
ONUS = under(
    f"{P}.4.1.1",
    {
        "4": {A: b"casa\0\0", B: b"tienda", C: b"", OFF: b"casa 7"},
        "5": {A: b"V1.0", B: b"B", C: b"C", OFF: b""},
        "6": {A: b"V2.0", B: b"V1", C: b"", OFF: b""},
        "7": {A: b"\0\xd3\x9f\x3a\x0e\xb8", B: b"00:D3:9F:00:00:01", C: b"\0\xd3\x9f\0\0\2", OFF: bytes(6)},
        "11": {A: 3, B: 4, C: 5, OFF: 2},
        "13": {A: 1240, B: 17, C: 0, OFF: -1},
        "36": {A: 100, B: 39, C: 301, OFF: 0},
        "37": {A: 20000, B: 17783, C: 10000, OFF: 0},
        "38": {A: 33120, B: 32800, C: 33000, OFF: 0},
        "40": {A: 11040, B: -384, C: 0},
    },
)
EXPECTED: dict[Key, dict[str, object]] = {
    Key(None, 1, 1, 1): {
        "name": "casa",
        "hw_version": "V1.0",
        "sw_version": "V2.0",
        "mac": "00:d3:9f:3a:0e:b8",
        "state": Said("online", "online"),
        "distance_m": 1240,
        "onu_rx_dbm": -20.0,
        "onu_tx_dbm": 3.01,
        "voltage_v": 3.312,
        "temperature_c": 43.125,
    },
    Key(None, 1, 1, 64): {
        "name": "tienda",
        "hw_version": "B",
        "sw_version": "V1",
        "mac": "00:d3:9f:00:00:01",
        "state": Said("online", "normal"),
        "distance_m": 17,
        "onu_rx_dbm": -24.09,
        "onu_tx_dbm": 2.5,
        "voltage_v": 3.28,
        "temperature_c": -1.5,
    },
    Key(None, 1, 8, 2): {
        "name": "",
        "hw_version": "C",
        "sw_version": "",
        "mac": "00:d3:9f:00:00:02",
        "state": Said("unknown", "abnormal"),
        "distance_m": None,
        "onu_rx_dbm": -15.21,
        "onu_tx_dbm": 0.0,
        "voltage_v": 3.3,
        "temperature_c": 0.0,
    },
    Key(None, 1, 2, 7): {
        "name": "casa 7",
        "hw_version": "",
        "sw_version": "",
        "mac": None,
        "state": Said("offline", "offline"),
        "distance_m": None,
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "voltage_v": None,
        "temperature_c": None,
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
    assert [str(key) for key in decoded.onus.keys] == ["1/1:1", "1/1:64", "1/8:2", "1/2:7"]
    facts = {each.fact for table in CDATA.tables if table.entity is Entity.ONU for each in table.columns}
    assert facts == set(EXPECTED[Key(None, 1, 1, 1)])


@pytest.mark.parametrize(
    ("raw", "state"), [(1, "offline"), (2, "offline"), (3, "online"), (4, "online"), (5, "unknown")]
)
def test_an_onu_that_is_not_present_is_offline(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{P}.4.1.1", {"11": {A: raw}})).onus.columns["state"]
    assert str(said) == state


def test_ports_and_health_are_read() -> None:
    found = DECODER.decode(
        under(P, {"3.1.1.3": {(1, 1): 3, (1, 2): 2, (1, 3): 1}, "1.1.8": {0: 17}, "1.3.4": {0: 41}})
        | under("1.3.6.1.2.1.1", {"1": {0: b"FD1108S"}, "3": {0: TimeTicks(100)}, "5": {0: b"olt"}})
    )
    assert found.problems.first == []
    assert {str(key): row for key, row in by_key(found[Entity.PORT]).items()} == {
        "1/1": {"state": Said("up", "up")},
        "1/2": {"state": Said("down", "down")},
        "1/3": {"state": Said("unknown", "unknown")},
    }
    assert found[Entity.OLT].row(0) == {
        "description": "FD1108S",
        "uptime_s": 1,
        "name": "olt",
        "cpu_pct": 17.0,
        "temperature_c": 41.0,
    }
