"""Whatever is encoded for remote write is read back as it was, by a reader made from the specifications."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from facho.core.write_request import encode_labels, encode_rows, encode_series, join_pieces, write_request
from tests.hypothesis_runs import often
from tests.remote_write_wire import Series, read_request

AT = 1_790_000_000_123
NUMBERS = st.floats(allow_nan=False)
LABELS = st.dictionaries(
    st.sampled_from(("olt", "site", "port", "onu", "place", "serial")),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[dict[str, str]], list[list[float | None]]]:
    names = [f"facho_onu_{number}" for number in range(draw(st.integers(1, 9)))]
    row = st.lists(st.none() | NUMBERS, min_size=len(names), max_size=len(names))
    rows = draw(st.lists(row, max_size=12))
    # Few different labels: those of equal length follow one another, as those of ONUs do.
    known = draw(st.lists(LABELS, min_size=1, max_size=3))
    labels = draw(st.lists(st.sampled_from(known), min_size=len(rows), max_size=len(rows)))
    return names, labels, rows


@often(400)
@given(tables(), st.integers(1, 40))
def test_rows_of_values_come_back(
    table: tuple[list[str], list[dict[str, str]], list[list[float | None]]], most: int
) -> None:
    names, labels, rows = table
    pieces = list(encode_rows(AT, names, map(encode_labels, labels), rows, most=most))
    expected = [
        Series(name, dict(sorted(own.items())), [(AT, value)])
        for own, row in zip(labels, rows, strict=True)
        for name, value in zip(names, row, strict=True)
        if value is not None
    ]
    assert read_request(write_request(pieces)) == expected
    # Each piece is complete in itself, in any order.
    alone = [series for piece in reversed(pieces) for series in read_request(write_request([piece]))]
    assert sorted(map(repr, alone)) == sorted(map(repr, expected))
    assert sum(piece.samples for piece in pieces) == len(expected)


@often(100)
@given(LABELS, st.lists(st.tuples(st.integers(AT, AT + 10**9), NUMBERS), min_size=1, max_size=70))
def test_series_of_an_hour_come_back(labels: dict[str, str], samples: list[tuple[int, float]]) -> None:
    piece = encode_series("facho_port_in_bps", encode_labels(labels), samples)
    (joined,) = join_pieces([piece, piece], 1000)
    expected = Series("facho_port_in_bps", labels, samples)
    assert read_request(write_request([joined])) == [expected, expected]
    assert joined.samples == 2 * len(samples)
