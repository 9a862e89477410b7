"""The C-Data GPON profile: two ways to pack an index, two images, and credentials that stay there."""

import pytest

from facho.vendors import Decoder, Entity, Key, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import under

CDATA = builtin()["cdata_gpon"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.17409.2"
D = "1.3.6.1.4.1.34592.1"


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (4718593, Key(0, 0, 1, 1)),
        (4722690, Key(0, 0, 2, 2)),
        (0x480000 | 63 << 12 | 4095, Key(0, 0, 64, 4095)),
        # Older firmware, whose ports are named only by its interfaces.
        (0x01000105, Key(0, 0, 1, 5)),
        (0x01000705, Key(0, 0, 7, 5)),
    ],
)
def test_indices_seen_on_real_olts(number: int, key: Key) -> None:
    onu = next(index for index in CDATA.indexes if index.name == "onu")
    assert compile_index(onu).decode((number,)) == key


@pytest.mark.parametrize("number", [0x480000, 0x140001, 0x02000105, 5, 0x01010105])
def test_what_is_no_onu_is_reported(number: int) -> None:
    found = DECODER.decode(under(f"{P}.8.4.1.1", {"7": {number: 1}}))
    assert len(found.onus) == 0
    assert len(found.problems) == 1


@pytest.mark.parametrize(("raw", "celsius"), [(305, 30.5), (20, 20.0), (99, 99.0), (100, 10.0)])
def test_temperatures_are_tenths_or_whole_degrees(raw: int, celsius: float) -> None:
    found = DECODER.decode(under(f"{D}.3.100.1.8", {"6": {0: raw}}))
    assert found[Entity.OLT].columns["temperature_c"] == [celsius]


def test_what_may_hold_credentials_is_never_read() -> None:
    never = [each.oid for each in CDATA.request_rules.never]
    assert {f"{P}.8.4.3.1.13", f"{P}.8.4.3.1.14"} <= set(never)
    assert not any(f"{oid}.".startswith(f"{each}.") for oid in CDATA.oids() for each in never)
