"""ONUs by how their serial, MAC or description begins: by indexes alone, for there are a million."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from django.db import connection
from django.db.models import F, Func, OrderBy, Q, TextField, Value
from django.db.models.functions import Lower
from django.db.models.lookups import GreaterThanOrEqual, LessThan

# Of a description: a whole one may be longer than what an index holds.
DESCRIPTION_INDEXED: Final = 40
# It comes after all that begins with what is before it.
_LAST: Final = "\U0010ffff"
_SEPARATORS: Final = re.compile(r"[-:.\s]")
_HEX: Final = re.compile(r"[0-9a-f]{1,12}")
# A maker's four letters as hexadecimal digits, and what follows.
_MAKER_IN_HEX: Final = re.compile(r"((?:[3-7][0-9A-F]){4})([0-9A-F]{0,8})")


class Beginning(Func):
    """In small letters and in the order of bytes, in which all that begins alike is together."""

    # In numbers, not in parameters: only so do databases see that an index has it.
    template = f'lower(substr(%(expressions)s, 1, {DESCRIPTION_INDEXED})) COLLATE "C"'
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **rest: Any) -> Any:
        """It has no other order."""
        return self.as_sql(compiler, connection, template=self.template.removesuffix(' COLLATE "C"'), **rest)


class InOrderOfBytes(OrderBy):
    """That of the index which PostgreSQL has for LIKE. In any other order it reads by that, or by ids and
    whatever it comes by, as it guesses how many there are: a wrong guess took it through half of a million.
    """

    # Django looks for the word to tell what is ordered by from how.
    template = "%(expression)s USING ~<~ /* ASC */"


class Ask(NamedTuple):
    """A question to one index, and the order in which no more are read than are wanted."""

    found: Q
    order: Any


def beginnings(text: str) -> list[Ask]:
    """In capitals or not, a serial and a MAC with whatever between their letters."""
    asks = [_column("serial", serial) for serial in serials_of(text)]
    if mac := mac_of(text):
        asks.append(_column("mac", mac))
    return [*asks, _description(text[:DESCRIPTION_INDEXED])]


def serials_of(text: str) -> list[str]:
    """A serial, or how one begins, in the ways that it may be stored: as it is, in capitals, and with its
    maker in letters where it is in hexadecimal digits here.
    """
    letters = _SEPARATORS.sub("", text)
    ways = [letters.upper(), letters]
    if in_hex := _MAKER_IN_HEX.fullmatch(letters.upper()):
        ways.append(bytes.fromhex(in_hex[1]).decode("ascii") + in_hex[2])
    return list(dict.fromkeys(ways))


def mac_of(text: str) -> str:
    """A MAC, or a part of one that begins with an octet; empty if it is none."""
    letters = _SEPARATORS.sub("", text).lower()
    return ":".join(re.findall("..?", letters)) if _HEX.fullmatch(letters) else ""


def _description(text: str) -> Ask:
    first, last = Lower(Value(text)), Lower(Value(text + _LAST))
    found = Q(GreaterThanOrEqual(Beginning("description"), first), LessThan(Beginning("description"), last))
    return Ask(found, Beginning("description").asc())


def _column(name: str, text: str) -> Ask:
    if connection.vendor == "sqlite":
        # Its LIKE would look at every row, and it would sort all that it finds by anything but the index.
        return Ask(Q(**{f"{name}__gte": text, f"{name}__lt": text + _LAST}), name)
    return Ask(Q(**{f"{name}__startswith": text}), InOrderOfBytes(F(name)))
