"""Reads serials, hardware addresses, dates, IP addresses and texts from octets, and writes some of them."""

from __future__ import annotations

import enum
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from facho.vendors.errors import BadValue

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
