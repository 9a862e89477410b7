"""Compiles the rule of a column into functions that read raw values (octets, numbers) as facts.

They return the fact, or None where the device has no value, or raise BadValue. Numbers and states repeat, so
their results are cached.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address
from typing import Final, cast

from facho.vendors import rules
from facho.vendors.errors import BadValue
from facho.vendors.facts import Fact, Kind
from facho.vendors.schema import NumberInText, Rule, Word

Read = Callable[[object], object]
ReadAll = Callable[[Collection[object]], list[object]]
_CACHE_SIZE: Final = 1 << 14
_LONGEST_CACHED: Final = 64
# No instrument in these devices is better than a hundredth of a dB.
_DIGITS_OF: Final = {"dBm": 2}
_DIGITS: Final = 3
_OCTETS_OF_COUNTER: Final = 8
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
        case Kind.WHOLE if fact.is_counter:
            # Not cached: a counter of 32 bits is equal to one of 64, but not the same.
            return _each(_number(fact, rule))
        case Kind.NUMBER | Kind.WHOLE | Kind.RATE:
            return _cached(_number(fact, rule))
        case Kind.WORD:
            return _cached(_word(rule.enum, rule.no_value))
        case Kind.TEXT:
            return _text(rule)
        case Kind.SERIAL if not (rule.no_value or rule.fits or rule.after):
            return Reader(rules.serial, rules.serials)
        case Kind.SERIAL:
            return _each(_skip_markers(_read_fitting(rule, _read_after_mark(rule, rules.serial)), rule))
        case Kind.MAC:
            return _each(_skip_markers(_read_fitting(rule, rules.mac), rule))
        case Kind.DATE:
            return _each(_skip_markers(rules.date, rule))
        case Kind.IP:
            return _each(_skip_markers(rules.ip, rule))


def _each(read: Read) -> Reader:
    return Reader(read, lambda values: list(map(read, values)))


def _counter(read: Read) -> Reader:
    """Return functions for numbers that are taken as they are, and seldom repeat."""

    def read_all(values: Collection[object]) -> list[object]:
        if all(issubclass(kind, int) for kind in set(map(type, values))):
            # They keep their type, as in _number().
            numbers = list(cast(Collection[int], values))
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
        elif isinstance(raw, bytes) and rule.number_in_octets and len(raw) == _OCTETS_OF_COUNTER:
            number, scale = int.from_bytes(raw, "big"), rule.scale
        elif rules.is_nothing(raw):
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
        if not whole:
            return round(value, digits)
        # A whole number keeps its type: a counter of 32 bits comes round, one of 64 does not.
        return value if isinstance(value, int) else round(value)

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
    if len(raw) > rules.LONGEST_TEXT:
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
        if rules.is_nothing(raw):
            return None
        name = rules.text(raw) if isinstance(raw, bytes) else raw
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
        return Reader(rules.text, rules.texts)

    def read(raw: object) -> object:
        if raw in markers:
            return None
        if isinstance(raw, int) and raw in words:
            return words[raw]
        value = rules.text(raw)
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
        if isinstance(raw, bytes) and len(raw) != rules.SERIAL_OCTETS and mark in raw:
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


# Longer ones are garbage: the longest description that an OLT keeps has 255 characters.
LONGEST_TEXT: Final = 1024
SERIAL_OCTETS: Final = 8
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
# No such device was in use before, and none will be after.
_YEARS: Final = (1970, 2199)
_DATE_FORMATS: Final = (
    "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d-%m-%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d,%H:%M:%S"
)  # fmt: skip


def shown(raw: object) -> str:
    """Return a raw value for a message, short whatever it is."""
    if isinstance(raw, bytes):
        return f"0x{raw[:24].hex()}" + (f"... ({len(raw)} octets)" if len(raw) > 24 else "")
    text = repr(raw)
    return text if len(text) <= 60 else text[:57] + "..."


def is_nothing(raw: object) -> bool:
    """Return whether it is NULL or a marker of the protocol for a missing value."""
    return raw is None or isinstance(raw, enum.Enum)


def _refuse_type(raw: object, what: str) -> None:
    """Raise BadValue for a value of another type; a missing value is fine."""
    if not is_nothing(raw):
        raise BadValue(f"{shown(raw)} is no {what}")


def text(raw: object) -> str | None:
    """Return a text without padding. Raises BadValue with the part that could be read."""
    if not isinstance(raw, bytes):
        if isinstance(raw, int):
            return str(raw)
        _refuse_type(raw, "text")
        return None
    if len(raw) > LONGEST_TEXT:
        raise BadValue(f"a text of {len(raw)} octets")
    try:
        read = raw.decode()
    except UnicodeDecodeError:
        # Old terminals write Latin-1, which every sequence of octets is.
        raise BadValue(f"{shown(raw)} is no UTF-8", _printable(raw.decode("latin-1"))) from None
    return read.strip() if read.isprintable() else _printable(read)


def texts(values: Collection[object]) -> list[object]:
    """Return many texts, quickly where all of them are printable UTF-8."""
    try:
        read = list(map(bytes.decode, values))  # type: ignore[arg-type]
        if max(map(len, read), default=0) <= LONGEST_TEXT and "".join(read).isprintable():
            return list(map(str.strip, read))
    except (TypeError, UnicodeDecodeError):
        pass
    return list(map(text, values))


def _printable(read: str) -> str:
    return "".join(letter for letter in read.replace("\n", " ") if letter.isprintable()).strip()


def serial(raw: object) -> str | None:
    """Return a serial of eight octets, or of a text, as four letters and eight digits."""
    if not isinstance(raw, bytes):
        _refuse_type(raw, "serial")
        return None
    if len(raw) != SERIAL_OCTETS:
        return _serial_of_text(raw)
    head = raw[:4]
    return head.decode() + raw[4:].hex().upper() if head.isalnum() else _odd_serial(raw)


def serials(values: Collection[object]) -> list[object]:
    """Return many serials, quickly where all of them are eight octets that begin with four letters."""
    try:
        octets = b"".join(values)  # type: ignore[arg-type]
    except TypeError:
        return list(map(serial, values))
    # Each serial is two words of hexadecimal digits. The first one, of the vendor, is the same in many.
    words = octets.hex(" ", 4).upper().split(" ")
    vendors = {word: bytes.fromhex(word) for word in set(words[::2])}
    if set(map(len, values)) != {SERIAL_OCTETS} or not all(map(bytes.isalnum, vendors.values())):  # type: ignore[arg-type]
        return list(map(serial, values))
    letters = {word: vendor.decode() for word, vendor in vendors.items()}
    return list(map(str.__add__, map(letters.__getitem__, words[::2]), words[1::2]))


def _odd_serial(raw: bytes) -> str | None:
    if not any(raw):
        return None
    if all(0x21 <= octet < 0x7F for octet in raw[:4]):
        return raw[:4].decode() + raw[4:].hex().upper()
    return raw.hex().upper()


def _serial_of_text(raw: bytes) -> str | None:
    # Some write HWTC:1234ABCD.
    letters = raw.strip(b"\0 ").replace(b":", b"")
    if not letters:
        return None
    if len(letters) == 12 and _HEX.issuperset(letters[4:]) and letters[:4].isalnum():
        return letters[:4].decode() + letters[4:].decode().upper()
    if len(letters) == 16 and _HEX.issuperset(letters):
        return serial(bytes.fromhex(letters.decode()))
    raise BadValue(f"{shown(raw)} is no serial")


def serial_octets(written: str) -> bytes:
    """Return the eight octets of a serial."""
    if len(written) == 16:
        return bytes.fromhex(written)
    return written[:4].encode() + bytes.fromhex(written[4:])


def mac(raw: object) -> str | None:
    if not isinstance(raw, bytes):
        _refuse_type(raw, "hardware address")
        return None
    if len(raw) == 6:
        return raw.hex(":") if any(raw) else None
    digits = bytes(octet for octet in raw[:32] if octet not in b":.- \0")
    if not digits:
        return None
    if len(raw) > 32 or len(digits) != 12 or not _HEX.issuperset(digits):
        raise BadValue(f"{shown(raw)} is no hardware address")
    return mac(bytes.fromhex(digits.decode()))


def date(raw: object) -> datetime | None:
    """Return the date of a DateAndTime or a text; all zero is None. Without a zone it is UTC."""
    if not isinstance(raw, bytes):
        _refuse_type(raw, "date")
        return None
    if len(raw) not in (8, 11):
        return _date_of_text(raw)
    if not any(raw[:7]):
        return None
    try:
        moment = datetime(raw[0] << 8 | raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], tzinfo=UTC)
        if len(raw) == 11 and (raw[9] or raw[10]):
            ahead = timedelta(hours=raw[9], minutes=raw[10])
            moment = moment.replace(tzinfo=timezone(-ahead if raw[8:9] == b"-" else ahead)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadValue(f"{shown(raw)} is no date") from None
    return _plausible(moment, raw)


def _date_of_text(raw: bytes) -> datetime | None:
    try:
        moment = _written_date(raw[:32])
    except ValueError:
        raise BadValue(f"{shown(raw)} is no date") from None
    return moment if moment is None else _plausible(moment, raw)


def _plausible(moment: datetime, raw: bytes) -> datetime:
    """Refuse dates near the ends of the calendar, which not every zone can show."""
    if not _YEARS[0] <= moment.year <= _YEARS[1]:
        raise BadValue(f"{shown(raw)} is a date of the year {moment.year}")
    return moment


# Cached: most dates are the same as in the collection before.
@lru_cache(maxsize=1 << 16)
def _written_date(raw: bytes) -> datetime | None:
    read = raw.decode("ascii", "replace").strip("\0 ")
    if not read.strip("0-/: "):
        return None
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(read[:19], form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(read)


def date_octets(moment: datetime) -> bytes:
    """Return a DateAndTime of 8 octets, in UTC."""
    at = moment.astimezone(UTC)
    return at.year.to_bytes(2, "big") + bytes((at.month, at.day, at.hour, at.minute, at.second, 0))


def ip(raw: object) -> IPv4Address | None:
    if isinstance(raw, IPv4Address):
        return raw if int(raw) else None
    if not isinstance(raw, bytes):
        _refuse_type(raw, "IP address")
        return None
    written = raw if len(raw) == 4 else raw[:32].decode("ascii", "replace").strip("\0 ")
    if not written:
        return None
    try:
        address = IPv4Address(written)
    except AddressValueError:
        raise BadValue(f"{shown(raw)} is no IP address") from None
    return address if int(address) else None
