"""The reading of one ONU that a person asks for: its plan and its result.

Only rows that can be addressed by the place of the ONU are read; tables that must be walked are left to jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from facho.apps.db.sql import db_text
from facho.apps.discovery.findings import Finding
from facho.apps.hosts.selectors import PLACE_FACTS, AskedFact
from facho.apps.snmp_jobs.models import JobKind
from facho.core.reasons import Reason, to_json
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import AskedColumn, KnownOnu, Part, is_addressable, tables_of
from facho.vendors import Entity, Profile, known_facts
from facho.vendors.schema import ReadMethod, Table

TASK: Final = "read_onu"
_LONGEST: Final = 1_000

NEEDS_WALK: Final = Reason.of("needs_walk")
NOT_THERE: Final = Reason.of("not_on_olt")
NOT_ONLINE: Final = Reason.of("onu_not_online")
NO_VALUE: Final = Reason.of("no_value")
ANOTHER: Final = Reason.of("another_onu")


@dataclass(frozen=True, slots=True)
class OnuRead:
    onu_id: int
    onu: KnownOnu
    # First the facts that the OLT knows itself, then those that it reads from the ONU if that is online.
    parts: tuple[Part, ...]
    # The OIDs of each fact.
    oids: Mapping[str, frozenset[str]]
    # Facts that are not read, and why.
    unread: Mapping[str, Reason]


def facts_of_onu(profile: Profile) -> tuple[str, ...]:
    """Return the facts that the family has about an ONU, except its place."""
    tables = [table for table in profile.tables if table.entity is Entity.ONU]
    offered = {column.fact for table in tables for column in table.columns}
    return tuple(fact for fact in known_facts()[Entity.ONU] if fact in offered and fact not in PLACE_FACTS)


def plan_onu_read(
    onu_id: int, onu: KnownOnu, profile: Profile, asked: Iterable[tuple[AskedFact, AskedColumn]]
) -> OnuRead:
    ours = [each for each in asked if _tables(profile, each[1], onu)]
    by_place = [each for each in ours if is_addressable(profile, each[1])]
    oids = {
        fact.fact: frozenset(column.oid for other, column in by_place if other.fact == fact.fact)
        for fact, _ in ours
        if fact.fact
    }
    slow = [each for each in by_place if _is_read_from_onu(_tables(profile, each[1], onu))]
    quick = [each for each in by_place if each not in slow]
    parts = (_part("onu", quick), _part("onu, online", slow))
    unread = {fact: NEEDS_WALK for fact, places in oids.items() if not places}
    return OnuRead(onu_id, onu, tuple(part for part in parts if part.facts), oids, unread)


def _tables(profile: Profile, column: AskedColumn, onu: KnownOnu) -> list[Table]:
    """Return the tables of the column in which this ONU may be."""
    return [
        table
        for table in tables_of(profile).get(column.read_as, ())
        if table.entity is Entity.ONU and onu.technology in ("", table.technology or onu.technology)
    ]


def _is_read_from_onu(tables: Iterable[Table]) -> bool:
    return all(table.read_method is ReadMethod.GET_ONLINE for table in tables)


def _part(name: str, asked: Sequence[tuple[AskedFact, AskedColumn]]) -> Part:
    facts = dict.fromkeys(fact.fact for fact, _ in asked if fact.fact)
    return Part(None, name, JobKind.GET, TASK, tuple(facts), tuple(column for _, column in asked))


def limit_finding(finding: Finding) -> Finding:
    """Mark a finding as that of one ONU, so that nothing is concluded about the others."""
    return replace(finding, of_one=True, of_online=frozenset())


def fail_as_other_onu(collection: Collection) -> Collection:
    """Mark the reading as failed because another ONU is at the place."""
    first, *others = collection.parts
    return replace(collection, parts=[replace(first, state=PartState.FAILED, error=ANOTHER), *others])


def onu_read_json(reading: OnuRead, collection: Collection, *, another: bool) -> dict[str, dict[str, Any]]:
    """Return the facts that were read, and why the others were not."""
    facts = {} if another else {fact: _fact_json(value) for fact, value in _values(reading, collection.parts)}
    unread = dict(reading.unread)
    for result in collection.parts:
        for fact in result.part.facts:
            if fact not in facts:
                unread[fact] = ANOTHER if another else _unread_reason(fact, reading, result)
    lacking = {fact: to_json(why) for fact, why in unread.items() if fact not in facts}
    return {"facts": facts, "unread": lacking}


def _values(reading: OnuRead, parts: Iterable[PartResult]) -> Iterator[tuple[str, object]]:
    for result in parts:
        if result.decoded is not None and reading.onu.key in result.decoded.onus.keys:
            row = result.decoded.onus.row(result.decoded.onus.keys.index(reading.onu.key))
            yield from ((fact, value) for fact, value in row.items() if value is not None)


def _fact_json(value: object) -> int | float | str | None:
    """Return a fact for JSON: a state as its meaning, a time or an address as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else db_text(str(value), _LONGEST)


def _unread_reason(fact: str, reading: OnuRead, result: PartResult) -> Reason:
    missing = {column.oid for column in result.part.missing_columns}
    if reading.oids[fact] and reading.oids[fact] <= missing:
        return NOT_THERE
    if result.state is not PartState.SUCCESS:
        return result.error
    if result.part.columns and not result.onus_asked:
        return NOT_ONLINE
    return result.unanswered.get(str(reading.onu.key), NO_VALUE)
