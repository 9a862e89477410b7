"""Merge the frames of an OLT into one sheet for each port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from facho.core.frames import Columns, Sheet, write_sheet
from facho.core.history_facts import FACTS, Fact, integer_array

_Column = Sequence[int]


def merge_by_place(sheets: Sequence[Sheet], places: Mapping[int, str]) -> Iterator[tuple[str, bytes]]:
    """Yield a sheet for each place with all values of its subjects.

    If several frames have a value for the same subject, fact and time, the last one counts.
    """
    ids = sorted({number for sheet in sheets for number in sheet.ids}, key=lambda each: (places[each], each))
    arrange = _ColumnArranger(ids)
    meanings = _meanings(sheets)
    facts = {name: _merge_columns(name, meaning, sheets, arrange) for name, meaning in meanings.items()}
    start = 0
    for place, group in groupby(ids, key=places.__getitem__):
        own = list(group)
        end = start + len(own)
        cut = {
            name: _select_subjects(meanings[name].nothing, columns, start, end)
            for name, columns in facts.items()
        }
        yield place, write_sheet(own, {name: columns for name, columns in cut.items() if columns}, meanings)
        start = end


def _meanings(sheets: Sequence[Sheet]) -> dict[str, Fact]:
    """Return how each fact of these sheets is written. Of a declared one that changed, the last counts."""
    declared = {name: fact for sheet in sheets for name, fact in sheet.declared.items()}
    given = {name for sheet in sheets for name in sheet.facts}
    return {name: fact for name, fact in {**declared, **FACTS}.items() if name in given}


class _ColumnArranger:
    """Puts the columns of any sheet into one order of subjects."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = ids
        # The collections of an hour mostly have the same subjects in the same order.
        self._known: dict[bytes, list[int]] = {}

    def __call__(self, sheet: Sheet, column: _Column, fact: Fact) -> _Column:
        positions = self._known.get(key := sheet.ids.tobytes())
        if positions is None:
            # One past the end for subjects that the sheet does not have.
            at = {number: position for position, number in enumerate(sheet.ids)}
            positions = self._known[key] = [at.get(number, len(sheet.ids)) for number in self._ids]
        return integer_array(fact.width, map([*column, fact.nothing].__getitem__, positions))


def _merge_columns(fact: str, meaning: Fact, sheets: Sequence[Sheet], arrange: _ColumnArranger) -> Columns:
    found: dict[int, _Column] = {}
    for sheet in sheets:
        for at, column in sheet.columns(fact).items():
            arranged = arrange(sheet, _rewritten(column, sheet.meaning(fact), meaning), meaning)
            before = found.get(at)
            found[at] = arranged if before is None else _overlay(before, arranged, meaning.nothing)
    return found


def _rewritten(column: _Column, before: Fact | None, after: Fact) -> _Column:
    """Return a column as it is written now. The code of a declared fact may be another in each sheet."""
    if before is None or replace(before, code=after.code) == after:
        return column
    return after.quantised(before.values(column))


def _overlay(before: _Column, after: _Column, nothing: int) -> _Column:
    return [old if new == nothing else new for old, new in zip(before, after, strict=True)]


def _select_subjects(nothing: int, columns: Columns, start: int, end: int) -> Columns:
    """A time at which nobody of them has a value is none of theirs."""
    cut = {at: column[start:end] for at, column in columns.items()}
    return {at: column for at, column in cut.items() if column.count(nothing) < end - start}
