"""Syncs brands and OIDs with the profiles, and never undoes what an operator changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db import transaction

from facho.apps.access.actors import acting
from facho.apps.hosts.models import Brand, Oid
from facho.vendors import Profile
from facho.vendors.schema import Column, Source, Table

_FIELDS = ("name", "oid", "entity", "provides", "profile_oid")


@dataclass(frozen=True, slots=True)
class SyncReport:
    created: int
    updated: int
    # Rows that an operator changed, or that have a name which the profile would use.
    kept: int
    removed: int


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A row of the OID table as the profile describes it."""

    name: str
    oid: str
    entity: str = ""
    # Empty for a helper column, which only serves to read others.
    provides: str = ""


class _RowIdentity(NamedTuple):
    """The identity of a row, as the last sync wrote it: renaming the row does not change it."""

    brand: str
    name: str


def sync_profiles(profiles: Mapping[str, Profile]) -> SyncReport:
    """Create and update the brands and OIDs of these profiles. Other brands are left as they are.

    A row that a person deleted is created again: to leave it out for good, change its OID or empty its fact.
    """
    # In nobody's name: the changes come from the profiles, whoever starts the program.
    with acting(None), transaction.atomic():
        return _sync(_lock_brands(profiles), profiles)


def families_to_sync(profiles: Mapping[str, Profile]) -> list[str]:
    """Return the profiles whose rows are not all there as a sync would write them."""
    rows = list(Oid.objects.filter(brand__name__in=list(profiles)).select_related("brand"))
    written = {_identity_of(row): row for row in rows if row.synced}
    taken = {_RowIdentity(row.brand.name, row.name) for row in rows if row.model_id is None}

    def is_stale(name: str, wanted: ProfileRow) -> bool:
        identity = _RowIdentity(name, wanted.name)
        row = written.get(identity)
        if row is None:
            return identity not in taken
        return row.synced.get("oid") != wanted.oid and not _is_changed(row)

    return [
        name
        for name, profile in profiles.items()
        if any(is_stale(name, row) for row in profile_rows(profile))
    ]


def profile_rows(profile: Profile) -> list[ProfileRow]:
    """Return a row for each table, fact and source: `gpon_config.mac`, `gpon_config.mac.2`."""
    rows = [row for table in profile.tables for column in table.columns for row in _sources(table, column)]
    read = {row.oid for row in rows}
    for helper in _helpers(profile):
        if helper.oid not in read:
            read.add(helper.oid)
            rows.append(helper)
    return rows


def _sources(table: Table, column: Column) -> Iterator[ProfileRow]:
    for name, source in _named_sources(table, column):
        yield ProfileRow(name, source.oid, table.entity.value, column.fact)


def _named_sources(table: Table, column: Column) -> Iterator[tuple[str, Source]]:
    name = f"{table.name}.{column.fact}"
    yield name, column.source
    for number, source in enumerate(column.otherwise, 2):
        yield f"{name}.{number}", source


def _helpers(profile: Profile) -> Iterator[ProfileRow]:
    for index in profile.indexes:
        if index.named is not None:
            yield ProfileRow(f"{index.name}.names", index.named.column)
    for table in profile.tables:
        for column in table.columns:
            for name, source in _named_sources(table, column):
                for purpose, oid in table.helpers(source):
                    yield ProfileRow(f"{name}.{purpose}", oid)


def _lock_brands(profiles: Mapping[str, Profile]) -> dict[str, Brand]:
    """Create missing brands and lock all: a second sync waits here. Titles that people gave them stay."""
    Brand.objects.bulk_create(
        [Brand(name=name, title=profile.title) for name, profile in profiles.items()], ignore_conflicts=True
    )
    brands = list(Brand.objects.select_for_update().filter(name__in=list(profiles)).order_by("pk"))
    for brand in brands:
        if brand.title == _FORMER_TITLES.get(brand.name):
            brand.title = profiles[brand.name].title
            Brand.objects.filter(pk=brand.pk).update(title=brand.title)
    return {brand.name: brand for brand in brands}


# Of earlier versions, which had English words in them.
_FORMER_TITLES: Final = {
    "bdcom": "BDCOM GP3600, P33xx and P36xx",
    "cdata_epon": "C-Data FD12xx with EPON",
    "cdata_fd11": "C-Data FD11xx with EPON",
    "cdata_gpon": "C-Data FD16xx and FD17xx with GPON",
    "datacom": "Datacom DM4610, DM4615 and DM4618",
    "generic": "Any device with IF-MIB",
    "huawei": "Huawei MA5600T and MA5800",
    "ufiber": "Ubiquiti UFiber and UISP Fiber",
    "vsol_epon": "V-SOL V1600 with EPON",
    "vsol_gpon": "V-SOL V1600G with GPON",
    "zte": "ZTE C300 and C320",
    "zte_c600": "ZTE C600, C610 and C650",
}


def _sync(brands: Mapping[str, Brand], profiles: Mapping[str, Profile]) -> SyncReport:
    rows = list(Oid.objects.filter(brand__in=brands.values()).select_related("brand"))
    written = {_identity_of(row): row for row in rows if row.synced}
    taken = {_RowIdentity(row.brand.name, row.name) for row in rows if row.model_id is None}
    wanted = {
        _RowIdentity(name, row.name): _WantedRow(brands[name], row)
        for name, profile in profiles.items()
        for row in profile_rows(profile)
    }
    new = [want for known, want in wanted.items() if known not in written and known not in taken]
    stale = [
        row for known, row in written.items() if known in wanted and _update_from_profile(row, wanted[known])
    ]
    gone = [row for known, row in written.items() if known not in wanted and not _is_changed(row)]
    Oid.objects.bulk_create([want.new() for want in new])
    Oid.objects.bulk_update(stale, [*_FIELDS, "synced"])
    kept = sum(_is_changed(row) for row in written.values())
    kept += sum(known in taken and known not in written for known in wanted)
    return SyncReport(len(new), len(stale), kept, _remove_unused(gone))


@dataclass(frozen=True, slots=True)
class _WantedRow:
    brand: Brand
    row: ProfileRow

    @property
    def values(self) -> dict[str, str]:
        row = self.row
        return {
            "name": row.name,
            "oid": row.oid,
            "entity": row.entity,
            "provides": row.provides,
            "profile_oid": row.oid,
        }

    @property
    def synced(self) -> dict[str, str]:
        return {"brand": self.brand.name, **self.values}

    def new(self) -> Oid:
        return Oid(brand=self.brand, model=None, synced=self.synced, **self.values)


def _identity_of(row: Oid) -> _RowIdentity:
    return _RowIdentity(row.synced.get("brand", row.brand.name), row.synced.get("name", row.name))


def _current_values(row: Oid) -> dict[str, str]:
    return {"brand": row.brand.name, **{field: getattr(row, field) for field in _FIELDS}}


def _is_changed(row: Oid) -> bool:
    """Return whether an operator changed the row, or made it one of a single model."""
    return row.model_id is not None or _current_values(row) != row.synced


def _update_from_profile(row: Oid, want: _WantedRow) -> bool:
    """Update the row from the profile, unless an operator changed it. Return whether it has changed."""
    if row.synced == want.synced or _is_changed(row):
        return False
    for field, value in want.values.items():
        setattr(row, field, value)
    row.synced = want.synced
    return True


def _remove_unused(rows: list[Oid]) -> int:
    """Delete the rows that no job asks for. Return how many."""
    unused = Oid.objects.filter(pk__in=[row.pk for row in rows], job_oids__isnull=True)
    return unused.delete()[1].get(Oid._meta.label, 0)
