"""Which pages are worth a compiled pattern, and which are read as they are."""

from __future__ import annotations

import pytest

from facho.core.oid_limits import LARGEST_ARC
from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.message import encode_binding
from facho.snmp.page import ColumnReader, Shapes
from facho.snmp.values import Oid, encode_value

COLUMN = Oid.parse("1.3.6.1.4.1.99999.3").content


def rows(column: bytes, index: bytes, count: int = 3) -> bytes:
    return b"".join(
        encode_binding(column + bytes((number,)) + index, encode_value(5)) for number in range(count)
    )


def test_a_shape_is_compiled_when_it_has_come_often() -> None:
    shapes = Shapes()
    for _ in range(4):
        assert len(ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01")).indexes) == 3
    assert shapes.compiled == 0
    for _ in range(2):
        assert len(ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01")).indexes) == 3
    assert shapes.compiled == 1


def test_a_device_with_ever_other_shapes_has_few_of_them_compiled() -> None:
    """However many walks of the column it answers."""
    shapes = Shapes()
    for _ in range(12):
        reader = ColumnReader(COLUMN, shapes)
        for size in range(1, 60):
            assert len(reader.read(rows(COLUMN, b"\x01" * size)).indexes) == 3
    assert shapes.compiled == 16


def test_a_column_keeps_its_compiled_shapes_when_others_come() -> None:
    shapes = Shapes()
    for _ in range(6):
        ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01"))
    first = shapes.find(COLUMN, 2, strings=False)
    for _ in range(12):
        for size in range(2, 60):
            ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01" * size))
    assert first is not None
    assert shapes.find(COLUMN, 2, strings=False) is first


@pytest.mark.parametrize("times", [1, 6], ids=["as it is", "with a pattern"])
@pytest.mark.parametrize("arc", [2**32, 2**35, 2**70], ids=["33 bits", "36 bits", "71 bits"])
def test_a_row_whose_index_has_too_large_a_number_is_refused(arc: int, times: int) -> None:
    shapes, index = Shapes(), values.encode_arc(arc)
    for _ in range(times - 1):
        ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01" * len(index)))
    assert shapes.compiled == (times > 4)
    with pytest.raises(BerError, match="over 4294967295"):
        ColumnReader(COLUMN, shapes).read(rows(COLUMN, b"\x01" * len(index)) + rows(COLUMN, index))


def test_the_largest_number_that_an_index_may_have_is_read_with_a_pattern() -> None:
    shapes, index = Shapes(), values.encode_arc(LARGEST_ARC)
    for _ in range(6):
        page = ColumnReader(COLUMN, shapes).read(rows(COLUMN, index))
        assert page.indexes == [bytes((number,)) + index for number in range(3)]
    assert shapes.compiled == 1


def test_the_shapes_that_are_counted_do_not_become_ever_more() -> None:
    shapes = Shapes()
    for number in range(20_000):
        assert shapes.find(number.to_bytes(4, "big"), 1, strings=False) is None
    assert len(shapes._seen) <= 4_096
