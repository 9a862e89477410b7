"""What one execution has to read, and the requests that the vendor's profile needs for it; none is sent.

`Work` is all that a poller needs of an execution: plain data that crosses threads and layers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from facho.core.reasons import Reason, ReasonError, known_reason
from facho.core.request_rules import RequestPace
from facho.snmp import Oid, Target
from facho.snmp.pacing import Learned
from facho.vendors import Entity, Key, Profile
from facho.vendors.encode import IndexWriter, is_packed_in
from facho.vendors.errors import BadIndex
from facho.vendors.index import CompiledIndex, compile_index, split_arcs
from facho.vendors.schema import (
    Bits,
    IndexLayout,
    Named,
    Packed,
    ReadMethod,
    Skip,
    Source,
    Table,
    packings_of,
)


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """A column to read, and the column of the profile that has the rules for its values."""

    name: str
    oid: str
    # Empty for an OID of the operator's own: its values go to the execution's result as they are.
    read_as: str = ""
    # A helper without a fact of its own, needed to decode others: the names behind an index.
    helps: bool = False
    # What it is read for; the same column may have facts of other entities too.
    entity: str = Entity.ONU.value
    # The fact of a column of the operator's own; empty for those of profiles, which say it themselves.
    provides: str = ""
    # The column of the profile by whose rules such a column is read, though that has another fact.
    rule_of: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one node in an execution; that of the master comes first."""

    # None for a collection by hand without a job.
    node_id: int | None
    job: str
    kind: str
    task_type: str
    # Facts such as "serial" or "onu_rx_dbm"; what was collected when is stored by them.
    facts: tuple[str, ...]
    columns: tuple[AskedColumn, ...]
    # Tables that are expensive to walk; a discovery reads them only if the others have no ONU.
    otherwise: tuple[AskedColumn, ...] = ()
    # Missing columns, which are not asked for.
    missing_columns: tuple[AskedColumn, ...] = ()


class KnownOnu(NamedTuple):
    """An ONU that can be asked about. A tuple: there is one for each ONU of each GET."""

    key: Key
    technology: str = ""
    online: bool = False
    # Not in the tables of discoveries; found in another one.
    undiscovered: bool = False
    # The raw index at which the OLT has it; empty if not known.
    raw_index: bytes = b""


@dataclass(frozen=True, slots=True)
class Batching:
    """The batch sizes of a GET, and the percentage of unanswered ONUs above which it has failed."""

    size: int = 200
    sub_size: int = 50
    most_unanswered: float = 20.0


@dataclass(frozen=True, slots=True)
class Work:
    """All that a poller needs to run an execution without the database."""

    execution_id: int
    # New for each start of the execution; part of the request ids.
    run_id: int
    olt_id: int
    olt: str
    target: Target
    profile: Profile
    parts: tuple[Part, ...]
    known: tuple[KnownOnu, ...] = ()
    # What was learned from walks, and from GETs by the `batch` of their table.
    learned: Learned | None = None
    learned_gets: Mapping[int, Learned] = field(default_factory=dict)
    pace: RequestPace = RequestPace.NORMAL
    batching: Batching = field(default_factory=Batching)
    # The usual number of values in one GET; the limits of the target are those of walks.
    varbinds: int = 20
    time_limit: timedelta = timedelta(minutes=30)


class CannotAsk(ReasonError, ValueError):
    """A column that cannot be asked for in this way, with the reason for the person who chose it."""


@dataclass(frozen=True, slots=True)
class GetGroup:
    """ONUs of which the same columns are asked, each ONU at its index."""

    # The usual number of values in one request, if it is lower than that of other tables; else 0.
    batch: int
    # The encoded OID of each column, and the column of the profile that it is read as.
    columns: dict[bytes, str]
    onus: list[Key]
    suffixes: list[bytes]


@dataclass(slots=True)
class GetPlan:
    groups: list[GetGroup] = field(default_factory=list)
    # ONUs whose index in a table cannot be encoded from their place.
    nowhere: dict[Key, Reason] = field(default_factory=dict)

    @property
    def onus(self) -> set[Key]:
        return set(self.nowhere).union(*(group.onus for group in self.groups))

    def add(self, group: GetGroup) -> None:
        """Add the ONUs of a table; its columns to those of another one with the same ONUs and indexes."""
        for other in self.groups:
            same = other.batch == group.batch and other.onus == group.onus
            if same and other.suffixes == group.suffixes:
                other.columns.update(group.columns)
                return
        if group.onus:
            self.groups.append(group)


def check_allowed(profile: Profile, columns: Iterable[AskedColumn]) -> None:
    """Raises CannotAsk for what the profile says must never be read."""
    for column in columns:
        for never in profile.request_rules.never:
            if is_under(column.oid, never.oid) or is_under(never.oid, column.oid):
                asked, why = {"name": column.name, "oid": column.oid}, known_reason(never.why)
                raise CannotAsk(Reason.of("never_read", **asked, never=never.oid, reason=why))


def is_under(oid: str, above: str) -> bool:
    return f"{oid.strip('.')}.".startswith(f"{above.strip('.')}.")


def check_walkable(profile: Profile, columns: Iterable[AskedColumn]) -> None:
    """Raises CannotAsk for what the OLT would have to fetch from each of its ONUs, online or not."""
    tables = tables_of(profile)
    for column in columns:
        of = tables.get(column.read_as, ())
        if of and all(table.read_method is ReadMethod.GET_ONLINE for table in of):
            raise CannotAsk(Reason.of("read_one_by_one", name=column.name))


def resolve_read_as(profile: Profile, columns: Iterable[AskedColumn]) -> list[AskedColumn]:
    """Return the columns; those without rules in the profile become the operator's own."""
    of = tables_of(profile)
    return [each if each.read_as in of else replace(each, read_as="") for each in columns]


def _sources(table: Table) -> Iterator[Source]:
    for column in table.columns:
        yield from (column.source, *column.otherwise)


TablesOf = Mapping[str, list[Table]]


def tables_of(profile: Profile) -> TablesOf:
    """Return the tables of each column, by OID; none for a column that only has the names of an index."""
    cached = _tables_by_profile.get(id(profile))
    if cached is None:
        # With the profile, so that no other one gets its id.
        cached = _tables_by_profile[id(profile)] = profile, _tables_of(profile)
    return cached[1]


_tables_by_profile: Final[dict[int, tuple[Profile, TablesOf]]] = {}


def _tables_of(profile: Profile) -> TablesOf:
    found: dict[str, list[Table]] = {}
    for table in profile.tables:
        if table.index.named is not None:
            found.setdefault(table.index.named.column, [])
        for oid in dict.fromkeys(_column_oids(table)):
            found.setdefault(oid, []).append(table)
    return found


def _column_oids(table: Table) -> Iterator[str]:
    for source in _sources(table):
        yield source.oid
        yield from (oid for _, oid in table.helpers(source))


def find_substitutes(profile: Profile) -> Mapping[str, frozenset[str]]:
    """Return the columns that are asked for only where another one is missing: by OID, those others."""
    cached = _substitutes_by_profile.get(id(profile))
    if cached is None:
        cached = _substitutes_by_profile[id(profile)] = profile, _find_substitutes(profile)
    return cached[1]


_substitutes_by_profile: Final[dict[int, tuple[Profile, Mapping[str, frozenset[str]]]]] = {}


def _find_substitutes(profile: Profile) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    usual: set[str] = set()
    for table in profile.tables:
        for column in table.columns:
            for source in (column.source, *column.otherwise):
                if source.if_missing:
                    found.setdefault(source.oid, set()).add(column.source.oid)
                else:
                    usual.add(source.oid)
                usual.update(oid for _, oid in table.helpers(source))
    return {oid: frozenset(others) for oid, others in found.items() if oid not in usual}


def split_addressable(
    profile: Profile, columns: Sequence[AskedColumn]
) -> tuple[list[AskedColumn], list[AskedColumn]]:
    """Return the columns that are addressed by the place of an ONU, and those that must be walked because
    the OLT numbers their rows freely.
    """
    of = tables_of(profile)
    walked = [column for column in columns if _is_to_be_walked(of[column.read_as])]
    names = _names_for([table for column in walked for table in of[column.read_as]])
    by_place = [column for column in columns if column not in walked]
    return by_place, walked + [column for column in by_place if column.read_as in names]


def _is_to_be_walked(tables: Iterable[Table]) -> bool:
    of_onus = [table for table in tables if table.entity is Entity.ONU]
    return bool(of_onus) and all(
        table.read_method is ReadMethod.WALK and not _can_be_written(table.index) for table in of_onus
    )


def is_addressable(profile: Profile, column: AskedColumn) -> bool:
    """Tell whether the row of an ONU can be addressed by its place in all tables of the column."""
    of_onus = [each for each in tables_of(profile).get(column.read_as, ()) if each.entity is Entity.ONU]
    return bool(of_onus) and all(_can_be_written(table.index) for table in of_onus)


def plan_get(profile: Profile, columns: Sequence[AskedColumn], known: Sequence[KnownOnu]) -> GetPlan:
    """Raises CannotAsk for a column that is in no table whose index can be written from an ONU's place."""
    plan = GetPlan()
    for table, asked in _columns_by_table(profile, columns):
        contents = {Oid.parse(column.oid).content: column.read_as for column in asked}
        onus = [onu for onu in known if _concerns(table, onu)]
        found = SuffixFinder(profile, table).find_all(onus)
        if None in found:
            reason = Reason.of("index_not_known", table=table.name)
            lost = [onu for onu, suffix in zip(onus, found, strict=True) if suffix is None]
            plan.nowhere.update((onu.key, reason) for onu in lost if onu.technology or not table.technology)
            onus = [onu for onu, suffix in zip(onus, found, strict=True) if suffix is not None]
        suffixes = [suffix for suffix in found if suffix is not None]
        plan.add(GetGroup(table.batch, contents, [onu.key for onu in onus], suffixes))
    return plan


def _columns_by_table(
    profile: Profile, columns: Sequence[AskedColumn]
) -> Iterator[tuple[Table, list[AskedColumn]]]:
    of = tables_of(profile)
    names = _names_for([table for column in columns for table in of[column.read_as]])
    chosen: dict[str, tuple[Table, list[AskedColumn]]] = {}
    for column in columns:
        of_onus = [table for table in of[column.read_as] if table.entity is Entity.ONU]
        if not of_onus and column.read_as not in names:
            raise CannotAsk(Reason.of("not_about_onus", name=column.name))
        for table in of_onus:
            _check_index(column, table)
            chosen.setdefault(table.name, (table, []))[1].append(column)
    yield from chosen.values()


def _names_for(tables: Iterable[Table]) -> set[str]:
    """Return the name columns of these tables, which only walks need: a GET knows the place."""
    return {
        table.index.named.column
        for table in tables
        if table.index.named is not None and table.entity is Entity.ONU
    }


def _check_index(column: AskedColumn, table: Table) -> None:
    if not _can_be_written(table.index):
        raise CannotAsk(Reason.of("row_not_addressable", name=column.name, table=table.name))


def _can_be_written(layout: IndexLayout) -> bool:
    """Tell whether the index of an ONU can be encoded from its place alone."""
    if "mac" in layout.gives:
        return False
    return not any(
        isinstance(part, Skip) or (isinstance(part, Named) and not _writable(part)) for part in layout.parts
    )


def _writable(part: Packed | Named) -> list[Bits]:
    """Return the packings that number ports as places do."""
    return [bits for bits in part.packings if not bits.apart]


def _concerns(table: Table, onu: KnownOnu) -> bool:
    if onu.technology and table.technology and onu.technology != table.technology:
        return False
    return onu.online or table.read_method is not ReadMethod.GET_ONLINE


class SuffixFinder:
    """Finds the index of ONUs in one table; made once for all of them."""

    def __init__(self, profile: Profile, table: Table) -> None:
        self._index = compile_index(table.index)
        self._layout = _without_apart(table.index) if _can_be_written(table.index) else None
        # By the numbers of the packings that an index was seen with: it is written in one that is similar.
        self._writers: dict[tuple[int, ...], IndexWriter] = {}
        self._packings: list[Bits] = []
        self._readers: list[tuple[CompiledIndex, range]] = []
        if any(len(packings_of(part)) > 1 for part in table.index.parts):
            for layout in profile.indexes:
                self._add_packings_of(layout)

    def _add_packings_of(self, layout: IndexLayout) -> None:
        before = len(self._packings)
        self._packings += [bits for part in layout.parts for bits in packings_of(part)]
        if len(self._packings) > before:
            self._readers.append((compile_index(layout), range(before, len(self._packings))))

    def find_all(self, onus: Sequence[KnownOnu]) -> Sequence[bytes | None]:
        """Return what find() returns for each. Mostly all have the index that the OLT showed."""
        indexes = [onu.raw_index for onu in onus]
        with contextlib.suppress(BadIndex):
            if list(map(self._index.__getitem__, indexes)) == [onu.key for onu in onus]:
                return indexes
        return [self.find(onu) for onu in onus]

    def find(self, onu: KnownOnu) -> bytes | None:
        """Return the index of an ONU: the one that the OLT showed, if this table would read it as the same
        ONU, else one written from its place. None where the table has none that is read as this ONU.
        """
        if self._index.is_read_as(onu.raw_index, onu.key):
            return onu.raw_index
        if self._layout is None:
            return None
        try:
            return self._writer(self._layout, onu).write(onu.key)
        except ValueError:
            return None

    def _writer(self, layout: IndexLayout, onu: KnownOnu) -> IndexWriter:
        seen = self._packings_seen(onu) if onu.raw_index and self._readers else ()
        writer = self._writers.get(seen)
        if writer is None:
            like = [self._packings[number] for number in seen]
            writer = self._writers[seen] = IndexWriter(layout, self._index, like)
        return writer

    def _packings_seen(self, onu: KnownOnu) -> tuple[int, ...]:
        """Return the numbers of the packings of the index at which the OLT showed an ONU."""
        numbers = [
            each for index, of in self._readers if index.is_read_as(onu.raw_index, onu.key) for each in of
        ]
        if not numbers:
            return ()
        arcs = split_arcs(onu.raw_index)
        return tuple(each for each in numbers if is_packed_in(self._packings[each], arcs))


@lru_cache(maxsize=256)
def _without_apart(layout: IndexLayout) -> IndexLayout:
    """Without the packings whose ports are not numbered as in the place of an ONU."""
    parts = (
        replace(part, packings=tuple(_writable(part))) if isinstance(part, Packed | Named) else part
        for part in layout.parts
    )
    return replace(layout, parts=tuple(parts))
