"""The columns to ask an OLT for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.core.reasons import NO_REASON, Reason
from facho.vendors import GENERIC, Entity, Profile, current_library, profiles_in_use
from facho.vendors.facts import FACTS, full_fact_name
from facho.vendors.schema import Column, ReadMethod, Table

DISCOVERY: Final = "discovery"
# A second discovery, when the first found no ONU: it walks tables that name ONUs but are expensive.
NOBODY: Final = "discovery that found nobody"
GET: Final = "get"
TABLE: Final = "table"
# The identity of an ONU. Every discovery asks for these.
DISCOVERY_FACTS: Final[tuple[str, ...]] = ("serial", "mac")
_FACTS_TOLD: Final = ("state", "description", "name")
# The place of an ONU, in the few families whose index does not contain it.
PLACE_FACTS: Final = ("frame", "slot", "port", "onu_id")
USUAL_FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "description": ("description", "name"),
    "state": ("state", "down_cause", "distance_m", "last_up", "last_down", "olt.clock"),
    "optics": ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c"),
    "model": ("model", "type"),
    "details": (
        "vendor_id", "hw_version", "sw_version", "sw_version_standby", "line_profile", "srv_profile", "plan",
        "admin_state", "config_state", "match_state", "ip", "ip_mac", "mac_count", "serial_actual",
        "last_dying_gasp", "uni.state", "uni.admin_state", "uni.speed",
    ),
    "traffic": ("up_octets", "down_octets", "port.in_octets", "port.out_octets"),
    "health": (
        "olt.uptime_s", "olt.version", "olt.hw_version", "olt.model", "olt.serial", "olt.cpu_pct",
        "olt.memory_pct", "olt.temperature_c", "olt.power_w",
        "board.name", "board.state", "board.cpu_pct", "board.memory_pct", "board.temperature_c",
        "board.power_w", "board.sw_version", "board.hw_version", "board.serial",
        "fan.state", "fan.speed_rpm", "fan.speed_pct",
        "psu.name", "psu.state", "psu.voltage_v", "psu.power_w", "psu.temperature_c",
    ),
    "uplinks": (
        "uplink.name", "uplink.description", "uplink.state", "uplink.admin_state", "uplink.speed_mbps",
        "uplink.tx_dbm", "uplink.rx_dbm", "uplink.temperature_c", "uplink.voltage_v", "uplink.bias_ma",
        "uplink.in_octets", "uplink.out_octets", "uplink.in_errors", "uplink.out_errors",
        "uplink.in_discards", "uplink.out_discards",
    ),
    "ports": (
        "port.name", "port.description", "port.state", "port.admin_state", "port.down_cause", "port.tx_dbm",
        "port.rx_dbm", "port.temperature_c", "port.voltage_v", "port.bias_ma", "port.onus_known",
        "port.onus_online", "port.onus_offline", "port.speed_mbps",
        # Where the job `uplinks` does not read them, because that costs the OLT much.
        "uplink.tx_dbm", "uplink.rx_dbm", "uplink.temperature_c", "uplink.voltage_v", "uplink.bias_ma",
    ),
    "autofind": (
        "autofind.serial", "autofind.mac", "autofind.model", "autofind.vendor_id", "autofind.sw_version",
        "autofind.hw_version", "autofind.seen_at",
    ),
}  # fmt: skip
# Of these an OLT is asked so often that only columns that it can deliver quickly are.
WALKED_OFTEN: Final = frozenset({"traffic", "uplinks"})
# When the state changed. They are asked for with it only if they are columns of its table: OLTs read those
# together. The clock of the OLT is only asked for to read them.
_DATES_OF_STATE: Final = ("last_up", "last_down")
_CLOCK: Final = "olt.clock"
# The sets that a job may name; the others have the name of a fact, which stands for that fact alone.
USUAL_SETS: Final = frozenset(USUAL_FACTS) - frozenset(FACTS[Entity.ONU])


def without_sets(facts: Iterable[str]) -> set[str]:
    """Return the facts that a job names, with those of a set in place of its name, whether families have them
    or not.
    """
    return {each for fact in facts for each in (USUAL_FACTS[fact] if fact in USUAL_SETS else (fact,))}


Profiles = Mapping[str, Profile]
# Of a mistake in a file, as the reason of an execution has it.
_LONGEST_WHY: Final = 300


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A column to ask for. A helper, which only serves to read others, has no fact."""

    fact: str
    name: str
    oid: str
    # The column of the profile `brand` by whose rules it is read; empty for an operator's own.
    read_as: str
    entity: str
    brand: str


@dataclass(frozen=True, slots=True)
class _WantedFact:
    entity: str
    fact: str

    @classmethod
    def of(cls, written: str) -> _WantedFact:
        """`serial` is about ONUs; others have their entity in front, as in `port.state`."""
        entity, dot, fact = written.rpartition(".")
        return cls(entity if dot else Entity.ONU.value, fact)

    def is_of(self, row: Oid) -> bool:
        return row.provides == self.fact and (row.entity or Entity.ONU.value) == self.entity


def columns_for(
    olt: Olt, facts: Sequence[str], kind: str, profiles: Profiles | None = None
) -> list[AskedFact]:
    """Return every column that may have these facts, each once, and the helpers needed to read them.

    Each fact is looked up among the rows of the OLT's model, then of its brand, then of the generic brand;
    where it is found first, all columns that provide it are taken: an OLT may have GPON and EPON. A discovery
    also asks one column of every other table that names ONUs, because an ONU in any table is present, and all
    columns that provide the same fact.
    """
    profiles = profiles_in_use() if profiles is None else profiles
    brand = olt.brand.name
    naming = _naming_columns(profiles.get(brand), kind)
    if kind == DISCOVERY:
        facts = _with_identity([*facts, *_facts_of(profiles.get(brand), naming)])
    wanted = [_WantedFact.of(fact) for fact in facts]
    rows = _candidate_rows(olt, wanted, naming, profiles)
    offered = rows if kind == GET else _walkable_rows(rows, kind, profiles)
    if _lacks_dates(wanted, offered):
        wanted.remove(_WantedFact.of(_CLOCK))
    chosen = [
        row for each in wanted for row in _nearest_level([row for row in offered if each.is_of(row)], brand)
    ]
    for oid in naming:
        chosen += _nearest_level(
            [row for row in offered if row.profile_oid == oid and row.brand.name == brand], brand
        )
    return _columns_to_ask(chosen, rows, profiles)


def _lacks_dates(wanted: Sequence[_WantedFact], offered: Sequence[Oid]) -> bool:
    """Return whether the clock of an OLT is wanted to read dates that the OLT does not have."""
    dates = [each for each in wanted if each.entity == Entity.ONU and each.fact in _DATES_OF_STATE]
    if not dates or _WantedFact.of(_CLOCK) not in wanted:
        return False
    return not any(each.is_of(row) for each in dates for row in offered)


def family_problem(brand: Brand) -> Reason:
    """Return why OLTs of a brand cannot be collected, if the operator's profile of it cannot be used.

    A brand that was never synced with a profile is an operator's own, and has the generic one.
    """
    if brand.name in profiles_in_use():
        return NO_REASON
    file = current_library().unusable.get(brand.name)
    if file is not None:
        return Reason.of("profile_unusable", family=brand.name, why=str(file.mistakes[0])[:_LONGEST_WHY])
    if Oid.objects.filter(brand__name=brand.name).exclude(synced={}).exists():
        return Reason.of("profile_missing", family=brand.name)
    return NO_REASON


def oid_state_statement(brand: str) -> str:
    """Return a SELECT of a text that differs whenever the OID rows of a brand and of the generic one do.

    A server knows which transaction and which of its statements wrote a row; that changes with every change.
    """
    generic = f"SELECT g.id FROM brands g WHERE g.name = '{GENERIC}'"  # noqa: S608  our own names
    rows = f"FROM oids o WHERE o.brand_id IN ({brand}, ({generic}))"
    if is_embedded():
        return f"SELECT group_concat(json_array({_OID_COLUMNS})) {rows}"
    written = "SUM(CAST(CAST(o.{} AS text) AS bigint))"
    return f"SELECT concat_ws('.', COUNT(*), {written.format('xmin')}, {written.format('cmin')}) {rows}"


_OID_COLUMNS: Final = "o.id, o.brand_id, o.model_id, o.name, o.oid, o.entity, o.provides, o.profile_oid"


def read_oid_state(brand_id: int) -> str:
    """Return a text that differs whenever columns that an OLT of the brand may be asked for have changed."""
    ((state,),) = sql.fetch_prepared(oid_state_statement("%s"), [brand_id])
    return state or ""


def facts_of_own_oids() -> dict[str, set[str]]:
    """Return the facts that operators' own rows of the table of OIDs provide, by brand."""
    found: dict[str, set[str]] = {}
    rows = Oid.objects.filter(synced={}).exclude(provides="")
    for brand, entity, fact in rows.values_list("brand__name", "entity", "provides"):
        found.setdefault(brand, set()).add(full_fact_name(entity, fact))
    return found


def explicit_columns(oids: Iterable[Oid], profiles: Profiles | None = None) -> list[AskedFact]:
    """Return the columns that a job names one by one, and the helpers needed to read them."""
    profiles = profiles_in_use() if profiles is None else profiles
    chosen = list(oids)
    brands = {row.brand.name for row in chosen}
    needed = _all_helpers(brands, profiles)
    helpers = Oid.objects.filter(brand__name__in=brands, model=None, profile_oid__in=needed)
    return _columns_to_ask(chosen, helpers.select_related("brand").order_by("pk"), profiles)


def facts_offered(profile: Profile) -> dict[str, tuple[str, ...]]:
    """Return the facts of each usual job that this family has; jobs without any are left out."""
    has = {full_fact_name(table.entity, column.fact) for table in profile.tables for column in table.columns}
    walked = {column.fact for table in _discoverable(profile) for column in table.columns}
    identity = tuple(fact for fact in DISCOVERY_FACTS if fact in walked)
    # Without an identity column, the place in any table is all that is known of an ONU.
    offered = {DISCOVERY: identity or tuple(_usual_column(each).fact for each in _discoverable(profile)[:1])}
    cheap = {
        full_fact_name(table.entity, column.fact)
        for table in profile.tables
        if table.read_method is ReadMethod.WALK and not table.slow
        for column in table.columns
    }
    for job, facts in USUAL_FACTS.items():
        known = cheap if job in WALKED_OFTEN else has
        offered[job] = tuple(fact for fact in facts if fact in known)
    offered["ports"] = tuple(fact for fact in offered["ports"] if fact not in offered["uplinks"])
    offered["state"] = _with_cheap_dates(offered["state"], profile)
    return {job: facts for job, facts in offered.items() if facts}


def _with_cheap_dates(facts: Sequence[str], profile: Profile) -> tuple[str, ...]:
    cheap = {
        column.fact
        for table in _discoverable(profile)
        if _has(table, ["state"]) and not table.slow
        for column in table.columns
    }
    left_out = {fact for fact in _DATES_OF_STATE if fact not in cheap}
    if left_out.issuperset(_DATES_OF_STATE):
        left_out.add(_CLOCK)
    return tuple(fact for fact in facts if fact not in left_out)


def is_about_onus(fact: str) -> bool:
    """Return whether a fact, as a job names it, can be asked of an ONU."""
    return _WantedFact.of(fact).entity == Entity.ONU


def spelled_out(facts: Iterable[str], profile: Profile, kind: str) -> tuple[str, ...]:
    """Return the facts with each usual set replaced by what the family has of it.

    A GET has of a set what is about ONUs.
    """
    facts = tuple(facts)
    if USUAL_SETS.isdisjoint(facts):
        return facts
    offered = facts_offered(profile)
    if kind == GET:
        offered = {name: tuple(filter(is_about_onus, some)) for name, some in offered.items()}
    every = (offered.get(fact, ()) if fact in USUAL_SETS else (fact,) for fact in facts)
    return tuple(dict.fromkeys(fact for some in every for fact in some))


def usual_kind(profile: Profile, job: str) -> str:
    """Return the kind of a usual job: GET for what the OLT reads from each ONU, otherwise a walk."""
    if job == DISCOVERY:
        return DISCOVERY
    facts = USUAL_FACTS[job]
    by_onu = {
        full_fact_name(table.entity, each.fact) for table in _asked_by_onu(profile) for each in table.columns
    }
    return GET if by_onu.intersection(facts) else TABLE


def _with_identity(facts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*DISCOVERY_FACTS, *PLACE_FACTS, *facts)))


def _naming_columns(profile: Profile | None, kind: str) -> list[str]:
    """Return one column of each table that names ONUs but has no identity column."""
    if profile is None or kind not in (DISCOVERY, NOBODY):
        return []
    tables = [each for each in _discoverable(profile) if not _has(each, DISCOVERY_FACTS)]
    return [
        _usual_column(table).source.oid
        for table in tables
        if (_has(table, _FACTS_TOLD) and not table.slow) == (kind == DISCOVERY)
    ]


def _facts_of(profile: Profile | None, naming: Sequence[str]) -> list[str]:
    """Return the facts of these columns. They are asked for in all other columns too: otherwise the value of
    an ONU that has it elsewhere would be lost.
    """
    tables = [] if profile is None else _discoverable(profile)
    facts = {each.fact for table in tables for each in table.columns if each.source.oid in naming}
    if facts.intersection(names := USUAL_FACTS["description"]):
        facts.update(names)
    return [fact for fact in _FACTS_TOLD if fact in facts]


def _has(table: Table, facts: Iterable[str]) -> bool:
    return any(column.fact in facts for column in table.columns)


def _usual_column(table: Table) -> Column:
    """Return the column of a usual fact, if the table has one; otherwise its first."""
    usual = (each for fact in _FACTS_TOLD for each in table.columns if each.fact == fact)
    return next(usual, table.columns[0])


def _discoverable(profile: Profile) -> list[Table]:
    return [
        table
        for table in profile.tables
        if table.entity is Entity.ONU and table.read_method is ReadMethod.WALK
    ]


def _walkable_rows(rows: Iterable[Oid], kind: str, profiles: Profiles) -> list[Oid]:
    """Return the rows that may be walked. A table that is read ONU by ONU is expensive to walk, and does not
    tell which ONUs exist.
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


def _candidate_rows(
    olt: Olt, wanted: Iterable[_WantedFact], naming: Iterable[str], profiles: Profiles
) -> list[Oid]:
    """Return the rows that provide the facts at any level and their possible helpers, in one query."""
    brands = {olt.brand.name, GENERIC}
    level = Q(brand=olt.brand_id, model=None) | Q(brand__name=GENERIC, model=None)
    if olt.model_id is not None:
        level |= Q(brand=olt.brand_id, model=olt.model_id)
    read = _all_helpers(brands, profiles).union(naming)
    used = Q(provides__in={each.fact for each in wanted}) | Q(profile_oid__in=read)
    return list(Oid.objects.filter(level, used).select_related("brand").order_by("pk"))


def _nearest_level(rows: Sequence[Oid], brand: str) -> list[Oid]:
    for level in (
        [row for row in rows if row.model_id is not None],
        [row for row in rows if row.model_id is None and row.brand.name == brand],
    ):
        if level:
            return level
    return list(rows)


def _columns_to_ask(chosen: Iterable[Oid], known: Iterable[Oid], profiles: Profiles) -> list[AskedFact]:
    """Return the columns to ask; those with the same OID and profile column are one."""
    asked: dict[tuple[str, str, str], AskedFact] = {}
    for row in chosen:
        column = AskedFact(row.provides, row.name, row.oid, row.profile_oid, row.entity, row.brand.name)
        asked.setdefault((column.brand, column.oid, column.read_as), column)
    for helper in _helpers_needed(list(asked.values()), known, profiles):
        asked.setdefault((helper.brand, helper.oid, helper.read_as), helper)
    return list(asked.values())


def _helpers_needed(
    asked: Iterable[AskedFact], known: Iterable[Oid], profiles: Profiles
) -> Iterator[AskedFact]:
    """Yield the helpers as an operator changed them for the model or brand, otherwise as in the profile."""
    # The last one wins: that of the model, and of several the oldest.
    nearest = sorted(known, key=lambda row: (row.model_id is None, row.pk), reverse=True)
    rows = {(row.brand.name, row.profile_oid): row for row in nearest}
    helpers = {brand: _helpers_of(brand, profiles) for brand in {column.brand for column in asked}}
    for column in asked:
        for oid in helpers[column.brand].get((column.read_as, column.entity or Entity.ONU.value), ()):
            row = rows.get((column.brand, oid))
            name, now = (row.name, row.oid) if row is not None else (oid, oid)
            yield AskedFact("", name, now, oid, "", column.brand)


def _helpers_of(brand: str, profiles: Profiles) -> dict[tuple[str, str], dict[str, None]]:
    """Return the helpers of each column of the profile, in order.

    By its OID and what it is read for: interfaces of IF-MIB are ONUs, ports and uplinks, and what tells which
    of them are uplinks is not needed for the state of ONUs.
    """
    needed: dict[tuple[str, str], dict[str, None]] = {}
    for table in profiles[brand].tables if brand in profiles else ():
        for column in table.columns:
            for source in (column.source, *column.otherwise):
                helpers = needed.setdefault((source.oid, table.entity.value), {})
                if table.index.named is not None:
                    helpers[table.index.named.column] = None
                helpers.update((oid, None) for _, oid in table.helpers(source))
                if "mac" in table.index.gives:
                    helpers.update(dict.fromkeys(_mac_columns(profiles[brand], table)))
    return needed


def _mac_columns(profile: Profile, joined: Table) -> Iterator[str]:
    """Yield the columns that tell which ONU has a MAC: of other tables, and the names of their indexes."""
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
