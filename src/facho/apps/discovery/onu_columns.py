"""The columns in which facts of an ONU are stored, and the values that a database may hold in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.db import models

from facho.apps.db.sql import db_text
from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_identity import is_blank
from facho.vendors import Key
from facho.vendors.errors import BadIndex
from facho.vendors.index import join_arcs, split_arcs

# What PostgreSQL's integer holds; SQLite would take more.
_LARGEST: Final = 2**31 - 1
_CACHE_SIZE: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A column of an ONU, and how decoded values get into it."""

    name: str
    # The facts that fill it; a later one counts where the earlier ones are empty.
    facts: tuple[str, ...]
    empty: str | None
    # Converts a whole column quickly, so that it can be compared with what is stored.
    plain: Callable[[list[object]], list[Any]]
    # Converts one value that differs to what may be stored.
    clean: Callable[[Any], Any]


def _texts(values: list[object]) -> list[Any]:
    return [value or "" for value in values]


def _meanings(values: list[object]) -> list[Any]:
    return ["" if value is None else value.meaning for value in values]  # type: ignore[attr-defined]


def _unchanged(values: list[object]) -> list[Any]:
    return values


def _cut_text(name: str) -> Callable[[Any], str]:
    field = Onu._meta.get_field(name)
    assert isinstance(field, models.Field)
    longest = field.max_length
    return lambda value: db_text(str(value), longest)


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def whole(value: Any) -> int | None:
    return int(value) if _number(value) is not None and abs(value) <= _LARGEST else None


def _text(name: str, *otherwise: str) -> StoredFact:
    return StoredFact(name, (name, *otherwise), "", _texts, _cut_text(name))


def _word(name: str) -> StoredFact:
    return StoredFact(name, (name,), "", _meanings, _cut_text(name))


def _measure(name: str) -> StoredFact:
    return StoredFact(name, (name,), None, _unchanged, _number)


def _identity(name: str) -> StoredFact:
    """A serial or MAC of zeros identifies nobody, and is stored as empty."""
    cut = _cut_text(name)
    return StoredFact(name, (name,), "", _texts, lambda value: "" if is_blank(value) else cut(value))


IDENTITY: Final = (_identity("serial"), _identity("mac"))
VALUES: Final = (
    _text("description", "name"),
    _text("model", "type"),
    _text("plan"),
    StoredFact("distance_m", ("distance_m",), None, _unchanged, whole),
    _word("state"),
    _word("down_cause"),
    _measure("onu_rx_dbm"),
    _measure("onu_tx_dbm"),
    _measure("olt_rx_dbm"),
    _measure("temperature_c"),
)
# The numbers of a place, which columns may provide where the index does not.
PARTS: Final = tuple(
    StoredFact(name, (name,), None, _unchanged, whole) for name in ("frame", "slot", "port", "onu_id")
)
PLACE: Final = ("address", "raw_index", *(part.name for part in PARTS), "extra", "technology")


def place_columns(key: Key, suffix: bytes, technology: str) -> tuple[Any, ...]:
    """Return the values of the columns of PLACE."""
    extra = "" if key.extra is None else _EXTRA(key.extra)
    return (ADDRESSES[key], INDEXES[suffix], *map(whole, key[:4]), extra, technology)


_EXTRA: Final = _cut_text("extra")


def interface(
    frame: int | None, slot: int | None, port: int | None, onu: int | None, extra: str, raw_index: str
) -> str:
    """Return a place as people name it. It differs for each ONU of an OLT, also for one without a number on
    its port or without a port. It is empty only if nothing at all is known of the place.
    """
    place, number = str(Key(frame, slot, port)), extra if onu is None else str(onu)
    return ":".join(part for part in (place, number) if part) or raw_index


class _TextCache(dict[Any, str]):
    """The texts of places and indexes, which are the same in every collection: each is made once."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, key: Any) -> str:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        text = self[key] = self._write(key)
        return text

    def all(self, keys: Iterable[Any]) -> list[str]:
        return list(map(self.__getitem__, keys))


def _dotted(suffix: bytes) -> str:
    try:
        return _INDEX(".".join(map(str, split_arcs(suffix))))
    except BadIndex:
        return ""


@lru_cache(maxsize=_CACHE_SIZE)
def index_octets(dotted: str) -> bytes:
    """Return a stored index as it travels; empty for one that is not known or was cut."""
    numbers = dotted.split(".")
    return join_arcs(tuple(map(int, numbers))) if all(map(str.isdecimal, numbers)) else b""


_ADDRESS: Final = _cut_text("address")
_INDEX: Final = _cut_text("raw_index")
ADDRESSES: Final = _TextCache(_ADDRESS)
INDEXES: Final = _TextCache(_dotted)
