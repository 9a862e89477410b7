"""The Calix profile: ONUs by a number that says nothing, power that is linear, and a real OLT."""

import pytest

from facho.snmp.values import TimeTicks
from facho.vendors import Decoded, Decoder, Entity, Key, Said, builtin
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import by_key, column, recorded, under

CALIX = builtin()["calix"]
DECODER = Decoder(CALIX)
P = "1.3.6.1.4.1.6321.1.2.4.2"
A, B, C, OFF = 2000001, 2000002, 2000299, 2000300
ONUS = under(
    f"{P}.6.1.1",
    {
        "2": {A: b"316", B: b"318", C: b"964", OFF: b"965"},
        "3": {A: 1, B: 1, C: 2, OFF: 0},
        "4": {A: 1, B: 1, C: 2, OFF: 0},
        "5": {A: 1, B: 1, C: 1, OFF: -1},
        "6": {A: 301, B: 39, C: 109, OFF: 0},
        "7": {A: 43032, B: 43491, C: 44157, OFF: 0},
        "8": {A: 537, B: 186, C: 234, OFF: 0},
        "9": {A: b"23.2.0.0.68", B: b"23.2.0.0.55", C: b"23.2.0.0.68", OFF: b""},
        "10": {A: b"BVMGZ10ARB", B: b"BVMGZ10ARB", C: b"BVMGZ10ARB", OFF: b""},
    },
)
EXPECTED: dict[int, dict[str, object]] = {
    A: {
        "onu_id": 316,
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "enabled"),
        "onu_rx_dbm": -15.21,
        "onu_tx_dbm": 6.34,
        "olt_rx_dbm": -12.7,
        "sw_version": "23.2.0.0.68",
        "model": "BVMGZ10ARB",
    },
    B: {
        "onu_id": 318,
        "admin_state": Said("enabled", "enabled"),
        "state": Said("online", "enabled"),
        "onu_rx_dbm": -24.09,
        "onu_tx_dbm": 6.38,
        "olt_rx_dbm": -17.3,
        "sw_version": "23.2.0.0.55",
        "model": "BVMGZ10ARB",
    },
    C: {
        "onu_id": 964,
        "admin_state": Said("disabled", "disabled"),
        "state": Said("unknown", "degraded"),
        "onu_rx_dbm": -19.63,
        "onu_tx_dbm": 6.45,
        "olt_rx_dbm": -16.31,
        "sw_version": "23.2.0.0.68",
        "model": "BVMGZ10ARB",
    },
    OFF: {
        "onu_id": 965,
        "admin_state": Said("unknown", "unknown"),
        "state": None,
        "onu_rx_dbm": None,
        "onu_tx_dbm": None,
        "olt_rx_dbm": None,
        "sw_version": "",
        "model": "",
    },
}


@pytest.fixture(scope="module")
def decoded() -> Decoded:
    return DECODER.decode(ONUS)


@pytest.mark.parametrize("index", EXPECTED)
def test_every_field_of_an_onu_is_read(decoded: Decoded, index: int) -> None:
    assert by_key(decoded.onus)[Key(extra=index)] == EXPECTED[index]


def test_nothing_of_it_is_reported_and_no_fact_of_the_profile_is_untested(decoded: Decoded) -> None:
    assert decoded.problems.first == []
    assert [str(key) for key in decoded.onus.keys] == ["2000001", "2000002", "2000299", "2000300"]
    (onus,) = (table for table in CALIX.tables if table.entity is Entity.ONU)
    assert {column.fact for column in onus.columns} == set(EXPECTED[A])


def test_one_that_does_not_work_and_should_not_is_disabled() -> None:
    states = under(f"{P}.6.1.1", {"3": {A: 1, B: 2, C: 2, OFF: 1}, "4": {A: 1, B: 1, C: 0, OFF: 0}})
    said = DECODER.decode(states).onus.columns["state"]
    online = Said("online", "enabled")
    assert said == [online, online, Said("disabled", "disabled"), None]


def test_dying_gasp_is_not_read_because_healthy_onus_say_it_too() -> None:
    assert f"{P}.6.1.1.5" not in CALIX.oids()
    assert any("dying gasp" in quirk.what for quirk in CALIX.quirks)


def test_an_onu_whose_id_is_no_number_keeps_the_rest() -> None:
    found = DECODER.decode(ONUS | {f"{P}.6.1.1.2": column({A: b"casa-7"})})
    assert by_key(found.onus)[Key(extra=A)] == {**EXPECTED[A], "onu_id": None}
    assert "there is no number in 'casa-7'" in found.problems.first[0].why


def test_ports_cards_and_the_olt_are_read() -> None:
    up, off, empty, uplink = 110010105, 110010107, 110010112, 110010120
    rows = under(
        P,
        {
            "4.2.1.2": {up: b"1/1/xp1", off: b"1/1/xp3", empty: b"1/2/gp8", uplink: b"1/1/q4"},
            "4.2.1.3": {up: 1, off: 2, empty: 0, uplink: 1},
            "4.2.1.4": {up: 37695, off: 36031, empty: 0},
            "4.2.1.5": {up: 12478, off: 0, empty: 0},
            "4.2.1.6": {up: 22956, off: 1, empty: 0},
            "4.2.1.7": {up: 586, off: 1, empty: 0},
            "4.2.1.8": {up: 3332, off: 3351, empty: 0},
            "4.1.1.5": {(1, 1): 16, (1, 2): 0},
            "4.1.1.6": {(1, 1): b"CR-MBAXOS2230-1", (1, 2): b""},
            "4.1.1.7": {(1, 1): b"472110040000", (1, 2): b""},
            "5.10": {0: b"071710980000"},
        },
    ) | under("1.3.6.1.2.1.1", {"3": {0: TimeTicks(772480257)}})
    found = DECODER.decode(rows)
    assert found.problems.first == []
    assert by_key(found[Entity.PORT]) == {
        Key(1, 1, 1): {
            "name": "1/1/xp1",
            "state": Said("up", "linkUp"),
            "temperature_c": 37.695,
            "bias_ma": 12.478,
            "tx_dbm": 3.61,
            "rx_dbm": -12.32,
            "voltage_v": 3.332,
        },
        # Its laser is off.
        Key(1, 1, 3): {
            "name": "1/1/xp3",
            "state": Said("down", "linkDown"),
            "temperature_c": 36.031,
            "bias_ma": None,
            "tx_dbm": None,
            "rx_dbm": None,
            "voltage_v": 3.351,
        },
        Key(1, 2, 8): {
            "name": "1/2/gp8",
            "state": None,
            "temperature_c": None,
            "bias_ma": None,
            "tx_dbm": None,
            "rx_dbm": None,
            "voltage_v": None,
        },
    }
    assert by_key(found[Entity.BOARD]) == {
        Key(1, 1): {"name": "XG801", "sw_version": "CR-MBAXOS2230-1", "serial": "472110040000"},
        Key(1, 2): {"name": None, "sw_version": "", "serial": ""},
    }
    assert found[Entity.OLT].row(0) == {"uptime_s": 7724803, "serial": "071710980000"}


@pytest.mark.skipif(not (RECORDINGS / "axos_e7-2.snmprec").exists(), reason="the recordings are not here")
def test_a_real_olt_has_206_onus_and_8_ports() -> None:
    found = DECODER.decode(recorded(CALIX, "axos_e7-2.snmprec"))
    assert found.problems.first == []
    onus = by_key(found.onus)
    assert len(onus) == 206
    assert {str(row["state"]) for row in onus.values()} == {"online"}
    assert onus[Key(extra=A)] == EXPECTED[A]
    assert len({row["onu_id"] for row in onus.values()}) == 206
    assert None not in {value for row in onus.values() for value in row.values()}
    power = [row["onu_rx_dbm"] for row in onus.values() if isinstance(row["onu_rx_dbm"], float)]
    assert (min(power), max(power)) == (-27.7, -14.39)
    ports = found[Entity.PORT]
    assert [str(key) for key in ports.keys] == [f"1/1/{port}" for port in range(1, 9)]
    assert [str(state) for state in ports.columns["state"]] == ["up"] * 2 + ["down"] * 6
    assert ports.columns["tx_dbm"] == [3.61, 3.77, None, None, None, None, None, None]
    assert found[Entity.BOARD].columns["name"] == ["XG801", None]
    assert found[Entity.OLT].columns["serial"] == ["071710980000"]
