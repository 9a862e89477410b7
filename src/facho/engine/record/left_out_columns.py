"""Which of the columns that an OLT was lacking may be left out of the next executions.

What is empty now may not be so for long: on an OLT that has just started, of ONUs that are offline, and while
a board is away. That an execution lacked something is told with the execution; only what is lasting is noted
with the OLT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from facho.apps.chassis.selectors import kinds_told
from facho.apps.discovery.selectors import Census, census
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.collect.missing_columns import ENOUGH
from facho.engine.collect.questions import tables_of
from facho.engine.collect.work import Collection, PartOutcome
from facho.vendors import Entity, Profile
from facho.vendors.schema import Table

# Boards come up one after the other, and ONUs after them.
_HAS_STARTED_S: Final = 1800.0

# By technology.
Counted = Mapping[str, Census]


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of an OLT, after this collection."""

    onus: Counted
    # Kinds of things that it had at some time: "port", "board", "fan", "olt".
    parts: frozenset[str]


def known_of(olt_id: int) -> Known:
    return Known(census(olt_id), frozenset(kinds_told(olt_id)))


def lasting(collection: Collection, profile: Profile, known: Callable[[], Known]) -> set[str]:
    """OIDs that were asked for. `known` is looked up only if something was lacking."""
    if not any(part.lacking for part in collection.parts):
        return set()
    if collection.uptime_s is not None and collection.uptime_s < _HAS_STARTED_S:
        return set()
    stored = known()
    return {
        oid
        for part in collection.parts
        for oid in part.lacking
        if all(_lacks_table(part, table, stored) for table in _tables(oid, part, profile))
    }


def _tables(oid: str, part: PartOutcome, profile: Profile) -> Iterator[Table]:
    for column in part.part.columns:
        if column.oid == oid:
            yield from tables_of(profile).get(column.read_as, ())


def _lacks_table(part: PartOutcome, table: Table, stored: Known) -> bool:
    if table.entity is Entity.ONU:
        return _says_enough(part, table.technology, stored.onus)
    # Where it had ports and none comes at all, their board is away.
    return table.entity.value not in stored.parts or (
        part.decoded is not None and len(part.decoded[table.entity]) > 0
    )


def _says_enough(part: PartOutcome, technology: str, onus: Counted) -> bool:
    """Whether its being empty says something: about ONUs that are online, and that the same part has seen."""
    kind, of_these = part.part.kind, _of(technology, onus)
    if not of_these.known:
        # There is no such board. A get has asked nobody for it.
        return kind != JobKind.GET
    if kind == JobKind.DISCOVERY:
        # Who was found there before would be taken for absent, and not be seen when they come back.
        return False
    if kind != JobKind.GET and not _has_seen(part, technology):
        return False
    return (of_these.online if of_these.told else of_these.present) >= ENOUGH


def _of(technology: str, onus: Counted) -> Census:
    """A table that is of no technology is about all ONUs."""
    chosen = [counted for each, counted in onus.items() if technology in ("", each)]
    return Census(*map(sum, zip(*chosen, strict=True))) if chosen else Census(0, 0, 0, 0)


def _has_seen(part: PartOutcome, technology: str) -> bool:
    seen = part.decoded.onus.technologies if part.decoded is not None else []
    return technology in seen or (not technology and bool(seen))
