"""The ONUs of one OLT in memory, column by column: read once, and only what differs is written.

First the columns in which facts of an ONU are stored, and the values that a database may hold in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from django.db import models

from facho.apps.db import sql
from facho.apps.db.sql import db_text, fetch_columns, insert_rows, update_columns, update_rows
from facho.apps.discovery.models import Onu, Presence
from facho.apps.discovery.onu_identity import Identities, is_blank
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
    # Tells quickly that `clean` would leave every value of a column as it is; False where it is not known.
    is_clean: Callable[[Sequence[Any]], bool] = lambda _: False


def _texts(values: list[object]) -> list[Any]:
    return [value or "" for value in values]


def _written(values: list[object]) -> list[Any]:
    return ["" if value is None else str(value) for value in values]


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


def _are_finite(values: Sequence[Any]) -> bool:
    """Return whether there are only finite numbers and None: any other number is one in the sum too."""
    return math.isfinite(sum(filter(None, values)))


def whole(value: Any) -> int | None:
    return int(value) if _number(value) is not None and abs(value) <= _LARGEST else None


def _text(name: str, *otherwise: str) -> StoredFact:
    return StoredFact(name, (name, *otherwise), "", _texts, _cut_text(name))


def _word(name: str) -> StoredFact:
    return StoredFact(name, (name,), "", _meanings, _cut_text(name))


def _measure(name: str) -> StoredFact:
    return StoredFact(name, (name,), None, _unchanged, _number, _are_finite)


def _identity(name: str) -> StoredFact:
    """A serial or MAC of zeros identifies nobody, and is stored as empty."""
    cut = _cut_text(name)
    return StoredFact(name, (name,), "", _texts, lambda value: "" if is_blank(value) else cut(value))


IDENTITY: Final = (_identity("serial"), _identity("mac"))
VALUES: Final = (
    _text("description", "name"),
    _text("model", "type"),
    _text("plan"),
    _text("hw_version"),
    _text("sw_version"),
    StoredFact("distance_m", ("distance_m",), None, _unchanged, whole),
    _word("state"),
    _word("down_cause"),
    _measure("onu_rx_dbm"),
    _measure("onu_tx_dbm"),
    _measure("olt_rx_dbm"),
    _measure("temperature_c"),
    StoredFact("ip", ("ip",), "", _written, _cut_text("ip")),
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


_IDENTITY: Final = tuple(each.name for each in IDENTITY)
# Facts without a column, as one text: `facho.apps.extras`.
EXTRAS: Final = "extras"
_VALUES: Final = (*(each.name for each in VALUES), EXTRAS)
_PRESENCE: Final = ("presence", "missed")
_PARTS: Final = tuple(each.name for each in PARTS)
# Columns that few ONUs have, and that are seldom read.
_SELDOM: Final = ("told_parts", "named_by", "state_before", "optical_state", "rx_usual_of")
_EMPTY: Final[Mapping[str, Any]] = {
    **{each.name: each.empty for each in (*IDENTITY, *VALUES, *PARTS)},
    "presence": Presence.PRESENT.value,
    "missed": 0,
    "rx_usual_dbm": None,
}
# Where the rows of a finding are in the roster; negative for rows that are not. The range of the whole roster
# is the usual case: it is compared at once.
Positions = list[int] | range


class Roster:
    """An ONU is its position here; new ones come last."""

    def __init__(self, olt_id: int, columns: Iterable[str]) -> None:
        names = list(dict.fromkeys(("address", "presence", *columns)))
        ids, *read = fetch_columns(Onu, olt_id, ("id", *names))
        self._olt_id = olt_id
        self._known = len(ids)
        # With those of new ONUs, once they are written.
        self.ids: list[int] = ids
        self._before: dict[str, list[Any]] = dict(zip(names, read, strict=True))
        self._now: dict[str, list[Any]] = {}
        # The positions that differ, by column, from when nothing changes any more.
        self._settled: dict[str, list[int]] = {}
        # The places of ONUs that are new or moved.
        self._places: dict[int, tuple[Any, ...]] = {}

    @property
    def known(self) -> int:
        """Return the number of ONUs that were stored before."""
        return self._known

    @property
    def size(self) -> int:
        return len(self["address"])

    def __contains__(self, column: str) -> bool:
        return column in self._before

    def __getitem__(self, column: str) -> list[Any]:
        return self._now.get(column) or self._before[column]

    def before(self, column: str) -> list[Any]:
        """Return the stored values of the known ONUs."""
        return self._before[column]

    def editable(self, column: str) -> list[Any]:
        """Return the values of a column in a list that may be changed."""
        if column not in self._now:
            self._now[column] = list(self._before[column])
        return self._now[column]

    @property
    def identities(self) -> Identities:
        return Identities(self["address"], self["serial"], self["mac"])

    def compact(self, positions: list[int]) -> Positions:
        """Return the range of the whole roster if these are all of it, in its order."""
        everybody = range(self.size)
        return everybody if positions == list(everybody) else positions

    def load(self, *columns: str) -> None:
        """Read columns that were not read with the others."""
        missing = [column for column in columns if column not in self._before]
        if not missing:
            return
        read = fetch_columns(Onu, self._olt_id, missing) if self.known else [[] for _ in missing]
        for column, values in zip(missing, read, strict=True):
            self._before[column] = values
            new = range(self.known, self.size)
            if new:
                self.editable(column).extend(self._initial_values(column, new))

    def _initial_values(self, column: str, positions: range) -> list[Any]:
        if column not in PLACE:
            return [_EMPTY.get(column, "")] * len(positions)
        number = PLACE.index(column)
        return [self._places[position][number] for position in positions]

    def add(self, places: Sequence[tuple[Any, ...]]) -> range:
        """Add new ONUs of which only the places are known. Return their positions."""
        positions = range(self.size, self.size + len(places))
        self._places.update(zip(positions, places, strict=True))
        for column in self._before if places else ():
            self.editable(column).extend(self._initial_values(column, positions))
        return positions

    def move(self, position: int, place: tuple[Any, ...]) -> None:
        """Put a known ONU at a place, which the one that was there before must have left."""
        self.load(*_PARTS, "told_parts")
        self._places[position] = place
        by_columns = self._told_parts(position)
        for column, value in zip(PLACE, place, strict=True):
            if column in self and (value is not None or column not in by_columns):
                self.editable(column)[position] = value
        # A number from a column holds until a column provides another, or the index does.
        by_index = {column for column, value in zip(PLACE, place, strict=True) if value is not None}
        if by_index.intersection(by_columns):
            kept = [part for part in by_columns if part not in by_index]
            self.editable("told_parts")[position] = " ".join(kept)

    def fill(self, stored: StoredFact, positions: Positions, values: Sequence[Any], *, keep: bool) -> None:
        """Set the values at these positions. With `keep`, an empty value keeps what was there."""
        if isinstance(positions, range) and self[stored.name] == values:
            return
        is_whole = isinstance(positions, range) and len(values) == self.size
        if is_whole and not keep and stored.is_clean(values):
            self._now[stored.name] = list(values)
            return
        column, clean, empty = self.editable(stored.name), stored.clean, stored.empty
        for position, value in zip(positions, values, strict=True):
            if position >= 0 and column[position] != value:
                value = clean(value)
                if value != empty or not keep:
                    column[position] = value

    def fill_empty(self, stored: StoredFact, positions: Positions, values: Sequence[Any]) -> None:
        """Set the values where there is none."""
        column = self.editable(stored.name)
        for position, value in zip(positions, values, strict=True):
            if position >= 0 and column[position] == stored.empty:
                column[position] = stored.clean(value)

    def mark_told(self, part: str, positions: Positions) -> None:
        """Record that a column, not the index, provided this number of their places."""
        values, parts = self[part], self.editable("told_parts")
        for position in positions:
            if position >= 0 and values[position] is not None and part not in self._told_parts(position):
                parts[position] = f"{parts[position]} {part}".strip()

    def settle(self) -> None:
        """Look for differences once, when all values are in."""
        self._settled = {column: self._differing(column) for column in self._now}

    def differing(self, *columns: str) -> set[int]:
        """Return the known ONUs that differ from what is stored in one of these columns."""
        return {position for column in columns for position in self._differing(column)}

    def _differing(self, column: str) -> list[int]:
        if column in self._settled:
            return self._settled[column]
        if column not in self._now or self._before[column] == self._now[column]:
            return []
        both = zip(self._before[column], self._now[column], strict=False)
        return [position for position, (before, now) in enumerate(both) if before != now]

    @property
    def changed(self) -> set[int]:
        """Return the ONUs whose identity or values changed."""
        return self.differing(*_IDENTITY, *_VALUES)

    def moved(self) -> list[int]:
        """Return the ONUs at another place; not those that are back at the place that they had lost."""
        before, elsewhere = self._before["address"], self.differing("raw_index")
        placed = [position for position in self._differing("address") if position in self._places]
        by_index = {position for position in placed if before[position] is not None or position in elsewhere}
        by_column = self.differing(*_PARTS).difference(by_index)
        return sorted(by_index | {position for position in by_column if self._has_other_part(position)})

    def _has_other_part(self, position: int) -> bool:
        """Return whether a column provides another number than before. The first number is no move."""
        parts = ((self._before[part][position], self[part][position]) for part in self._told_parts(position))
        return any(before is not None and now is not None and before != now for before, now in parts)

    def _told_parts(self, position: int) -> list[str]:
        """Return the numbers of its place that come from columns."""
        parts: list[str] = self["told_parts"][position].split()
        return parts

    def place(self, position: int) -> dict[str, Any]:
        """Return what is known here of a place: all columns of PLACE for an ONU that is new or moved."""
        given = dict(zip(PLACE, self._places.get(position, ()), strict=False))
        return {**given, **{column: self[column][position] for column in PLACE if column in self}}

    def write(self, now: datetime) -> None:
        # An address is unique at every moment: old ones are cleared before any is set.
        before = self._before["address"]
        leaving = [position for position in self._differing("address") if before[position] is not None]
        _update(("address",), [(self.ids[position], None) for position in leaving])
        moved = sorted(position for position in self._places if position < self.known)
        _update(PLACE, [(self.ids[position], *self._place_row(position)) for position in moved])
        self._write_group(_PARTS, self._places)
        self._write_group(_IDENTITY)
        self._write_group(_VALUES)
        self._write_group(_SELDOM)
        self._write_presence(now)
        self._insert_new(now)

    def _place_row(self, position: int) -> tuple[Any, ...]:
        """Return the place as it is by now: another ONU may have taken the address, and columns may have
        provided more numbers.
        """
        place = zip(PLACE, self._places[position], strict=True)
        return tuple(self[column][position] if column in self else value for column, value in place)

    def _write_group(self, group: Iterable[str], written: Container[int] = ()) -> None:
        """Write the columns of a group that changed, for every ONU that changed in one of them."""
        columns = [column for column in group if self._differing(column)]
        changed = [position for position in sorted(self.differing(*columns)) if position not in written]
        keys, *values = (self._pick(each, changed) for each in (self.ids, *map(self.__getitem__, columns)))
        update_columns(Onu, columns, keys, values, is_adapted=True)

    def _pick(self, values: list[Any], positions: Sequence[int]) -> list[Any]:
        if len(positions) == len(values):
            return values
        return [values[position] for position in positions]

    def _write_presence(self, now: datetime) -> None:
        at = sql.db_time(now)
        changed = self._differing("presence")
        rows = [(*self._row(position, _PRESENCE), at) for position in changed]
        _update((*_PRESENCE, "last_seen"), rows)
        counted = sorted(self.differing("missed").difference(changed))
        _update(("missed",), [self._row(position, ("missed",)) for position in counted])

    def _row(self, position: int, columns: Iterable[str]) -> tuple[Any, ...]:
        return (self.ids[position], *(self[column][position] for column in columns))

    def _insert_new(self, now: datetime) -> None:
        new = range(self.known, self.size)
        if not new:
            return
        at = sql.db_time(now)
        facts = (*_IDENTITY, *_VALUES, *_PRESENCE, *_SELDOM)
        values = [
            self[name][self.known :] if name in self._now else [_EMPTY.get(name, "")] * len(new)
            for name in facts
        ]
        rows = [
            (self._olt_id, at, at, *self._place_row(position), *row)
            for position, row in zip(new, zip(*values, strict=True), strict=True)
        ]
        columns = ("olt_id", "first_seen", "last_seen", *PLACE, *facts)
        insert_rows(Onu, columns, rows, is_adapted=True)
        self._read_ids(new)

    def _read_ids(self, new: range) -> None:
        """Read the ids of new ONUs by address. Those that lost it in this very collection come in order."""
        found = sql.fetch_rows(_NEW_IDS, [self._olt_id, max(self.ids, default=0)])
        by_address = {address: number for number, address in found}
        without = iter([number for number, address in found if address is None])
        addresses = (self["address"][position] for position in new)
        self.ids += [next(without) if address is None else by_address[address] for address in addresses]


_NEW_IDS: Final = "SELECT id, address FROM onu_data WHERE olt_id = %s AND id > %s ORDER BY id"


def _update(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    update_rows(Onu, columns, rows, is_adapted=True)
