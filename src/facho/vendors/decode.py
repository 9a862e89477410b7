"""Decodes the raw rows of a device into columns of facts.

A decoder is made once per profile. A column without bad rows is read without a Python step for each row; one
bad row makes its column be read row by row, where the bad row is reported and the others are kept.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import eq
from typing import Final, cast

from facho.vendors.errors import BadIndex, BadValue
from facho.vendors.facts import Entity
from facho.vendors.index import (
    CompiledIndex,
    Key,
    NamedNumber,
    compile_index,
    compile_with_names,
    read_names,
    split_arcs,
)
from facho.vendors.rules import Read, Reader, compile_rule
from facho.vendors.schema import Column, IndexLayout, Named, Profile, Source, Table, When

# The rows of a column as the client returns them: index octets -> value.
Rows = Mapping[bytes, object]
_MOST_PROBLEMS: Final = 100
LONGEST_EXAMPLE: Final = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that could not be read, or not all of it."""

    table: str
    fact: str
    index: str
    why: str

    def __str__(self) -> str:
        return f"{self.table}.{self.fact} {self.index}: {self.why}"


class Problems:
    """The first problems of a decoding, and a count of all."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.counts: Counter[tuple[str, str]] = Counter()

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, table: str, fact: str, suffix: bytes, why: str) -> None:
        self.counts[table, fact] += 1
        if len(self.first) < _MOST_PROBLEMS:
            self.first.append(Problem(table, fact, _dotted(suffix), why))


@dataclass(frozen=True, slots=True)
class UnreadableRows:
    """The rows of a table whose index cannot be read or is that of another row, as with new firmware."""

    entity: Entity
    rows: int
    # The index of the first, in dots.
    example: str


class _UnreadableIndexes:
    """The unreadable indexes by table; each counts once, though several columns have it."""

    def __init__(self) -> None:
        self._by_table: dict[str, tuple[Entity, dict[bytes, None]]] = {}

    def add(self, table: str, entity: Entity, suffix: bytes) -> None:
        self._by_table.setdefault(table, (entity, {}))[1][suffix] = None

    def count(self) -> dict[str, UnreadableRows]:
        return {
            table: UnreadableRows(entity, len(suffixes), _shorten(_dotted(next(iter(suffixes)))))
            for table, (entity, suffixes) in self._by_table.items()
        }


def _shorten(index: str) -> str:
    return index if len(index) <= LONGEST_EXAMPLE else f"{index[: LONGEST_EXAMPLE - 3]}..."


def _dotted(suffix: bytes) -> str:
    try:
        return ".".join(map(str, split_arcs(suffix)))
    except BadIndex:
        return f"0x{suffix[:32].hex()}"


@dataclass(slots=True)
class Facts:
    """The facts of one entity: a key for each row, and columns as long as the keys."""

    entity: Entity
    keys: list[Key] = field(default_factory=list)
    # The index of each row in the first table that had it, as it travelled.
    indexes: list[bytes] = field(default_factory=list)
    # GPON or EPON, where the profile tells them apart.
    technologies: list[str] = field(default_factory=list)
    columns: dict[str, list[object]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def row(self, number: int) -> dict[str, object]:
        return {fact: values[number] for fact, values in self.columns.items()}


@dataclass(slots=True)
class Decoded:
    facts: dict[Entity, Facts]
    problems: Problems
    # By table.
    unreadable: dict[str, UnreadableRows] = field(default_factory=dict)

    def __getitem__(self, entity: Entity) -> Facts:
        return self.facts[entity]

    @property
    def onus(self) -> Facts:
        return self.facts[Entity.ONU]

    def has_gaps(self, entity: Entity) -> bool:
        """Return whether rows of this entity were unreadable; then a missing ONU is not known to be gone."""
        return any(rows.entity is entity for rows in self.unreadable.values())


class Decoder:
    """Decodes rows by one profile: `Decoder(profile).decode({oid: rows}).onus.columns["onu_rx_dbm"]`."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        # Tables that are joined by the MAC of others come after them.
        tables = sorted(profile.tables, key=lambda table: "mac" in table.index.gives)
        self._tables = [_CompiledTable(table) for table in tables]

    def decode(self, rows: Mapping[str, Rows]) -> Decoded:
        """Decode these columns. Columns that were not read are missing from the facts."""
        found = Decoded({entity: Facts(entity) for entity in Entity}, Problems())
        collected = {entity: _FactTable(facts) for entity, facts in found.facts.items()}
        named, unreadable = _NamedIndexes(rows, found.problems), _UnreadableIndexes()
        for table in self._tables:
            table.decode(rows, collected[table.entity], found.problems, named, unreadable)
        found.unreadable = unreadable.count()
        return found


@dataclass(slots=True)
class _CompiledColumn:
    fact: str
    # In order of preference.
    sources: tuple[tuple[Source, Reader], ...]


class _CompiledTable:
    def __init__(self, table: Table) -> None:
        self._table = table
        self.entity = table.entity
        self._index = compile_index(table.index)
        self._columns = [_compile_column(column) for column in table.columns]

    def decode(
        self,
        rows: Mapping[str, Rows],
        into: _FactTable,
        problems: Problems,
        named: _NamedIndexes,
        unreadable: _UnreadableIndexes,
    ) -> None:
        given = [
            (compiled.fact, found)
            for compiled in self._columns
            if (found := [each for each in compiled.sources if rows.get(each[0].oid)])
        ]
        if not given:
            return
        conditions = [_passing(rows, when) for when in self._table.rows]
        index = named.find(self._table, self._index)
        joined = into.keys_by_mac() if "mac" in self._table.index.gives else None
        # Most columns of a table have the same rows; then the row numbers are found once.
        row_numbers = _RowNumbers(self._table.name, index, into, problems, joined, unreadable)
        into.technology = self._table.technology
        for fact, sources in given:
            for source, reader in sources:
                column = rows[source.oid]
                for passes in (*conditions, *([_passing(rows, source.when)] if source.when else ())):
                    column = {suffix: raw for suffix, raw in column.items() if passes(suffix)}
                if source.percent_of:
                    column = _percentages(column, rows.get(source.percent_of, {}))
                into.add_column(
                    fact, row_numbers.find(column, fact), self._read(fact, reader, column, problems)
                )

    def _read(self, fact: str, reader: Reader, column: Rows, problems: Problems) -> list[object]:
        if any(issubclass(kind, enum.Enum) for kind in set(map(type, column.values()))):
            for suffix in (suffix for suffix, raw in column.items() if isinstance(raw, enum.Enum)):
                problems.add(self._table.name, fact, suffix, "the agent says that it has no such value")
        try:
            return reader.all(column.values())
        except Exception:  # noqa: BLE001 - whatever a row holds, the others must be read
            return [
                _read_one(reader.one, raw, (problems, self._table.name, fact, suffix))
                for suffix, raw in column.items()
            ]


def _compile_column(column: Column) -> _CompiledColumn:
    fact, usual = column.meaning, compile_rule(column.meaning, column.rule)
    return _CompiledColumn(
        column.fact,
        tuple(
            (source, usual if source.rule is None else compile_rule(fact, source.rule))
            for source in (column.source, *column.otherwise)
        ),
    )


class _NamedIndexes:
    """The indexes that need names of this device, which are read once for all tables."""

    def __init__(self, rows: Mapping[str, Rows], problems: Problems) -> None:
        self._rows = rows
        self._problems = problems
        self._names: dict[Named, list[NamedNumber]] = {}
        self._compiled: dict[IndexLayout, CompiledIndex] = {}

    def find(self, table: Table, unnamed: CompiledIndex) -> CompiledIndex:
        """Return the index of a table; `unnamed` where it has no names or they were not read."""
        layout, named = table.index, table.index.named
        rows = self._rows.get(named.column) if named is not None else None
        if named is None or not rows:
            return unnamed
        if layout not in self._compiled:
            self._compiled[layout] = compile_with_names(layout, self._read_names(named, rows, table.name))
        return self._compiled[layout]

    def _read_names(self, named: Named, rows: Rows, table: str) -> list[NamedNumber]:
        if named not in self._names:
            names = self._names[named] = read_names(named, rows)
            for suffix, name in zip(rows, names, strict=True):
                if name.conflict:
                    self._problems.add(table, "index", suffix, name.conflict)
        return self._names[named]


def _read_one(read: Read, raw: object, where: tuple[Problems, str, str, bytes]) -> object:
    problems, table, fact, suffix = where
    try:
        return read(raw)
    except BadValue as error:
        problems.add(table, fact, suffix, str(error))
        return error.instead
    except Exception as error:  # noqa: BLE001 - an unforeseen value must cost only its own row
        problems.add(table, fact, suffix, f"{type(error).__name__} at a value of {type(raw).__name__}")
        return None


def _passing(rows: Mapping[str, Rows], when: When) -> Callable[[bytes], bool]:
    """Return the condition as a function of the index of a row."""
    deciding, holds = rows.get(when.oid, {}), when.holds
    # Most rows have one of a few values.
    known = {raw: holds(raw) for raw in set(deciding.values())}
    otherwise = holds(None)
    return lambda suffix: known[deciding[suffix]] if suffix in deciding else otherwise


def _percentages(column: Rows, wholes: Rows) -> Rows:
    return {suffix: _percentage(raw, wholes.get(suffix)) for suffix, raw in column.items()}


def _percentage(raw: object, whole: object) -> object:
    """Return the percentage, or None where the whole is missing."""
    if isinstance(raw, int | float) and isinstance(whole, int | float) and whole > 0:
        return 100 * raw / whole
    return None


class _RowNumbers:
    """The row numbers in the facts of the rows of one table."""

    def __init__(
        self,
        table: str,
        index: CompiledIndex,
        into: _FactTable,
        problems: Problems,
        joined: Mapping[object, Key] | None,
        unreadable: _UnreadableIndexes,
    ) -> None:
        self._table = table
        self._index = index
        self._into = into
        self._problems = problems
        self._joined = joined
        self._unreadable = unreadable
        # None before the first column: a condition may leave a column without rows.
        self._suffixes: list[bytes] | None = None
        self._at: list[int] | range = range(0)
        self._complete = True
        # The row that has each key, in all columns of the table.
        self._owners: dict[Key, bytes] = {}
        # The rows of the table before, when this table has the same ones.
        self._inherited: list[bytes] = []

    def find(self, column: Rows, fact: str) -> list[int] | range:
        """Return the row numbers of a column, -1 for rows that are left out."""
        suffixes = list(column)
        if suffixes != self._suffixes:
            self._suffixes, self._at = suffixes, self._find_rows(suffixes, fact)
        return self._at

    def _find_rows(self, suffixes: list[bytes], fact: str) -> list[int] | range:
        into = self._into
        if self._index is into.index and not self._owners and suffixes == into.facts.indexes:
            # The usual case: the table has the rows of the one before it.
            self._inherited = suffixes
            return range(len(suffixes))
        keys = self._keys(suffixes, fact)
        can_start = self._joined is None and self._index.layout.one_to_one and self._complete
        if can_start and not into.facts.keys and not into.facts.columns:
            return into.start(keys, suffixes, self._index)
        return into.add_rows(keys, suffixes)

    def _keys(self, suffixes: list[bytes], fact: str) -> list[Key | None]:
        try:
            keys = list(map(self._index.__getitem__, suffixes))
        except BadIndex:
            keys = [self._key(suffix, fact) for suffix in suffixes]
        if self._joined is not None:
            return [
                None if key is None else self._join(key, suffix, fact)
                for key, suffix in zip(keys, suffixes, strict=True)
            ]
        if self._has_one_row_each:
            return self._drop_duplicates(keys, suffixes, fact)
        return keys

    @property
    def _has_one_row_each(self) -> bool:
        """Return whether each ONU has one row in this table."""
        return self._into.facts.entity is Entity.ONU and not self._index.layout.has_several_rows_each

    def _drop_duplicates(self, keys: list[Key | None], suffixes: list[bytes], fact: str) -> list[Key | None]:
        """Keep the first row of each key: whether a second one is of the same ONU is not known.

        The first row of a column is kept in all columns of the table, so that no ONU is made of two rows.
        """
        owners = self._owners
        if self._inherited and not owners:
            owners.update(zip(self._into.facts.keys, self._inherited, strict=False))
        if None not in keys and all(
            map(eq, map(owners.setdefault, cast(list[Key], keys), suffixes), suffixes)
        ):
            return keys
        found: list[Key | None] = []
        for key, suffix in zip(keys, suffixes, strict=True):
            is_duplicate = key is not None and owners.setdefault(key, suffix) != suffix
            found.append(None if is_duplicate else key)
            if is_duplicate:
                self._report(suffix, fact, f"another row is at {key} too")
        return found

    def _join(self, key: Key, suffix: bytes, fact: str) -> Key | None:
        assert self._joined is not None
        found = self._joined.get(key.extra)
        if found is None:
            self._problems.add(self._table, fact, suffix, f"no {self._into.facts.entity} has {key.extra}")
        return found

    def _key(self, suffix: bytes, fact: str) -> Key | None:
        try:
            return self._index[suffix]
        except BadIndex as error:
            self._report(suffix, fact, str(error))
            return None

    def _report(self, suffix: bytes, fact: str, why: str) -> None:
        self._problems.add(self._table, fact, suffix, why)
        self._unreadable.add(self._table, self._into.facts.entity, suffix)
        self._complete = False


class _FactTable:
    """The facts of one entity while tables are added to them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.technology = ""
        # The index by which all keys were read, while they are of one table.
        self.index: CompiledIndex | None = None
        self._at: dict[Key, int] = {}

    def keys_by_mac(self) -> dict[object, Key]:
        macs = self.facts.columns.get("mac", [])
        return dict(zip(macs, self.facts.keys, strict=False))

    def start(self, keys: list[Key | None], suffixes: list[bytes], index: CompiledIndex) -> range:
        """Take over the rows of the first table as they are."""
        facts = self.facts
        facts.keys, facts.indexes = cast(list[Key], keys), suffixes
        facts.technologies = [self.technology] * len(keys)
        self.index = index
        return range(len(keys))

    def add_rows(self, keys: list[Key | None], suffixes: list[bytes]) -> list[int] | range:
        """Add rows with new keys, and return the row number of each key."""
        facts = self.facts
        if keys == facts.keys:
            return range(len(keys))
        known = self._numbers_by_key()
        for key, suffix in zip(keys, suffixes, strict=True):
            if key is not None and key not in known:
                known[key] = len(facts.keys)
                facts.keys.append(key)
                facts.indexes.append(suffix)
                facts.technologies.append(self.technology)
        size = len(facts.keys)
        for column in facts.columns.values():
            column.extend([None] * (size - len(column)))
        at = [-1 if key is None else known[key] for key in keys]
        return range(size) if at == list(range(size)) else at

    def _numbers_by_key(self) -> dict[Key, int]:
        if len(self._at) != len(self.facts.keys):
            self._at = {key: number for number, key in enumerate(self.facts.keys)}
        return self._at

    def add_column(self, fact: str, at: list[int] | range, values: list[object]) -> None:
        """Add values of a fact where it has none yet: its columns come in order of preference."""
        columns = self.facts.columns
        if isinstance(at, range) and fact not in columns:
            columns[fact] = values
            return
        column = columns.setdefault(fact, [None] * len(self.facts.keys))
        for number, value in zip(at, values, strict=True):
            if number >= 0 and column[number] is None:
                column[number] = value
