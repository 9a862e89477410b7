import csv
import io
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facho.core.spreadsheet import csv_cell, csv_lines


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1+1", " =1", "\r=1", "\uff1d1"]
)
def test_a_text_is_never_a_formula(text: str) -> None:
    assert csv_cell(text).startswith("'")


def test_numbers_times_and_the_rest_are_what_they_are() -> None:
    assert [csv_cell(value) for value in (-27.5, 3, True, None, "casa 4", "a=b")] == [
        "-27.5", "3", "true", "", "casa 4", "a=b",
    ]  # fmt: skip
    bogota = datetime(2026, 11, 1, 7, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert csv_cell(bogota) == "2026-11-01T12:30:00Z"
    assert csv_cell([{"why": "ñ"}]) == '[{"why": "ñ"}]'


def test_what_cannot_be_seen_is_left_out() -> None:
    assert csv_cell("a\0b\u202ecod\x1b[31m") == "abcod[31m"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_a_reader_finds_the_cells_that_were_written(rows: list[tuple[str, str]]) -> None:
    written = "".join(csv_lines(["one", "two"], rows))
    read = list(csv.reader(io.StringIO(written, newline=""), strict=True))
    assert read == [["one", "two"], *([csv_cell(each) for each in row] for row in rows)]


def test_many_rows_come_in_pieces_and_all_of_them() -> None:
    pieces = list(csv_lines(["n"], ([number] for number in range(1200))))
    assert len(pieces) == 3
    assert "".join(pieces).split() == ["n", *map(str, range(1200))]
