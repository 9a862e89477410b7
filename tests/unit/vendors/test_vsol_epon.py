"""The V-SOL EPON profile: ONUs by port and number, optics as text, and a real V1600D."""

import pytest

from facho.vendors import Decoder, Entity, Key, State, builtin
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import by_key, column, recorded, under

VSOL = builtin()["vsol_epon"]
DECODER = Decoder(VSOL)
P = "1.3.6.1.4.1.37950.1.1.5"
IF = "1.3.6.1.2.1"
A, B = (1, 1), (1, 2)


@pytest.mark.parametrize("marker", [b"-", b"'-'", b"-65535", b"", b"N/A", b"--", b"0.00 mW (-65535 dBm)"])
def test_what_means_no_power_is_none(marker: bytes) -> None:
    found = DECODER.decode(under(f"{P}.12.2.1.8.1", {"6": {A: marker}, "7": {A: marker}}))
    assert by_key(found.onus) == {Key(None, 0, 1, 1): {"onu_tx_dbm": None, "onu_rx_dbm": None}}
    assert found.problems.first == []


def test_firmware_without_the_table_of_onus_tells_their_state_as_that_of_interfaces() -> None:
    names = column({8: b"EPON0/1:1", 9: b"EPON0/1:2", 10: b"EPON0/1:3 casa"})
    found = DECODER.decode({f"{IF}.31.1.1.1.1": names, f"{IF}.2.2.1.8": column({8: 1, 9: 2, 10: 7})})
    assert [(str(key), row["state"]) for key, row in by_key(found.onus).items()] == [
        ("0/1:1", State("online", "up")),
        ("0/1:2", State("offline", "down")),
        ("0/1:3", State("offline", "lowerLayerDown")),
    ]


def test_the_table_of_those_that_are_online_says_what_the_other_leaves_out() -> None:
    rows = under(
        f"{P}.12.1",
        {"25.1.9": {A: b"a", B: b"b"}, "29.1.4": {A: 1}, "29.1.5": {A: b"00:6d:61:b4:b4:71"}},
    )
    found = DECODER.decode(rows)
    assert found.onus.columns["state"] == [State("online", "online"), None]
    assert found.onus.columns["mac"] == ["00:6d:61:b4:b4:71", None]


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
    assert found.onus.columns["state"] == [State("online", "up")] * 16
    # The recording has no more: what was not read is missing, and no ONU with it.
    assert set(found.onus.columns) == {*RECORDED_FACTS, "state"}
    ports = by_key(found[Entity.PORT])
    assert {str(key): (row["name"], str(row["state"]), row["tx_dbm"]) for key, row in ports.items()} == {
        "0/1": ("EPON0/1", "up", 6.56),
        "0/2": ("EPON0/2", "down", 6.66),
    }
    assert found[Entity.UPLINK].columns["name"] == ["GE0/1", "GE0/2", "GE0/3", "GE0/4"]
    assert [str(state) for state in found[Entity.UPLINK].columns["state"]] == ["down", "down", "up", "down"]
    olt = found[Entity.OLT].row(0)
    assert (olt["model"], olt["version"], olt["cpu_pct"], olt["memory_pct"], olt["temperature_c"]) == (
        "V1600D2", "V2.03.74R", 26.0, 18.0, 40.0
    )  # fmt: skip
