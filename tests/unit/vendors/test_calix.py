"""The Calix profile: ONUs by a number that says nothing, power that is linear, and a real OLT."""

import pytest

from facho.vendors import Decoder, Entity, Key, State, builtin
from tests.unit.vendors.facts_cases import case_rows
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import by_key, column, recorded, under

CALIX = builtin()["calix"]
DECODER = Decoder(CALIX)
P = "1.3.6.1.4.1.6321.1.2.4.2"
A, B, C, OFF = 2000001, 2000002, 2000299, 2000300


def test_one_that_does_not_work_and_should_not_is_disabled() -> None:
    states = under(f"{P}.6.1.1", {"3": {A: 1, B: 2, C: 2, OFF: 1}, "4": {A: 1, B: 1, C: 0, OFF: 0}})
    said = DECODER.decode(states).onus.columns["state"]
    online = State("online", "enabled")
    assert said == [online, online, State("disabled", "disabled"), None]


def test_dying_gasp_is_not_read_because_healthy_onus_say_it_too() -> None:
    assert f"{P}.6.1.1.5" not in CALIX.oids()
    assert any("dying gasp" in quirk.what for quirk in CALIX.quirks)


def test_an_onu_whose_id_is_no_number_keeps_the_rest() -> None:
    rows = case_rows("calix_onus")
    found = DECODER.decode(rows | {f"{P}.6.1.1.2": column({A: b"casa-7"})})
    assert by_key(found.onus)[Key(extra=A)] == {
        **by_key(DECODER.decode(rows).onus)[Key(extra=A)],
        "onu_id": None,
    }
    assert "there is no number in 'casa-7'" in found.problems.first[0].why


@pytest.mark.skipif(not (RECORDINGS / "axos_e7-2.snmprec").exists(), reason="the recordings are not here")
def test_a_real_olt_has_206_onus_and_8_ports() -> None:
    found = DECODER.decode(recorded(CALIX, "axos_e7-2.snmprec"))
    assert found.problems.first == []
    onus = by_key(found.onus)
    assert len(onus) == 206
    assert {str(row["state"]) for row in onus.values()} == {"online"}
    assert onus[Key(extra=A)] == by_key(DECODER.decode(case_rows("calix_onus")).onus)[Key(extra=A)]
    assert len({row["onu_id"] for row in onus.values()}) == 206
    assert None not in {value for row in onus.values() for value in row.values()}
    power = [row["onu_rx_dbm"] for row in onus.values() if isinstance(row["onu_rx_dbm"], float)]
    assert (min(power), max(power)) == (-27.7, -14.39)
    ports = found[Entity.PORT]
    assert [str(key) for key in ports.keys] == [f"1/1/{port}" for port in range(1, 9)]
    assert [str(state) for state in ports.columns["state"]] == ["up"] * 2 + ["down"] * 6
    assert ports.columns["tx_dbm"] == [3.61, 3.77, None, None, None, None, None, None]
    assert ports.columns["in_octets"][:2] == [169557321240, 2895674310095]
    names = {f"1/{card}/{kind}{port}" for card in (1, 2) for kind in "xq" for port in range(1, 5)}
    assert set(found[Entity.UPLINK].columns["name"]) == names
    assert found[Entity.BOARD].columns["name"] == ["XG801", None]
    assert found[Entity.OLT].columns["serial"] == ["071710980000"]
