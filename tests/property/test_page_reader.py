"""The fast reader of a walk's answers takes and refuses exactly what the strict one does."""

from __future__ import annotations

from functools import cache, partial
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from facho.snmp.message import encode_binding
from facho.snmp.page import ColumnReader
from facho.snmp.values import (
    Counter32,
    Counter64,
    Gauge32,
    Missing,
    Oid,
    OpaqueDouble,
    OpaqueFloat,
    TimeTicks,
    Unknown,
    Value,
    encode_arcs,
    encode_value,
)
from tests.hypothesis_runs import often
from tests.property.damage import KINDS, Damage, damaged
from tests.property.strict_page import outcome, read_strictly

# Few columns, since each shape of a column has its own compiled pattern. The second one holds octets that
# mean something in patterns (40 "(", 46 ".", 91 "["), the third a sub-identifier of several octets.
COLUMNS = [
    Oid.parse("1.3.6.1.2.1.2.2.1.10"),
    Oid.parse("1.3.40.46.91.92.10"),
    Oid.parse("1.3.6.1.4.1.2011.6"),
]

short_arcs = st.integers(0, 127)
long_arcs = st.sampled_from([128, 255, 16_383, 16_384, 4_194_304_000, 0xFFFF_FFFF])
numbers: st.SearchStrategy[Value] = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**32 - 1).map(Counter32),
    st.integers(0, 2**32 - 1).map(Gauge32),
    st.integers(0, 2**32 - 1).map(TimeTicks),
    st.integers(0, 2**64 - 1).map(Counter64),
)
others: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.floats(width=32).map(OpaqueFloat),
    st.floats().map(OpaqueDouble),
    st.sampled_from(COLUMNS),
    st.sampled_from([Missing.NO_SUCH_OBJECT, Missing.NO_SUCH_INSTANCE]),
    st.builds(Unknown, st.integers(0, 255), st.binary(max_size=20)),
)
# Around 127 octets the length of a value, or of the binding around it, takes a second octet.
strings: st.SearchStrategy[Value] = st.one_of(
    st.binary(max_size=20), st.integers(90, 140).map(bytes), st.just(b"x" * 300)
)


def row(column: Oid, arcs: list[int], value: Value) -> bytes:
    return encode_binding(column.child(*arcs).content, encode_value(value))


@cache
def lookalikes(column: Oid) -> st.SearchStrategy[Value]:
    """Strings that hold a whole row of the column, or the start of one."""
    arcs = st.lists(short_arcs, min_size=1, max_size=4)
    return st.builds(
        lambda arcs, value, size: row(column, arcs, value)[:size], arcs, numbers, st.integers(1, 40)
    )


@cache
def odd_bindings(column: Oid) -> st.SearchStrategy[bytes]:
    """What interrupts the rows that look alike: other sizes, other types, other columns, the end."""
    around = column.content[:-1]
    names = st.sampled_from([column.content, column.content, around, around + b"\x7f"])
    arcs = st.lists(short_arcs | long_arcs, max_size=6).map(tuple).map(encode_arcs)
    values = numbers | others | strings | lookalikes(column) | st.just(Missing.END_OF_MIB_VIEW)
    return st.builds(
        lambda name, suffix, value: encode_binding(name + suffix, encode_value(value)), names, arcs, values
    )


@cache
def alike_rows(column: Oid, depth: int) -> st.SearchStrategy[list[bytes]]:
    """Rows as agents send them: equally long indices, values of one kind."""
    arcs = st.lists(short_arcs, min_size=depth, max_size=depth)
    kinds = (numbers, strings, numbers | others, strings | lookalikes(column))
    return st.one_of(
        [st.lists(st.builds(row, st.just(column), arcs, values), max_size=10) for values in kinds]
    )


@st.composite
def pages(draw: st.DrawFn) -> tuple[Oid, bytes]:
    """Mostly rows that look alike, with anything in between."""
    column = draw(st.sampled_from(COLUMNS))
    rows = draw(alike_rows(column, draw(st.integers(1, 4))))
    odd = draw(st.lists(odd_bindings(column), max_size=2))
    again = draw(st.lists(st.sampled_from(rows), max_size=1)) if rows else []
    for binding in (*odd, *again):
        rows.insert(draw(st.integers(0, len(rows))), binding)
    return column, b"".join(rows)


damages = st.lists(
    st.builds(Damage, st.sampled_from(KINDS), st.integers(0, 4_000), st.integers(1, 12), st.integers(0, 255)),
    min_size=1,
    max_size=3,
)


def assert_read_alike(column: Oid, bindings: bytes) -> None:
    reader = ColumnReader(column.content)
    fast = outcome(reader.read, bindings)
    strict = outcome(partial(read_strictly, column.content), bindings)
    assert fast == strict


@given(pages())
@often(1_500)
def test_a_page_is_read_as_the_strict_decoder_reads_it(page: tuple[Oid, bytes]) -> None:
    assert_read_alike(*page)


@given(pages(), damages)
@often(2_000)
def test_a_damaged_page_is_read_or_refused_as_the_strict_decoder_does(
    page: tuple[Oid, bytes], damages: list[Damage]
) -> None:
    column, bindings = page
    assert_read_alike(column, damaged(bindings, damages))


@given(pages(), st.binary(max_size=60))
@often(300)
def test_what_follows_the_rows_is_never_ignored(page: tuple[Oid, bytes], tail: bytes) -> None:
    column, bindings = page
    assert_read_alike(column, bindings + tail)
