"""One ONU that a person has read now: what is asked for it, and what came.

Only what can be asked for by its place: a table that must be walked to find one row is left to the jobs.
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
from facho.engine.collect.request_plan import is_addressable, tables_of
from facho.engine.collect.work import (
    AskedColumn,
    Collection,
    KnownOnu,
    Part,
    PartResult,
    PartState,
)
from facho.vendors import Entity, Profile
from facho.vendors.facts import FACTS
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
    # What the OLT knows by itself first, then what it reads from the ONU, if that turns out to be online.
    parts: tuple[Part, ...]
    # The OIDs of each fact.
    oids: Mapping[str, frozenset[str]]
    # Facts that are not asked for, and why.
    unread: Mapping[str, Reason]


def facts_of_onu(profile: Profile) -> tuple[str, ...]:
    """All that the family tells of an ONU, but for its place, by which it is asked."""
    tables = [table for table in profile.tables if table.entity is Entity.ONU]
    told = {column.fact for table in tables for column in table.columns}
    return tuple(fact for fact in FACTS[Entity.ONU] if fact in told and fact not in PLACE_FACTS)


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
    """Those in which this ONU may be."""
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
    """From one ONU nothing follows for the others."""
    return replace(finding, of_one=True, of_online=frozenset())


def fail_as_other_onu(collection: Collection) -> Collection:
    """What came was not about the ONU that was asked for."""
    first, *others = collection.parts
    return replace(collection, parts=[replace(first, state=PartState.FAILED, error=ANOTHER), *others])


def onu_read_json(reading: OnuRead, collection: Collection, *, another: bool) -> dict[str, dict[str, Any]]:
    """What was read, and of the rest why it was not."""
    facts = {} if another else {fact: _plain(value) for fact, value in _values(reading, collection.parts)}
    unread = dict(reading.unread)
    for outcome in collection.parts:
        for fact in outcome.part.facts:
            if fact not in facts:
                unread[fact] = ANOTHER if another else _why_not(fact, reading, outcome)
    lacking = {fact: to_json(why) for fact, why in unread.items() if fact not in facts}
    return {"facts": facts, "unread": lacking}


def _values(reading: OnuRead, parts: Iterable[PartResult]) -> Iterator[tuple[str, object]]:
    for outcome in parts:
        if outcome.decoded is not None and reading.onu.key in outcome.decoded.onus.keys:
            row = outcome.decoded.onus.row(outcome.decoded.onus.keys.index(reading.onu.key))
            yield from ((fact, value) for fact, value in row.items() if value is not None)


def _plain(value: object) -> int | float | str | None:
    """As JSON has it: a state is its meaning, and a moment or an address its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else db_text(str(value), _LONGEST)


def _why_not(fact: str, reading: OnuRead, outcome: PartResult) -> Reason:
    left_out = {column.oid for column in outcome.part.left_out}
    if reading.oids[fact] and reading.oids[fact] <= left_out:
        return NOT_THERE
    if outcome.state is not PartState.SUCCESS:
        return outcome.error
    if outcome.part.columns and not outcome.onus_asked:
        return NOT_ONLINE
    return outcome.unanswered.get(str(reading.onu.key), NO_VALUE)
