"""Which columns to ask an OLT for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.db.models import Q

from facho.apps.db import sql
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.vendors import GENERIC, Entity, Profile, builtin
from facho.vendors.facts import FACTS
from facho.vendors.schema import Column, ReadMethod, Table

DISCOVERY: Final = "discovery"
# What a discovery asks for when that found nobody: tables that name ONUs, and are dear to walk.
NOBODY: Final = "discovery that found nobody"
GET: Final = "get"
TABLE: Final = "table"
# What recognises an ONU. A discovery asks for these, whatever else it is made to ask for.
DISCOVERY_FACTS: Final[tuple[str, ...]] = ("serial", "mac")
_USUALLY_TOLD: Final = ("state", "description", "name")
# Where an ONU is, in the few families whose index does not say it.
PLACE_FACTS: Final = ("frame", "slot", "port", "onu_id")
USUAL_FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "description": ("description", "name"),
    "state": ("state", "down_cause", "distance_m"),
    "optics": ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c"),
    "model": ("model", "type"),
    "health": (
        "olt.uptime_s", "olt.version", "olt.model", "olt.serial", "olt.cpu_pct", "olt.memory_pct",
        "olt.temperature_c", "olt.power_w",
        "board.name", "board.state", "board.cpu_pct", "board.memory_pct", "board.temperature_c",
        "board.power_w", "board.sw_version", "board.serial",
        "fan.state", "fan.speed_rpm",
    ),
    "ports": (
        "port.name", "port.state", "port.admin_state", "port.down_cause", "port.tx_dbm", "port.rx_dbm",
        "port.temperature_c", "port.voltage_v", "port.bias_ma", "port.onus_known", "port.onus_online",
    ),
    "autofind": (
        "autofind.serial", "autofind.mac", "autofind.model", "autofind.vendor_id", "autofind.sw_version",
        "autofind.seen_at",
    ),
}  # fmt: skip
# Those that a job may name as a whole; the others bear the name of a fact, which is that fact alone.
USUAL_SETS: Final = frozenset(USUAL_FACTS) - frozenset(FACTS[Entity.ONU])

Profiles = Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A column to ask for. One that only serves to read the others has no fact."""

    fact: str
    name: str
    oid: str
    # The column of the profile `brand` by whose rules it is read; empty for an operator's own.
    read_as: str
    entity: str
    brand: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    entity: str
    fact: str

    @classmethod
    def of(cls, written: str) -> _Wanted:
        """`serial` is about ONUs; others have their entity in front, as in `port.state`."""
        entity, dot, fact = written.rpartition(".")
        return cls(entity if dot else Entity.ONU.value, fact)

    def is_of(self, row: Oid) -> bool:
        return row.provides == self.fact and (row.entity or Entity.ONU.value) == self.entity


def columns_for(
    olt: Olt, facts: Sequence[str], kind: str, profiles: Profiles | None = None
) -> list[AskedFact]:
    """Every column that may have these facts, each once, and those that are needed to read them.

    Each fact is looked for among the rows of the OLT's model, then of its brand, then of the generic brand;
    where it is found first, all columns that provide it are taken: an OLT may have GPON and EPON. A discovery
    also asks one column of every other table that names ONUs, whoever any table names is there, and all that
    provide the same fact.
    """
    profiles = builtin() if profiles is None else profiles
    brand = olt.brand.name
    telling = _telling(profiles.get(brand), kind)
    if kind == DISCOVERY:
        facts = _with_identity([*facts, *_heard(profiles.get(brand), telling)])
    wanted = [_Wanted.of(fact) for fact in facts]
    rows = _candidates(olt, wanted, telling, profiles)
    offered = rows if kind == GET else _walkable(rows, kind, profiles)
    chosen = [row for each in wanted for row in _nearest([row for row in offered if each.is_of(row)], brand)]
    for oid in telling:
        chosen += _nearest(
            [row for row in offered if row.profile_oid == oid and row.brand.name == brand], brand
        )
    return _asked(chosen, rows, profiles)


_OID_ROWS: Final = (
    "SELECT o.id, o.brand_id, o.model_id, o.name, o.oid, o.entity, o.provides, o.profile_oid FROM oids o"
    " WHERE o.brand_id = %s OR o.brand_id = (SELECT id FROM brands WHERE name = %s) ORDER BY o.id"
)
_CACHED: Final = 256


def cached_columns_for(olt: Olt, facts: tuple[str, ...], kind: str) -> tuple[AskedFact, ...]:
    """Return `columns_for`, computed again only when the OID rows have changed since the last time.

    The rows are read for each call and are the key of the cache: an operator's change takes effect with the
    next execution.
    """
    rows = tuple(sql.fetch_rows(_OID_ROWS, [olt.brand_id, GENERIC]))
    return _columns_for_rows(olt.brand_id, olt.brand.name, olt.model_id, facts, kind, rows)


@lru_cache(maxsize=_CACHED)
def _columns_for_rows(
    brand_id: int,
    brand: str,
    model_id: int | None,
    facts: tuple[str, ...],
    kind: str,
    rows: tuple[sql.Row, ...],  # noqa: ARG001 - the key of the cache
) -> tuple[AskedFact, ...]:
    olt = Olt(brand=Brand(id=brand_id, name=brand), model_id=model_id)
    return tuple(columns_for(olt, facts, kind))


def explicit_columns(oids: Iterable[Oid], profiles: Profiles | None = None) -> list[AskedFact]:
    """The columns that a job names one by one, and those that are needed to read them."""
    profiles = builtin() if profiles is None else profiles
    chosen = list(oids)
    brands = {row.brand.name for row in chosen}
    needed = _all_helpers(brands, profiles)
    helpers = Oid.objects.filter(brand__name__in=brands, model=None, profile_oid__in=needed)
    return _asked(chosen, helpers.select_related("brand").order_by("pk"), profiles)


def facts_offered(profile: Profile) -> dict[str, tuple[str, ...]]:
    """The facts of the usual jobs that this family has; jobs for which it has none are left out."""
    has = {_written(table, column.fact) for table in profile.tables for column in table.columns}
    walked = {column.fact for table in _discoverable(profile) for column in table.columns}
    identity = tuple(fact for fact in DISCOVERY_FACTS if fact in walked)
    # Where no column tells an identity, a place in any table is all that an ONU has.
    offered = {
        DISCOVERY: identity or tuple(_telling_column(each).fact for each in _discoverable(profile)[:1])
    }
    for job, facts in USUAL_FACTS.items():
        offered[job] = tuple(fact for fact in facts if fact in has)
    return {job: facts for job, facts in offered.items() if facts}


def spelled_out(facts: Iterable[str], profile: Profile) -> tuple[str, ...]:
    """With what the family has of each usual set in the place of the set's name."""
    facts = tuple(facts)
    if USUAL_SETS.isdisjoint(facts):
        return facts
    offered = facts_offered(profile)
    every = (offered.get(fact, ()) if fact in USUAL_SETS else (fact,) for fact in facts)
    return tuple(dict.fromkeys(fact for some in every for fact in some))


def usual_kind(profile: Profile, job: str) -> str:
    """How a usual job asks: ONU by ONU what the OLT reads from them, and else by walking the table."""
    if job == DISCOVERY:
        return DISCOVERY
    facts = USUAL_FACTS[job]
    by_onu = {_written(table, each.fact) for table in _asked_by_onu(profile) for each in table.columns}
    return GET if by_onu.intersection(facts) else TABLE


def _written(table: Table, fact: str) -> str:
    return fact if table.entity is Entity.ONU else f"{table.entity.value}.{fact}"


def _with_identity(facts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*DISCOVERY_FACTS, *PLACE_FACTS, *facts)))


def _telling(profile: Profile | None, kind: str) -> list[str]:
    """A column of each table whose rows say who is there, where what recognises an ONU does not."""
    if profile is None or kind not in (DISCOVERY, NOBODY):
        return []
    tables = [each for each in _discoverable(profile) if not _has(each, DISCOVERY_FACTS)]
    return [
        _telling_column(table).source.oid
        for table in tables
        if (_has(table, _USUALLY_TOLD) and not table.slow) == (kind == DISCOVERY)
    ]


def _heard(profile: Profile | None, telling: Sequence[str]) -> list[str]:
    """What these columns tell besides who is there. It is asked for wherever else it may be, too: of an ONU
    whose value is there it would be lost.
    """
    tables = [] if profile is None else _discoverable(profile)
    told = {each.fact for table in tables for each in table.columns if each.source.oid in telling}
    if told.intersection(names := USUAL_FACTS["description"]):
        told.update(names)
    return [fact for fact in _USUALLY_TOLD if fact in told]


def _has(table: Table, facts: Iterable[str]) -> bool:
    return any(column.fact in facts for column in table.columns)


def _telling_column(table: Table) -> Column:
    """What is worth knowing anyway, if it has that."""
    usual = (each for fact in _USUALLY_TOLD for each in table.columns if each.fact == fact)
    return next(usual, table.columns[0])


def _discoverable(profile: Profile) -> list[Table]:
    return [
        table
        for table in profile.tables
        if table.entity is Entity.ONU and table.read_method is ReadMethod.WALK
    ]


def _walkable(rows: Iterable[Oid], kind: str, profiles: Profiles) -> list[Oid]:
    """What may be walked. A table that is asked for ONU by ONU would cost the OLT dearly, and cannot say who
    is there.
    """
    discovers = kind in (DISCOVERY, NOBODY)
    oids = {
        (name, source.oid)
        for name, profile in profiles.items()
        for table in (_discoverable(profile) if discovers else _asked_by_onu(profile))
        for column in table.columns
        for source in (column.source, *column.otherwise)
    }
    return [row for row in rows if ((row.brand.name, row.profile_oid) in oids) == discovers]


def _asked_by_onu(profile: Profile) -> list[Table]:
    return [table for table in profile.tables if table.read_method is ReadMethod.GET_ONLINE]


def _candidates(olt: Olt, wanted: Iterable[_Wanted], telling: Iterable[str], profiles: Profiles) -> list[Oid]:
    """In one query: what provides the facts at any level, and what may be needed to read it."""
    brands = {olt.brand.name, GENERIC}
    level = Q(brand=olt.brand_id, model=None) | Q(brand__name=GENERIC, model=None)
    if olt.model_id is not None:
        level |= Q(brand=olt.brand_id, model=olt.model_id)
    read = _all_helpers(brands, profiles).union(telling)
    used = Q(provides__in={each.fact for each in wanted}) | Q(profile_oid__in=read)
    return list(Oid.objects.filter(level, used).select_related("brand").order_by("pk"))


def _nearest(rows: Sequence[Oid], brand: str) -> list[Oid]:
    for level in (
        [row for row in rows if row.model_id is not None],
        [row for row in rows if row.model_id is None and row.brand.name == brand],
    ):
        if level:
            return level
    return list(rows)


def _asked(chosen: Iterable[Oid], known: Iterable[Oid], profiles: Profiles) -> list[AskedFact]:
    """Columns that read into one column of the profile from the same OID are one."""
    asked: dict[tuple[str, str, str], AskedFact] = {}
    for row in chosen:
        column = AskedFact(row.provides, row.name, row.oid, row.profile_oid, row.entity, row.brand.name)
        asked.setdefault((column.brand, column.oid, column.read_as), column)
    for helper in _needed(list(asked.values()), known, profiles):
        asked.setdefault((helper.brand, helper.oid, helper.read_as), helper)
    return list(asked.values())


def _needed(asked: Iterable[AskedFact], known: Iterable[Oid], profiles: Profiles) -> Iterator[AskedFact]:
    """As an operator may have changed them, for the OLT's model or for its brand; else as in the profile."""
    # The last one counts: that of the model, and of several the oldest.
    nearest = sorted(known, key=lambda row: (row.model_id is None, row.pk), reverse=True)
    rows = {(row.brand.name, row.profile_oid): row for row in nearest}
    helpers = {brand: _helpers_of(brand, profiles) for brand in {column.brand for column in asked}}
    for column in asked:
        for oid in helpers[column.brand].get(column.read_as, ()):
            row = rows.get((column.brand, oid))
            name, now = (row.name, row.oid) if row is not None else (oid, oid)
            yield AskedFact("", name, now, oid, "", column.brand)


def _helpers_of(brand: str, profiles: Profiles) -> dict[str, dict[str, None]]:
    """Column of the profile -> the columns that reading it needs, in order."""
    needed: dict[str, dict[str, None]] = {}
    for table in profiles[brand].tables if brand in profiles else ():
        for column in table.columns:
            for source in (column.source, *column.otherwise):
                helpers = needed.setdefault(source.oid, {})
                if table.index.named is not None:
                    helpers[table.index.named.column] = None
                helpers.update((oid, None) for _, oid in source.helpers)
                if "mac" in table.index.gives:
                    helpers.update(dict.fromkeys(_joining(profiles[brand], table)))
    return needed


def _joining(profile: Profile, joined: Table) -> Iterator[str]:
    """Who has a hardware address is said by other tables, and where that is perhaps by names."""
    for table in profile.tables:
        if (table.entity, table.technology) != (joined.entity, joined.technology):
            continue
        for column in table.columns:
            if column.fact == "mac":
                yield from (source.oid for source in (column.source, *column.otherwise))
                if table.index.named is not None:
                    yield table.index.named.column


def _all_helpers(brands: Iterable[str], profiles: Profiles) -> set[str]:
    return {oid for brand in brands for oids in _helpers_of(brand, profiles).values() for oid in oids}
