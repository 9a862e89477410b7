"""Stores which data of an OLT was collected, and which of its tables have rows that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facho.apps.discovery.onu_columns import VALUES
from facho.apps.discovery.store import note_collected, store_unreadable
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.collect.request_plan import tables_of
from facho.engine.collect.work import PartResult, PartState
from facho.engine.events.stream import publish
from facho.engine.events.types import UnreadableRowsFound
from facho.engine.record.chassis import lists_unprovisioned
from facho.engine.record.recording import Recording
from facho.vendors import Decoded, Entity, Profile

# A stored fact that several facts can fill: the ONU's name serves as its description.
_FILLED_BY: Final[Mapping[str, tuple[str, ...]]] = {each.name: each.facts for each in VALUES}


def write_collected(recording: Recording) -> None:
    """Date the facts and tasks that were collected. A reading of one ONU collects none."""
    planned = recording.planned
    if planned.reading is None:
        parts, profile = recording.collection.parts, planned.work.profile
        data = {datum for part in parts for datum in collected_data(part, profile)}
        note_collected(recording.olt_id, data, recording.now)


def collected_data(outcome: PartResult, profile: Profile) -> set[str]:
    """Return the facts of a part of which rows arrived, and its task if anything did.

    SNMP cannot tell an empty table from one that is not there, so a fact without rows was not collected. The
    list of ONUs that wait to be provisioned is usually empty, and an empty one is an answer.
    """
    part, decoded = outcome.part, outcome.decoded
    if decoded is None or outcome.state is not PartState.SUCCESS:
        return set()
    answered = (Entity.AUTOFIND,) if lists_unprovisioned(outcome, profile) else ()
    facts = {fact for fact in part.facts if _has_arrived(fact, decoded, answered)}
    return facts | {part.task_type} if facts or outcome.rows else set()


def _has_arrived(name: str, decoded: Decoded, answered: Iterable[Entity]) -> bool:
    prefix, dot, fact = name.rpartition(".")
    entity = next((each for each in Entity if each == prefix), None) if dot else Entity.ONU
    if entity is None:
        return False
    facts = _FILLED_BY.get(fact, (fact,)) if entity is Entity.ONU else (fact,)
    return entity in answered or any(_has_rows(entity, each, decoded) for each in facts)


def _has_rows(entity: Entity, fact: str, decoded: Decoded) -> bool:
    """Return whether the OLT sent rows that could be read; a row without a value is an answer too."""
    values = decoded[entity].columns.get(fact, [])
    if any(value is not None for value in values):
        return True
    return bool(values) and not any(each == fact for _, each in decoded.problems.counts)


def write_unreadable_rows(recording: Recording) -> None:
    parts, planned, now = recording.collection.parts, recording.planned, recording.now
    found = {
        table: rows
        for part in parts
        if part.decoded is not None
        for table, rows in part.decoded.unreadable.items()
    }
    if not found and (not recording.before.had_unreadable or planned.reading is not None):
        return
    profile = planned.work.profile
    read = {table for part in parts for table in tables_read(part, profile)}
    unread = {table.name for table in profile.tables} - read
    for table, each in store_unreadable(recording.olt_id, found, unread, now).items():
        event = UnreadableRowsFound(
            olt_id=recording.olt_id, table=table, rows=each.rows, example=each.example
        )
        publish(event, now)


def tables_read(outcome: PartResult, profile: Profile) -> set[str]:
    """Return the names of the tables that a part walked to their end."""
    if outcome.state is not PartState.SUCCESS or outcome.part.kind == JobKind.GET:
        return set()
    columns = (column for column in outcome.asked if not column.helps)
    return {table.name for column in columns for table in tables_of(profile).get(column.read_as, ())}
