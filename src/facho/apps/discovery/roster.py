"""The ONUs of one OLT in memory, column by column: read once, and only what differs is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from facho.apps.discovery import statements
from facho.apps.discovery.columns import IDENTITY, PLACE, VALUES, StoredFact
from facho.apps.discovery.models import Presence
from facho.apps.discovery.recognise import Identities

_IDENTITY: Final = tuple(each.name for each in IDENTITY)
_VALUES: Final = tuple(each.name for each in VALUES)
_PRESENCE: Final = ("presence", "missed")
_EMPTY: Final[Mapping[str, Any]] = {
    **{each.name: each.empty for each in (*IDENTITY, *VALUES)},
    "presence": Presence.PRESENT.value,
    "missed": 0,
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
        self._ids: list[int] = ids
        self._before: dict[str, list[Any]] = dict(zip(names, read, strict=True))
        self._now: dict[str, list[Any]] = {}
        # What differs, by column, from when it is written on.
        self._written: dict[str, list[int]] = {}
        # The place of those that are new, or somewhere else than before.
        self._places: dict[int, tuple[Any, ...]] = {}

    @property
    def known(self) -> int:
        """How many were there before."""
        return len(self._ids)

    def __getitem__(self, column: str) -> list[Any]:
        return self._now.get(column) or self._before[column]

    @property
    def identities(self) -> Identities:
        return Identities(self["address"], self["serial"], self["mac"])

    def positions(self, at: list[int]) -> Positions:
        everybody = range(len(self["address"]))
        return everybody if at == list(everybody) else at

    def own(self, column: str) -> list[Any]:
        """To be changed."""
        if column not in self._now:
            self._now[column] = list(self._before[column])
        return self._now[column]

    def add(self) -> int:
        """A new ONU, of which nothing is known yet."""
        for column in self._before:
            self.own(column).append(_EMPTY.get(column, ""))
        return len(self._now["address"]) - 1

    def put(self, position: int, place: tuple[Any, ...]) -> None:
        """At a place, which whoever was there before must have left."""
        self._places[position] = place
        for column, value in zip(PLACE, place, strict=True):
            if column in self._before:
                self.own(column)[position] = value

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

    def differing(self, *columns: str) -> set[int]:
        """Which of the known differ from what is stored in one of these."""
        return {position for column in columns for position in self._differing(column)}

    def _differing(self, column: str) -> list[int]:
        """Looked for once it is written, and not again after that."""
        if column in self._written:
            return self._written[column]
        if column not in self._now or self._before[column] == self._now[column]:
            return []
        both = zip(self._before[column], self._now[column], strict=False)
        return [position for position, (before, now) in enumerate(both) if before != now]

    @property
    def changed(self) -> set[int]:
        """Those about whom something else is known now."""
        return self.differing(*_IDENTITY, *_VALUES)

    @property
    def moved(self) -> int:
        """How many came to another place; not those that came back to the one that they had lost."""
        before, elsewhere = self._before["address"], self.differing("raw_index")
        came = (position for position in self._differing("address") if position in self._places)
        return sum(before[position] is not None or position in elsewhere for position in came)

    def write(self, now: datetime) -> None:
        self._written = {column: self._differing(column) for column in self._now}
        # A place is held by one ONU at every moment: all who leave one do so before anybody comes.
        left = self._before["address"]
        leaving = [position for position in self._differing("address") if left[position] is not None]
        statements.update(("address",), [(self._ids[position], None) for position in leaving])
        moved = sorted(position for position in self._places if position < self.known)
        statements.update(PLACE, [(self._ids[position], *self._place(position)) for position in moved])
        self._write(_IDENTITY)
        self._write(_VALUES)
        self._write_presence(now)
        self._insert(now)

    def _place(self, position: int) -> tuple[Any, ...]:
        """Without its address, if somebody else took that since."""
        return (self["address"][position], *self._places[position][1:])

    def _write(self, group: Iterable[str]) -> None:
        """The columns of a group that changed, for every ONU that changed in one of them."""
        columns = [column for column in group if self._differing(column)]
        rows = [self._row(position, columns) for position in sorted(self.differing(*columns))]
        statements.update(columns, rows)

    def _write_presence(self, now: datetime) -> None:
        when = connection.ops.adapt_datetimefield_value(now)
        changed = self._differing("presence")
        statements.update(
            (*_PRESENCE, "last_seen"), [(*self._row(position, _PRESENCE), when) for position in changed]
        )
        counted = sorted(self.differing("missed").difference(changed))
        statements.update(("missed",), [self._row(position, ("missed",)) for position in counted])

    def _row(self, position: int, columns: Iterable[str]) -> tuple[Any, ...]:
        return (self._ids[position], *(self[column][position] for column in columns))

    def _insert(self, now: datetime) -> None:
        when = connection.ops.adapt_datetimefield_value(now)
        facts = (*_IDENTITY, *_VALUES, *_PRESENCE)
        count = len(self["address"]) - self.known
        told = [self[name][self.known :] if name in self._now else [_EMPTY[name]] * count for name in facts]
        places = [self._place(position) for position in range(self.known, self.known + count)]
        rows = [
            (self._olt_id, when, when, *place, *values)
            for place, values in zip(places, zip(*told, strict=True), strict=True)
        ]
        statements.insert(("olt_id", "first_seen", "last_seen", *PLACE, *facts), rows)
