"""The Datacom profile: ONUs whose numbers say nothing, and whose names say everything."""

import pytest

from facho.vendors import Decoder, Key, State, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import under

PROFILE = builtin()["datacom"]
DECODER = Decoder(PROFILE)
TREE = "1.3.6.1.4.1.3709.3.6"
A = 117440512


@pytest.mark.parametrize("raw", [b"", b"N/A", b"-", b"--", b"0.00", b"0"])
def test_power_that_is_not_known_is_no_number(raw: bytes) -> None:
    rows = under(f"{TREE}.2.1.1", {"3": {A: b"gpon-1/1/1-onu-0"}, "21": {A: raw}, "22": {A: raw}})
    found = DECODER.decode(rows)
    assert found.onus.row(0) == {"onu_tx_dbm": None, "onu_rx_dbm": None}
    assert found.problems.first == []


def test_a_cause_without_a_word_is_kept_as_the_olt_says_it() -> None:
    rows = under(f"{TREE}.2.1.1", {"3": {A: b"gpon-1/1/1-onu-0"}, "31": {A: b"Rogue"}})
    found = DECODER.decode(rows)
    assert found.onus.columns["down_cause"] == [State("unknown", "Rogue")]
    assert len(found.problems) == 1


def test_a_port_is_known_by_its_number_too() -> None:
    index = compile_index(next(index for index in PROFILE.indexes if index.name == "port"))
    assert index.decode((101744641,)) == Key(1, 1, 1)
