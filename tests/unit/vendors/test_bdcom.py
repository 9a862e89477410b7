"""The BDCOM profile: ONUs that are interfaces with a name, of GPON and of EPON, and a real OLT."""

from collections import Counter

import pytest

from facho.vendors import Decoded, Decoder, Entity, State, builtin
from tests.unit.vendors.facts_cases import case_rows
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import Cells, by_key, recorded, under

BDCOM = builtin()["bdcom"]
DECODER = Decoder(BDCOM)
P = "1.3.6.1.4.1.3320"
IF_NAME = "31.1.1.1.1"
# Interfaces in the order in which their ONUs registered.
A, B, OFF, LOST, UPLINK, PORT_2, PORT_4 = 1468, 1180, 1392, 1393, 97, 111, 113

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


def onus(decoded: Decoded) -> dict[str, dict[str, object]]:
    return {str(key): row for key, row in by_key(decoded.onus).items()}


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
HERE = 40
MAC = b"\x00\x25\x9e\x01\x02\x03"
BY_MAC = (12, *MAC)


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
    index = HERE if column == "10.1.1.26" else BY_MAC
    rows = under(f"{P}.101", {"10.1.1.3": {HERE: MAC}, column: {index: raw}})
    found = DECODER.decode(rows | under("1.3.6.1.2.1", {IF_NAME: EPON_NAMES}))
    fact = "state" if index == HERE else "down_cause"
    assert [str(each) for each in found.onus.columns[fact]] == [said]
    assert len(found.problems) == 0


def test_a_name_for_an_onu_that_is_not_there_is_reported() -> None:
    stranger = under(f"{P}.101", {"11.1.1.4": {(12, 1, 2, 3, 4, 5, 6): b"who?"}})
    found = DECODER.decode(case_rows("bdcom_epon") | stranger)
    assert "no onu has 01:02:03:04:05:06" in found.problems.first[0].why
    assert len(found.onus) == 3


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
        "state": State("online", "up"),
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
    uplinks = found[Entity.UPLINK]
    assert [key.extra for key in uplinks.keys] == list(range(97, 109))
    assert uplinks.row(0) == {
        "name": "GigaEthernet0/1",
        "description": "snr1/0/3",
        "admin_state": State("enabled", "up"),
        "state": State("up", "up"),
        "speed_mbps": 1000,
        "in_octets": 29481237537808,
        "out_octets": 18794995591697,
        "in_discards": 0,
        "in_errors": 0,
        "out_discards": 0,
        "out_errors": 0,
    }
