"""The UFiber profile: ONUs known by the serial in their index, with the PON port as a column."""

from facho.vendors import Decoder, Entity, builtin
from tests.unit.vendors.rows import column

UFIBER = builtin()["ufiber"]
DECODER = Decoder(UFIBER)
P = "1.3.6.1.4.1.41112.1.5"


def index(serial: bytes) -> tuple[int, ...]:
    """As in .12.85.66.78.84.50.48.55.51.49.56.56.56 for UBNT20731888."""
    return len(serial), *serial


A = index(b"UBNT20731888")


def test_the_index_of_a_row_is_a_length_and_a_text() -> None:
    found = DECODER.decode({f"{P}.6.2.1.3": column({A: 1, 7: 1, (12, 85): 2, (2, 85, 7): 1})})
    assert [str(key) for key in found.onus.keys] == ["UBNT20731888"]
    assert {each.index for each in found.problems.first} == {"7", "12.85", "2.85.7"}


def test_the_port_of_an_onu_is_kept_while_it_is_not_told() -> None:
    (onus,) = (table for table in UFIBER.tables if table.entity is Entity.ONU)
    assert [column.fact for column in onus.columns if column.keep_last] == ["port"]
