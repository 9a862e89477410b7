"""The ONUs of one OLT in memory, column by column: read once, and only what differs is written."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from facho.apps.discovery import statements
from facho.apps.discovery.columns import IDENTITY, PARTS, PLACE, VALUES, StoredFact
from facho.apps.discovery.models import Presence
from facho.apps.discovery.recognise import Identities

_IDENTITY: Final = tuple(each.name for each in IDENTITY)
_VALUES: Final = tuple(each.name for each in VALUES)
_PRESENCE: Final = ("presence", "missed")
_PARTS: Final = tuple(each.name for each in PARTS)
# What only some ONUs have, and is seldom looked at.
_SELDOM: Final = ("told_parts", "named_by", "state_before", "optical_state", "rx_usual_of")
_EMPTY: Final[Mapping[str, Any]] = {
    **{each.name: each.empty for each in (*IDENTITY, *VALUES, *PARTS)},
    "presence": Presence.PRESENT.value,
    "missed": 0,
    "rx_usual_dbm": None,
}
# Of the rows of a finding in the roster; negative for those that have none. The range of the whole roster is
# the usual case: it can be compared at once.
Positions = list[int] | range


class Roster:
    """An ONU is its position here; those that are new come last."""

    def __init__(self, olt_id: int, columns: Iterable[str]) -> None:
        names = list(dict.fromkeys(("address", "presence", *columns)))
        ids, *read = statements.read(olt_id, ("id", *names))
        self._olt_id = olt_id
        self._known = len(ids)
        # Of those that are new, once they are written.
        self.ids: list[int] = ids
        self._before: dict[str, list[Any]] = dict(zip(names, read, strict=True))
        self._now: dict[str, list[Any]] = {}
        # What differs, by column, from when nothing changes any more.
        self._settled: dict[str, list[int]] = {}
        # The place of those that are new, or somewhere else than before.
        self._places: dict[int, tuple[Any, ...]] = {}

    @property
    def known(self) -> int:
        """How many were there before."""
        return self._known

    @property
    def size(self) -> int:
        return len(self["address"])

    def __contains__(self, column: str) -> bool:
        return column in self._before

    def __getitem__(self, column: str) -> list[Any]:
        return self._now.get(column) or self._before[column]

    def before(self, column: str) -> list[Any]:
        """Of those that are known, as it is stored."""
        return self._before[column]

    @property
    def identities(self) -> Identities:
        return Identities(self["address"], self["serial"], self["mac"])

    def positions(self, at: list[int]) -> Positions:
        everybody = range(self.size)
        return everybody if at == list(everybody) else at

    def load(self, *columns: str) -> None:
        """What was not thought to be needed."""
        missing = [column for column in columns if column not in self._before]
        if not missing:
            return
        read = statements.read(self._olt_id, missing) if self.known else [[] for _ in missing]
        for column, values in zip(missing, read, strict=True):
            self._before[column] = values
            new = range(self.known, self.size)
            if new:
                self.own(column).extend(self._begin(column, position) for position in new)

    def _begin(self, column: str, position: int) -> Any:
        return self._places[position][PLACE.index(column)] if column in PLACE else _EMPTY.get(column, "")

    def own(self, column: str) -> list[Any]:
        """To be changed."""
        if column not in self._now:
            self._now[column] = list(self._before[column])
        return self._now[column]

    def add(self, place: tuple[Any, ...]) -> int:
        """A new ONU, of which nothing is known yet but its place."""
        position = self.size
        self._places[position] = place
        for column in self._before:
            self.own(column).append(self._begin(column, position))
        return position

    def put(self, position: int, place: tuple[Any, ...]) -> None:
        """A known one at a place, which whoever was there before must have left."""
        self.load(*_PARTS, "told_parts")
        self._places[position] = place
        told = self._told_parts(position)
        for column, value in zip(PLACE, place, strict=True):
            if column in self and (value is not None or column not in told):
                self.own(column)[position] = value
        # What a column told holds until a column tells it anew, or the index tells it.
        by_index = {column for column, value in zip(PLACE, place, strict=True) if value is not None}
        if by_index.intersection(told):
            self.own("told_parts")[position] = " ".join(part for part in told if part not in by_index)

    def fill(self, stored: StoredFact, at: Positions, values: Sequence[Any], *, keep: bool) -> None:
        """Where an empty value keeps what was there, if it must."""
        if isinstance(at, range) and self[stored.name] == values:
            return
        column, clean, empty = self.own(stored.name), stored.clean, stored.empty
        for position, value in zip(at, values, strict=True):
            if position >= 0 and column[position] != value:
                value = clean(value)
                if value != empty or not keep:
                    column[position] = value

    def fill_empty(self, stored: StoredFact, at: Positions, values: Sequence[Any]) -> None:
        column = self.own(stored.name)
        for position, value in zip(at, values, strict=True):
            if position >= 0 and column[position] == stored.empty:
                column[position] = stored.clean(value)

    def note_told(self, part: str, at: Positions) -> None:
        """That it was a column that told this number of their places."""
        values, noted = self[part], self.own("told_parts")
        for position in at:
            if position >= 0 and values[position] is not None and part not in self._told_parts(position):
                noted[position] = f"{noted[position]} {part}".strip()

    def settle(self) -> None:
        """All that was told is in: what differs is looked for once."""
        self._settled = {column: self._differing(column) for column in self._now}

    def differing(self, *columns: str) -> set[int]:
        """Which of the known differ from what is stored in one of these."""
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
        """Those about whom something else is known now."""
        return self.differing(*_IDENTITY, *_VALUES)

    def moved(self) -> list[int]:
        """Who came to another place; not who came back to the one that it had lost."""
        before, elsewhere = self._before["address"], self.differing("raw_index")
        came = [position for position in self._differing("address") if position in self._places]
        by_index = {position for position in came if before[position] is not None or position in elsewhere}
        by_column = self.differing(*_PARTS).difference(by_index)
        return sorted(by_index | {position for position in by_column if self._has_other_part(position)})

    def _has_other_part(self, position: int) -> bool:
        """One that a column told before, and tells otherwise now. One that is told first is no move."""
        parts = ((self._before[part][position], self[part][position]) for part in self._told_parts(position))
        return any(before is not None and now is not None and before != now for before, now in parts)

    def _told_parts(self, position: int) -> list[str]:
        told: list[str] = self["told_parts"][position].split()
        return told

    def write(self, now: datetime) -> None:
        # A place is held by one ONU at every moment: all who leave one do so before anybody comes.
        left = self._before["address"]
        leaving = [position for position in self._differing("address") if left[position] is not None]
        statements.update(("address",), [(self.ids[position], None) for position in leaving])
        moved = sorted(position for position in self._places if position < self.known)
        statements.update(PLACE, [(self.ids[position], *self._place(position)) for position in moved])
        self._write(_PARTS, self._places)
        self._write(_IDENTITY)
        self._write(_VALUES)
        self._write(_SELDOM)
        self._write_presence(now)
        self._insert(now)

    def place(self, position: int) -> dict[str, Any]:
        """What can be said of it from here. It is all of PLACE for who is new or came to another one."""
        given = dict(zip(PLACE, self._places.get(position, ()), strict=False))
        return {**given, **{column: self[column][position] for column in PLACE if column in self}}

    def _place(self, position: int) -> tuple[Any, ...]:
        """As it is by now: somebody else may have taken the address, and columns may have told more."""
        place = zip(PLACE, self._places[position], strict=True)
        return tuple(self[column][position] if column in self else value for column, value in place)

    def _write(self, group: Iterable[str], written: Container[int] = ()) -> None:
        """The columns of a group that changed, for every ONU that changed in one of them."""
        columns = [column for column in group if self._differing(column)]
        changed = (position for position in self.differing(*columns) if position not in written)
        statements.update(columns, [self._row(position, columns) for position in sorted(changed)])

    def _write_presence(self, now: datetime) -> None:
        when = connection.ops.adapt_datetimefield_value(now)
        changed = self._differing("presence")
        statements.update(
            (*_PRESENCE, "last_seen"), [(*self._row(position, _PRESENCE), when) for position in changed]
        )
        counted = sorted(self.differing("missed").difference(changed))
        statements.update(("missed",), [self._row(position, ("missed",)) for position in counted])

    def _row(self, position: int, columns: Iterable[str]) -> tuple[Any, ...]:
        return (self.ids[position], *(self[column][position] for column in columns))

    def _insert(self, now: datetime) -> None:
        new = range(self.known, self.size)
        if not new:
            return
        when = connection.ops.adapt_datetimefield_value(now)
        facts = (*_IDENTITY, *_VALUES, *_PRESENCE, *_SELDOM)
        told = [
            self[name][self.known :] if name in self._now else [_EMPTY.get(name, "")] * len(new)
            for name in facts
        ]
        rows = [
            (self._olt_id, when, when, *self._place(position), *values)
            for position, values in zip(new, zip(*told, strict=True), strict=True)
        ]
        statements.insert(("olt_id", "first_seen", "last_seen", *PLACE, *facts), rows)
        self._read_ids(new)

    def _read_ids(self, new: range) -> None:
        """By address. Those that lost theirs in this very collection are told by their order."""
        came = statements.read_after(self._olt_id, max(self.ids, default=0))
        by_address = {address: number for number, address in came}
        without = iter([number for number, address in came if address is None])
        addresses = (self["address"][position] for position in new)
        self.ids += [next(without) if address is None else by_address[address] for address in addresses]
