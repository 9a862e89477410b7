"""Which facts of an ONU are stored, in which column, and what a database may hold of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.db import models

from facho.apps.discovery.models import Onu
from facho.apps.discovery.recognise import is_blank
from facho.vendors import Key
from facho.vendors.errors import BadIndex
from facho.vendors.index import join_arcs, split_arcs

# What PostgreSQL's integer holds; SQLite would take more.
_LARGEST: Final = 2**31 - 1
_REMEMBERED: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class StoredFact:
    name: str
    # The facts that it comes from; a later one counts where the earlier ones are empty.
    facts: tuple[str, ...]
    empty: str | None
    # A whole column, quickly, so that most values can be compared with what is stored.
    plain: Callable[[list[object]], list[Any]]
    # One value that differs, as it may be stored.
    clean: Callable[[Any], Any]


def _texts(values: list[object]) -> list[Any]:
    return [value or "" for value in values]


def _meanings(values: list[object]) -> list[Any]:
    return ["" if value is None else value.meaning for value in values]  # type: ignore[attr-defined]


def _as_they_are(values: list[object]) -> list[Any]:
    return values


def _text_of(name: str) -> Callable[[Any], str]:
    field = Onu._meta.get_field(name)
    assert isinstance(field, models.Field)
    longest = field.max_length
    # PostgreSQL refuses NUL in a text.
    return lambda value: str(value).replace("\0", "")[:longest]


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def whole(value: Any) -> int | None:
    return int(value) if _number(value) is not None and abs(value) <= _LARGEST else None


def _text(name: str, *otherwise: str) -> StoredFact:
    return StoredFact(name, (name, *otherwise), "", _texts, _text_of(name))


def _word(name: str) -> StoredFact:
    return StoredFact(name, (name,), "", _meanings, _text_of(name))


def _measure(name: str) -> StoredFact:
    return StoredFact(name, (name,), None, _as_they_are, _number)


def _identity(name: str) -> StoredFact:
    """Zeros are nobody's."""
    cut = _text_of(name)
    return StoredFact(name, (name,), "", _texts, lambda value: "" if is_blank(value) else cut(value))


IDENTITY: Final = (_identity("serial"), _identity("mac"))
VALUES: Final = (
    _text("description", "name"),
    _text("model", "type"),
    _text("plan"),
    StoredFact("distance_m", ("distance_m",), None, _as_they_are, whole),
    _word("state"),
    _word("down_cause"),
    _measure("onu_rx_dbm"),
    _measure("onu_tx_dbm"),
    _measure("olt_rx_dbm"),
    _measure("temperature_c"),
)
# The numbers of a place that a column may tell, where the index does not.
PARTS: Final = tuple(
    StoredFact(name, (name,), None, _as_they_are, whole) for name in ("frame", "slot", "port", "onu_id")
)
PLACE: Final = ("address", "raw_index", *(part.name for part in PARTS), "extra", "technology")


def place(key: Key, suffix: bytes, technology: str) -> tuple[Any, ...]:
    """The columns of PLACE."""
    extra = "" if key.extra is None else _EXTRA(key.extra)
    return (ADDRESSES[key], INDEXES[suffix], *map(whole, key[:4]), extra, technology)


_EXTRA: Final = _text_of("extra")


def interface(
    frame: int | None, slot: int | None, port: int | None, onu: int | None, extra: str, raw_index: str
) -> str:
    """A place as people name it, and another one for each ONU, also where it has no number on its port or no
    port. Empty only if nothing at all is known of it.
    """
    place, who = str(Key(frame, slot, port)), extra if onu is None else str(onu)
    return ":".join(part for part in (place, who) if part) or raw_index


class _Remembered(dict[Any, str]):
    """Places and indices are the same in every collection: each is written out once."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, what: Any) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        written = self[what] = self._write(what)
        return written

    def all(self, of: Iterable[Any]) -> list[str]:
        return list(map(self.__getitem__, of))


def _dotted(suffix: bytes) -> str:
    try:
        return _INDEX(".".join(map(str, split_arcs(suffix))))
    except BadIndex:
        return ""


@lru_cache(maxsize=_REMEMBERED)
def index_octets(dotted: str) -> bytes:
    """Return a stored index as it travels; nothing for one that is not known or was cut short."""
    numbers = dotted.split(".")
    return join_arcs(tuple(map(int, numbers))) if all(map(str.isdecimal, numbers)) else b""


_ADDRESS: Final = _text_of("address")
_INDEX: Final = _text_of("raw_index")
ADDRESSES: Final = _Remembered(_ADDRESS)
INDEXES: Final = _Remembered(_dotted)
