"""Compiles the rule of a column into functions that read raw values as facts.

They return the fact, or None where the device has no value, or raise BadValue. Numbers and states repeat, so
their results are cached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, cast

from facho.vendors import raw_values
from facho.vendors.errors import BadValue
from facho.vendors.facts import Fact, Kind
from facho.vendors.raw_values import shown
from facho.vendors.schema import NumberInText, Rule, Word

Read = Callable[[object], object]
ReadAll = Callable[[Collection[object]], list[object]]
_CACHE_SIZE: Final = 1 << 14
_LONGEST_CACHED: Final = 64
# No instrument in these devices is better than a hundredth of a dB.
_DIGITS_OF: Final = {"dBm": 2}
_DIGITS: Final = 3
_NUMBER_LETTERS: Final = "+-.0123456789"


@dataclass(frozen=True, slots=True)
class State:
    """A state: its meaning in our words, and the vendor's own word for it."""

    meaning: str
    word: str

    def __str__(self) -> str:
        return self.meaning


@dataclass(frozen=True, slots=True)
class Reader:
    """The functions of a column: for one value, and for all at once, which raises if any of them is bad."""

    one: Read
    all: ReadAll


class CachedRead(dict[object, object]):
    """The results of a read function by raw value."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, raw: object) -> object:
        value = self._read(raw)
        if len(self) >= _CACHE_SIZE:
            self.clear()
        if not isinstance(raw, bytes) or len(raw) <= _LONGEST_CACHED:
            self[raw] = value
        return value


def compile_rule(fact: Fact, rule: Rule) -> Reader:
    """Return the functions that read a fact. Raw values are those of the client: int, bytes and so on."""
    match fact.kind:
        case Kind.WHOLE if rule == Rule() and fact.low == 0 and fact.high is None:
            return _counter(_number(fact, rule))
        case Kind.NUMBER | Kind.WHOLE:
            return _cached(_number(fact, rule))
        case Kind.WORD:
            return _cached(_word(rule.enum, rule.no_value))
        case Kind.TEXT:
            return _text(rule)
        case Kind.SERIAL:
            return _each(_skip_markers(_read_fitting(rule, _read_after_mark(rule, raw_values.serial)), rule))
        case Kind.MAC:
            return _each(_skip_markers(_read_fitting(rule, raw_values.mac), rule))
        case Kind.DATE:
            return _each(_skip_markers(raw_values.date, rule))
        case Kind.IP:
            return _each(_skip_markers(raw_values.ip, rule))


def _each(read: Read) -> Reader:
    return Reader(read, lambda values: list(map(read, values)))


def _counter(read: Read) -> Reader:
    """Return functions for numbers that are taken as they are, and seldom repeat."""

    def read_all(values: Collection[object]) -> list[object]:
        if all(issubclass(kind, int) for kind in set(map(type, values))):
            numbers = list(map(int, cast(Collection[int], values)))
            if min(numbers, default=0) >= 0:
                return cast(list[object], numbers)
        return list(map(read, values))

    return Reader(read, read_all)


def _cached(read: Read) -> Reader:
    """Return functions that run Python for distinct values only."""
    cached = CachedRead(read).__getitem__
    return Reader(cached, lambda values: list(map(cached, values)))


def _number(fact: Fact, rule: Rule) -> Read:
    markers = frozenset(rule.no_value)
    low = fact.low if rule.low is None else rule.low
    high = fact.high if rule.high is None else rule.high
    digits = _DIGITS_OF.get(fact.unit, _DIGITS)
    compute = _dbm(rule.milliwatts) if rule.milliwatts else _linear(rule)
    whole = fact.kind is Kind.WHOLE
    # A scale of one keeps whole numbers whole: 64-bit counters do not fit into a float.
    untouched = whole and not rule.milliwatts and rule.scale == 1.0 and rule.offset == 0.0

    def read(raw: object) -> object:
        if isinstance(raw, int | float):
            number, scale = raw, rule.scale
        elif isinstance(raw, bytes) and rule.number_in_text is not None:
            found = _number_in(raw, rule.number_in_text, markers)
            if found is None:
                return None
            number, scale = found, rule.text_scale
        elif raw_values.is_nothing(raw):
            return None
        else:
            raise BadValue(f"{shown(raw)} is no number")
        if number in markers:
            return None
        if rule.signed and isinstance(number, int):
            number = _with_sign(number, rule.signed)
        if abs(number) < rule.unscaled_below:
            scale = 1.0
        value = number if untouched and isinstance(number, int) else compute(number, scale)
        if value is None:
            return None
        if not (low is None or value >= low) or not (high is None or value <= high):
            raise BadValue(
                f"{shown(raw)} is {value:g} {fact.unit}".rstrip() + f", not within {low} to {high}"
            )
        return round(value) if whole else round(value, digits)

    return read


def _linear(rule: Rule) -> Callable[[float, float], float | None]:
    return lambda number, scale: number * scale + rule.offset


def _dbm(milliwatts: float) -> Callable[[float, float], float | None]:
    """Return a function from a multiple of so many milliwatts to dBm; zero has no logarithm and no value."""
    return lambda number, _: 10 * math.log10(number * milliwatts) if number > 0 else None


def _with_sign(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return number - (half << 1) if half <= number < half << 1 else number


def _number_in(raw: bytes, where: NumberInText, markers: frozenset[int | str]) -> float | None:
    if len(raw) > raw_values.LONGEST_TEXT:
        raise BadValue(f"a text of {len(raw)} octets where a number should be")
    text = raw.decode("utf-8", "replace").strip("\0 ")
    if not text or text in markers:
        return None
    number = _number_between(text, where)
    if number is None:
        # Escaped: PostgreSQL refuses NUL in a text, and with it the whole collection.
        raise BadValue(f"there is no number in {text[:60]!r}")
    return number


def _number_between(text: str, where: NumberInText) -> float | None:
    """Return the number after the mark; without one, the number before it or at the start."""
    before, mark, after = text.partition(where.after) if where.after else ("", "", text)
    marked = after if mark or not where.after else text
    found = _number_at_start(marked.partition(where.before)[0] if where.before else marked)
    if found is None:
        # In "0.00 mW (N/A)" the number is not the one that is meant; in "-19.32(dBm)" it is.
        found = _number_at_start(before if mark else text, alone=bool(mark))
    return found


def _number_at_start(piece: str, *, alone: bool = False) -> float | None:
    piece = piece.strip()
    try:
        return float(piece if alone else piece[: len(piece) - len(piece.lstrip(_NUMBER_LETTERS))])
    except ValueError:
        return None


def _word(words: Iterable[Word], no_value: tuple[int | str, ...]) -> Read:
    known: dict[int | str, State | None] = {
        word.raw: None if word.meaning is None else State(word.meaning, word.word) for word in words
    }
    known.update(dict.fromkeys(no_value))

    def read(raw: object) -> object:
        if raw_values.is_nothing(raw):
            return None
        name = raw_values.text(raw) if isinstance(raw, bytes) else raw
        if isinstance(name, str | int):
            if name in known:
                return known[name]
            raise BadValue(
                f"{shown(raw)} is a state that the profile does not know", State("unknown", str(name))
            )
        raise BadValue(f"{shown(raw)} is no state")

    return read


def _text(rule: Rule) -> Reader:
    markers = frozenset(rule.no_value)
    words = {word.raw: word.word for word in rule.enum}
    if not (markers or words or rule.strip or rule.after or rule.before):
        return Reader(raw_values.text, raw_values.texts)

    def read(raw: object) -> object:
        if raw in markers:
            return None
        if isinstance(raw, int) and raw in words:
            return words[raw]
        value = raw_values.text(raw)
        if value is None:
            return None
        if rule.after and rule.after in value:
            value = value.partition(rule.after)[2]
        if rule.before:
            value = value.partition(rule.before)[0]
        value = value.strip(rule.strip + " ") if rule.strip else value
        return None if value in markers else value

    return _each(read)


def _read_after_mark(rule: Rule, read: Read) -> Read:
    if not rule.after:
        return read
    mark = rule.after.encode()

    def read_after(raw: object) -> object:
        # Eight octets are a binary serial, in which any octet may look like the mark.
        if isinstance(raw, bytes) and len(raw) != raw_values.SERIAL_OCTETS and mark in raw:
            return read(raw.partition(mark)[2])
        return read(raw)

    return read_after


def _read_fitting(rule: Rule, read: Read) -> Read:
    if rule.fits is None:
        return read
    fits = rule.fits.fullmatch

    def read_fitting(raw: object) -> object:
        # The reader itself refuses values that are too long.
        if isinstance(raw, bytes) and len(raw) <= _LONGEST_CACHED and not fits(raw.decode("latin-1")):
            return None
        return read(raw)

    return read_fitting


def _skip_markers(read: Read, rule: Rule) -> Read:
    if not rule.no_value:
        return read
    markers = {each.encode() if isinstance(each, str) else each for each in rule.no_value}
    return lambda raw: None if raw in markers else read(raw)
