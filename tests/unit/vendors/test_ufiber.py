"""The UFiber profile: ONUs known by the serial in their index, with the PON port as a column."""

import pytest

from facho.snmp.values import Counter64, TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.rows import by_key, column, under

UFIBER = builtin()["ufiber"]
DECODER = Decoder(UFIBER)
P = "1.3.6.1.4.1.41112.1.5"


def index(serial: bytes) -> tuple[int, ...]:
    """As in .12.85.66.78.84.50.48.55.51.49.56.56.56 for UBNT20731888."""
    return len(serial), *serial


A, B, C, OFF = map(index, (b"UBNT20731888", b"UBNT83e923ae", b"HWTC1234ABCD", b"UBNT00000007"))
ONUS = under(
    f"{P}.6.2.1",
    {
        "1": {A: b"UBNT20731888", B: b"UBNT83e923ae", C: b"HWTC1234ABCD", OFF: b"UBNT00000007"},
        "2": {A: b"casa 12", B: b"e4:38:83:e9:23:ae", C: "Ñuñoa".encode(), OFF: b"casa 7"},
        "3": {A: 1, B: 1, C: 1, OFF: 2},
        "4": {A: b"UF-LOCO", B: b"UISP-FIBER-XGS", C: b"", OFF: b"UF-NANO"},
        "5": {A: 3, B: 1, C: 8, OFF: 0},
        "6": {A: TimeTicks(69370600), B: TimeTicks(1), C: TimeTicks(1), OFF: TimeTicks(0)},
        "7": {A: TimeTicks(69373500), B: TimeTicks(250), C: TimeTicks(99), OFF: TimeTicks(0)},
        "8": {A: 594, B: 231, C: -50, OFF: 0},
        "9": {A: -1142, B: -2350, C: -1999, OFF: 0},
        "10": {A: Counter64(2**40), B: Counter64(0), C: Counter64(1), OFF: Counter64(0)},
        "11": {A: Counter64(2**41), B: Counter64(64), C: Counter64(2), OFF: Counter64(0)},
    },
)  # fmt: skip
EXPECTED: dict[str, dict[str, object]] = {
    "UBNT20731888": {
        "serial": "UBNT20731888",
        "name": "casa 12",
        "state": Said("online", "online"),
        "model": "UF-LOCO",
        "port": 3,
        "uptime_s": 693735,
        "onu_tx_dbm": 5.94,
        "onu_rx_dbm": -11.42,
        "up_octets": 2**40,
        "down_octets": 2**41,
    },
    "UBNT83e923ae": {
        "serial": "UBNT83E923AE",
        "name": "e4:38:83:e9:23:ae",
        "state": Said("online", "online"),
        "model": "UISP-FIBER-XGS",
        "port": 1,
        "uptime_s": 2,
        "onu_tx_dbm": 2.31,
        "onu_rx_dbm": -23.5,
        "up_octets": 0,
        "down_octets": 64,
    },
    "HWTC1234ABCD": {
        "serial": "HWTC1234ABCD",
        "name": "Ñuñoa",
        "state": Said("online", "online"),
        "model": "",
        "port": 8,
        "uptime_s": 1,
        "onu_tx_dbm": -0.5,
        "onu_rx_dbm": -19.99,
        "up_octets": 1,
        "down_octets": 2,
    },
    # It is nowhere while it is offline; where it was is kept.
    "UBNT00000007": {
        "serial": "UBNT00000007",
        "name": "casa 7",
        "state": Said("offline", "offline"),
        "model": "UF-NANO",
        "port": None,
        "uptime_s": None,
        "onu_tx_dbm": None,
        "onu_rx_dbm": None,
        "up_octets": 0,
        "down_octets": 0,
    },
}


@pytest.fixture(scope="module")
def decoded() -> Decoded:
    return DECODER.decode(ONUS)


@pytest.mark.parametrize("serial", EXPECTED)
def test_every_field_of_an_onu_is_read(decoded: Decoded, serial: str) -> None:
    assert by_key(decoded.onus)[Key(extra=serial)] == EXPECTED[serial]


def test_nothing_of_it_is_reported_and_no_fact_of_the_profile_is_untested(decoded: Decoded) -> None:
    assert decoded.problems.first == []
    assert [str(key) for key in decoded.onus.keys] == list(EXPECTED)
    (onus,) = (table for table in UFIBER.tables if table.entity is Entity.ONU)
    assert {column.fact for column in onus.columns} == set(EXPECTED["UBNT20731888"])
    assert [column.fact for column in onus.columns if column.keep_last] == ["port"]


def test_the_index_of_a_row_is_a_length_and_a_text() -> None:
    found = DECODER.decode({f"{P}.6.2.1.3": column({A: 1, 7: 1, (12, 85): 2, (2, 85, 7): 1})})
    assert [str(key) for key in found.onus.keys] == ["UBNT20731888"]
    assert {each.index for each in found.problems.first} == {"7", "12.85", "2.85.7"}


def test_ports_thermometers_fans_and_the_product_are_read() -> None:
    rows = under(
        P,
        {
            "7.2.1.2": {0: b"pon1", 1: b"pon2", 8: b"sfp1"},
            "7.2.1.3": {0: 1, 1: 2, 8: 1},
            "7.2.1.6": {0: Counter64(0), 1: Counter64(128), 8: Counter64(1230)},
            "7.2.1.7": {0: Counter64(128), 1: Counter64(0), 8: Counter64(1169690678)},
            "4.2.1.2": {1: 1, 2: 2, 3: 3, 4: 0},
            # Thousandths on one model, degrees on the other.
            "4.2.1.3": {1: 47250, 2: 37, 3: -5, 4: 1000},
            "5.2.1.3": {1: 4215, 2: 0},
            "1.1": {0: b"UFiber OLT"},
            "1.2": {0: b"B4FBE41B4808"},
            "1.3": {0: b"v4.4.2"},
        },
    ) | under("1.3.6.1.2.1.1", {"1": {0: b"EdgeOS v4.4.2"}, "5": {0: b"olt-sur"}})
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(port=1): {"name": "pon1", "state": Said("up", "up"), "out_octets": 0, "in_octets": 128},
        Key(port=2): {"name": "pon2", "state": Said("down", "down"), "out_octets": 128, "in_octets": 0},
    }
    assert by_key(found[Entity.BOARD]) == {
        Key(extra=1): {"name": "board", "temperature_c": 47.25},
        Key(extra=2): {"name": "cpu", "temperature_c": 37.0},
        Key(extra=3): {"name": "power", "temperature_c": -5.0},
        Key(extra=4): {"name": "other", "temperature_c": 1.0},
    }
    assert by_key(found[Entity.FAN]) == {
        Key(extra=1): {"speed_rpm": 4215.0},
        Key(extra=2): {"speed_rpm": 0.0},
    }
    assert found[Entity.OLT].row(0) == {
        "description": "EdgeOS v4.4.2",
        "name": "olt-sur",
        "model": "UFiber OLT",
        "serial": "B4FBE41B4808",
        "version": "v4.4.2",
    }
