"""Which of the columns that an OLT was lacking may be left out of the next executions.

What is empty now may not be so for long: on an OLT that has just started, and of ONUs that are offline. That
an execution lacked something is told with the execution; only what is lasting is noted with the OLT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from facho.apps.discovery.selectors import Census
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.lacking import ENOUGH
from facho.engine.questions import tables_of
from facho.engine.work import Collection, PartOutcome
from facho.vendors import Entity, Profile

# Boards come up one after the other, and ONUs after them.
_HAS_STARTED_S: Final = 1800.0

# By technology.
Counted = Mapping[str, Census]


def lasting(collection: Collection, profile: Profile, census: Callable[[], Counted]) -> set[str]:
    """OIDs that were asked for. `census` counts the OLT's ONUs as they are after this collection."""
    if not any(part.lacking for part in collection.parts):
        return set()
    if collection.uptime_s is not None and collection.uptime_s < _HAS_STARTED_S:
        return set()
    onus = census()
    return {
        oid
        for part in collection.parts
        for oid in part.lacking
        if all(_says_enough(part, each, onus) for each in _technologies(oid, part, profile))
    }


def _technologies(oid: str, part: PartOutcome, profile: Profile) -> Iterator[str]:
    """Of the ONUs that a column is about; none for a column about the OLT itself."""
    for column in part.part.columns:
        if column.oid == oid:
            tables = tables_of(profile).get(column.read_as, ())
            yield from (table.technology for table in tables if table.entity is Entity.ONU)


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
