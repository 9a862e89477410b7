"""Numeric facts over time: what was written is read, for any subjects, times and values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from facho.core.frames import Sheet, pack, pack_row, read_sheet, unpack, write_frame
from facho.core.history_facts import FACTS, Damaged, Fact
from facho.core.hours import merge_by_place
from tests.property.damage import KINDS, Damage, damaged

HOUR = 1_772_000_000_000
VALUES = st.none() | st.integers(-6000, 6000).map(lambda steps: steps / 128) | st.floats()
# A few, so that subjects and times meet again in other frames.
IDS = st.integers(1, 12) | st.integers(2**40, 2**40 + 3)
TIMES = st.integers(0, 3).map(lambda minute: HOUR + 60_000 * minute) | st.integers(HOUR, HOUR + 3_599_999)


class Frame(NamedTuple):
    at: int
    ids: Sequence[int]
    values: Mapping[str, Sequence[float | None]]

    @property
    def sheet(self) -> Sheet:
        return read_sheet(write_frame(*self))


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    ids = draw(st.lists(IDS, unique=True, max_size=6))
    column = st.lists(VALUES, min_size=len(ids), max_size=len(ids))
    facts = draw(st.dictionaries(st.sampled_from(sorted(FACTS)), column, max_size=3))
    return Frame(draw(TIMES), ids, facts)


def kept(fact: str, value: float | None) -> float | None:
    """As it is to be kept: rounded, and nothing when it is out of range or not a number."""
    meaning = FACTS[fact]
    if value is not None and meaning.is_rate:
        return kept_rate(meaning, value)
    if value is None or math.isnan(value) or abs(value) > 2**40:
        return None
    steps = round(value * meaning.steps)
    return steps / meaning.steps if abs(steps) < 2 ** (8 * meaning.width - 1) else None


def kept_rate(meaning: Fact, value: float) -> float | None:
    """Rounded down to the nine highest bits of its steps and 256 more."""
    if not 2.0 <= value * meaning.steps / 128 + 2.0 < 2.0**129:
        return None
    steps = int(value * meaning.steps) + 256
    low = steps.bit_length() - 9
    return ((steps >> low << low) - 256) / meaning.steps


Said = dict[tuple[str, int, int], float | None]


def said_by(sheet: Sheet) -> Said:
    """By fact, subject and time."""
    return {
        (fact, number, at): value
        for fact in sheet.facts
        for number, samples in zip(sheet.ids, sheet.series(fact, range(len(sheet.ids))), strict=True)
        for at, value in zip(*samples, strict=True)
    }


def said_in(frame: Frame) -> Said:
    return {
        (fact, number, frame.at): kept(fact, value)
        for fact, column in frame.values.items()
        for number, value in zip(frame.ids, column, strict=True)
    }


def values_of(said: Said) -> Said:
    return {key: value for key, value in said.items() if value is not None}


@given(frames())
def test_a_frame_is_read_as_it_was_written(frame: Frame) -> None:
    sheet = frame.sheet
    assert list(sheet.ids) == list(frame.ids)
    assert values_of(said_by(sheet)) == values_of(said_in(frame))


@given(st.lists(frames(), max_size=4), st.integers(1, 3))
def test_an_hour_has_all_that_its_frames_said(hour: list[Frame], ports: int) -> None:
    expected: Said = {}
    for frame in hour:
        expected |= values_of(said_in(frame))
    places = {number: f"0/1/{number % ports}" for frame in hour for number in frame.ids}
    found: Said = {}
    for place, data in merge_by_place([frame.sheet for frame in hour], places):
        sheet = read_sheet(data)
        assert {places[number] for number in sheet.ids} == {place}
        assert list(sheet.ids) == sorted(sheet.ids)
        assert list(sheet.times) == sorted(sheet.times)
        found |= said_by(sheet)
    assert values_of(found) == expected


@given(st.lists(frames(), min_size=2, max_size=4), st.data())
def test_what_comes_late_makes_the_same_hour(hour: list[Frame], data: st.DataObject) -> None:
    places = {number: "0/1/7" for frame in hour for number in frame.ids}
    sheets = [frame.sheet for frame in hour]
    at_once = dict(merge_by_place(sheets, places))
    cut = data.draw(st.integers(1, len(sheets) - 1))
    first = [read_sheet(written) for _, written in merge_by_place(sheets[:cut], places)]
    in_two = dict(merge_by_place([*first, *sheets[cut:]], places))
    assert {place: values_of(said_by(read_sheet(written))) for place, written in in_two.items()} == {
        place: values_of(said_by(read_sheet(written))) for place, written in at_once.items()
    }


@given(
    st.sampled_from([2, 4]).flatmap(
        lambda width: st.tuples(
            st.just(width),
            st.integers(1, 5).flatmap(
                lambda rows: st.lists(
                    st.lists(
                        st.integers(-(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1),
                        min_size=rows,
                        max_size=rows,
                    ),
                    min_size=1,
                    max_size=6,
                )
            ),
        )
    )
)
def test_any_numbers_are_unpacked_however_far_apart(packed: tuple[int, list[list[int]]]) -> None:
    width, columns = packed
    rows = unpack(pack(columns, width), width, len(columns[0]), len(columns))
    assert [rows.row(position) for position in range(rows.rows)] == [
        list(row) for row in zip(*columns, strict=True)
    ]
    assert list(rows.first()) == columns[0]
    assert pack_row([column[0] for column in columns], width) == pack(
        [[column[0]] for column in columns], width
    )


damages = st.lists(
    st.builds(Damage, st.sampled_from(KINDS), st.integers(0, 10**6), st.integers(0, 9), st.integers(0, 255)),
    min_size=1,
    max_size=3,
)
SOME = Frame(HOUR, [5, 3, 9], {"onu_rx_dbm": [-21.5, None, -19.25], "distance_m": [40_000, 12, 7]})


@given(st.lists(frames(), min_size=1, max_size=3), damages)
@example([SOME], [Damage("cut", 0, 0, 0)])
@example([SOME], [Damage("flip", 0, 0, 1)])
def test_damaged_bytes_are_refused_or_say_the_same(hour: list[Frame], harm: list[Damage]) -> None:
    places = {number: "" for frame in hour for number in frame.ids}
    for written in (
        write_frame(*hour[0]),
        *dict(merge_by_place([each.sheet for each in hour], places)).values(),
    ):
        try:
            said = said_by(read_sheet(damaged(written, harm)))
        except Damaged:
            continue
        assert said == said_by(read_sheet(written))
