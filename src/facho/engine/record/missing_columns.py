"""Decides which columns an OLT does not have, so that later executions leave them out.

A column that is empty once may have values soon: on an OLT that has just started, of ONUs that are offline,
and while a board is away. An execution reports all that it found empty; only what is confirmed here is stored
with the OLT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from facho.apps.chassis.selectors import known_kinds
from facho.apps.discovery.selectors import Census, census
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.collect.part_results import ENOUGH
from facho.engine.collect.request_plan import tables_of
from facho.engine.collect.work import Collection, PartResult
from facho.vendors import Entity, Profile
from facho.vendors.schema import Table

# Boards come up one after the other, and ONUs after them.
_STARTUP_S: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hardware of an OLT as it is stored after this collection."""

    onus_by_technology: Mapping[str, Census]
    # Kinds of things that it had at some time: "port", "board", "fan", "olt".
    kinds: frozenset[str]


def load_inventory(olt_id: int) -> Inventory:
    return Inventory(census(olt_id), frozenset(known_kinds(olt_id)))


def confirm_missing(collection: Collection, profile: Profile, load: Callable[[], Inventory]) -> set[str]:
    """Return the OIDs that were asked for and that the OLT does not have.

    `load` is called only if some column was empty, because it costs queries.
    """
    if not any(part.missing_columns for part in collection.parts):
        return set()
    if collection.uptime_s is not None and collection.uptime_s < _STARTUP_S:
        return set()
    inventory = load()
    return {
        oid
        for part in collection.parts
        for oid in part.missing_columns
        if all(_lacks_table(part, table, inventory) for table in _tables(oid, part, profile))
    }


def _tables(oid: str, part: PartResult, profile: Profile) -> Iterator[Table]:
    for column in part.part.columns:
        if column.oid == oid:
            yield from tables_of(profile).get(column.read_as, ())


def _lacks_table(part: PartResult, table: Table, inventory: Inventory) -> bool:
    if table.entity is Entity.ONU:
        return _is_empty_for_good(part, _count_onus(table.technology, inventory), table.technology)
    # If the OLT had ports and now sends none at all, their board is away.
    return table.entity.value not in inventory.kinds or (
        part.decoded is not None and len(part.decoded[table.entity]) > 0
    )


def _is_empty_for_good(part: PartResult, onus: Census, technology: str) -> bool:
    """Tell whether an empty column means a missing one: enough online ONUs should have filled it."""
    kind = part.part.kind
    if not onus.known:
        # There is no such board. A GET has asked nobody for it, and so proves nothing.
        return kind != JobKind.GET
    if kind == JobKind.DISCOVERY:
        # Without the column, ONUs that were found there before would become absent and never be seen again.
        return False
    if kind != JobKind.GET and not _has_rows(part, technology):
        return False
    return (onus.online if onus.with_state else onus.present) >= ENOUGH


def _count_onus(technology: str, inventory: Inventory) -> Census:
    """Count the ONUs that a table is about: all of them if it has no technology."""
    counted = inventory.onus_by_technology.items()
    chosen = [census for each, census in counted if technology in ("", each)]
    return Census(*map(sum, zip(*chosen, strict=True))) if chosen else Census(0, 0, 0, 0)


def _has_rows(part: PartResult, technology: str) -> bool:
    seen = part.decoded.onus.technologies if part.decoded is not None else []
    return technology in seen or (not technology and bool(seen))
