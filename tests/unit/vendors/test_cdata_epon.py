"""The C-Data FD12xx profile: ports that are counted after the uplinks, and known by their names."""

import pytest

from facho.snmp.values import Value
from facho.vendors import Decoder, builtin
from tests.unit.vendors.rows import column, under

CDATA = builtin()["cdata_epon"]
DECODER = Decoder(CDATA)
P = "1.3.6.1.4.1.17409.2.3"
IF = "1.3.6.1.2.1"


@pytest.mark.parametrize(
    ("names", "place"),
    [
        # Models with six, twelve and ten uplinks; one whose ifIndex is the count; one that tells no names.
        ({0x01000700: b"pon0/0/1"}, {0x01000705: "0/0/1:5"}),
        ({0x01000D00: b"pon0/0/1"}, {16780549: "0/0/1:5"}),
        ({0x01000B00: b"pon0/0/1", 0x01001A00: b"pon0/0/16"}, {0x01001A05: "0/0/16:5"}),
        ({7: b"pon0/0/1"}, {0x01000705: "0/0/1:5"}),
        ({}, {0x01000705: "0/0/7:5"}),
    ],
)
def test_the_name_of_the_port_tells_where_an_onu_is(
    names: dict[tuple[int, ...] | int, Value], place: dict[int, str]
) -> None:
    ((number, written),) = place.items()
    rows = {f"{IF}.31.1.1.1.1": column(names), **under(f"{P}.4.1.1", {"8": {number: 1}})}
    found = DECODER.decode(rows)
    assert [str(key) for key in found.onus.keys] == [written]
    assert found.problems.first == []
