"""What the parts of a collection said about ONUs, in the form in which it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from facho.apps.discovery.columns import VALUES
from facho.apps.discovery.store import Finding
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.collect.questions import tables_of
from facho.engine.collect.work import Part, PartOutcome, PartState
from facho.engine.record.chassis import tells_who_waits
from facho.vendors import Decoded, Entity, Profile
from facho.vendors.schema import Asking

# A stored fact that several facts can fill: the ONU's name serves as its description.
_FILLED_BY: Final[Mapping[str, tuple[str, ...]]] = {each.name: each.facts for each in VALUES}


def findings_of(parts: Iterable[PartOutcome], profile: Profile) -> Iterator[Finding]:
    """A part that was read to its end says something even when it has no row: that nobody is there."""
    for outcome in parts:
        succeeded, kind = outcome.state is PartState.SUCCESS, outcome.part.kind
        if outcome.decoded is not None and (succeeded or len(outcome.decoded.onus)):
            yield Finding(
                outcome.decoded.onus,
                complete_discovery=succeeded and kind == JobKind.DISCOVERY,
                keep_last=keep_last(profile, outcome.part),
                complete=succeeded and kind not in (JobKind.DISCOVERY, JobKind.GET),
                broken=not succeeded,
                unanswered=frozenset(outcome.unanswered),
                of_online=of_online(profile, outcome.part)
                if succeeded and kind == JobKind.GET
                else frozenset(),
                task=outcome.part.task_type,
                has_gaps=outcome.decoded.has_gaps(Entity.ONU),
            )


def keep_last(profile: Profile, part: Part) -> frozenset[tuple[str, str]]:
    """The facts of which an empty answer says nothing, each with its technology, of the columns asked for."""
    asked = {column.read_as for column in (*part.columns, *part.otherwise)}
    return frozenset(
        (column.fact, table.technology)
        for table in profile.tables
        if table.entity is Entity.ONU
        for column in table.columns
        if column.keep_last and any(source.oid in asked for source in (column.source, *column.otherwise))
    )


def of_online(profile: Profile, part: Part) -> frozenset[str]:
    """The facts that the OLT reads from the ONUs one by one, and was asked for of those that are online."""
    asked = {column.read_as for column in part.columns if part.kind == JobKind.GET}
    return frozenset(
        column.fact
        for table in profile.tables
        if table.asking is Asking.GET_ONLINE
        for column in table.columns
        if any(source.oid in asked for source in (column.source, *column.otherwise))
    )


def tables_read(outcome: PartOutcome, profile: Profile) -> set[str]:
    """Return the names of the tables that a part walked to their end."""
    if outcome.state is not PartState.SUCCESS or outcome.part.kind == JobKind.GET:
        return set()
    columns = (column for column in outcome.asked if not column.helps)
    return {table.name for column in columns for table in tables_of(profile).get(column.read_as, ())}


def data_collected(outcome: PartOutcome, profile: Profile) -> set[str]:
    """Return the facts of a part of which rows arrived, and its task if anything did.

    SNMP cannot tell an empty table from one that is not there, so a fact without rows was not collected. The
    list of ONUs that wait to be provisioned is usually empty, and an empty one is an answer.
    """
    part, decoded = outcome.part, outcome.decoded
    if decoded is None or outcome.state is not PartState.SUCCESS:
        return set()
    answered = (Entity.AUTOFIND,) if tells_who_waits(outcome, profile) else ()
    facts = {fact for fact in part.facts if _has_arrived(fact, decoded, answered)}
    return facts | {part.task_type} if facts or outcome.rows else set()


def _has_arrived(written: str, decoded: Decoded, answered: Iterable[Entity]) -> bool:
    entity, dot, fact = written.rpartition(".")
    of = next((each for each in Entity if each == entity), None) if dot else Entity.ONU
    if of is None:
        return False
    facts = _FILLED_BY.get(fact, (fact,)) if of is Entity.ONU else (fact,)
    return of in answered or any(_has_rows(of, each, decoded) for each in facts)


def _has_rows(entity: Entity, fact: str, decoded: Decoded) -> bool:
    """Whether the OLT sent rows that could be read; that there is no value now is an answer, too."""
    values = decoded[entity].columns.get(fact, [])
    if any(value is not None for value in values):
        return True
    return bool(values) and not any(of == fact for _, of in decoded.problems.counts)
