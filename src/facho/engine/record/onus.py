"""Stores what the parts of a collection found about ONUs, their history, and which data was collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.roster import VALUES
from facho.apps.discovery.store import StoredOnus, note_collected, store_findings, store_unreadable
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.apps.snmp_jobs.models import JobKind
from facho.config import Config
from facho.core.optics import Limits
from facho.engine.collect.onu_read import fail_as_other_onu, limit_finding
from facho.engine.collect.request_plan import tables_of
from facho.engine.collect.work import Collection, Part, PartResult, PartState
from facho.engine.collect.work_builder import Planned
from facho.engine.events.stream import publish
from facho.engine.events.types import UnreadableRowsFound
from facho.engine.record.chassis import lists_unprovisioned
from facho.engine.record.recording import Recording
from facho.vendors import Decoded, Entity, Profile
from facho.vendors.schema import ReadMethod


def store_onus(
    planned: Planned, collection: Collection, now: datetime, config: Config
) -> tuple[StoredOnus, Collection]:
    """Return what became of the ONUs, and the collection: failed, if another ONU was at the place to read."""
    findings = list(findings_of(collection.parts, planned.work.profile))
    if planned.reading is not None:
        findings = [limit_finding(each) for each in findings]
    limits = Limits(weak_dbm=config.optical_weak, fall_db=config.optical_fall)
    stored = store_findings(
        planned.work.olt_id, findings, now, absent_after=config.absent_after, limits=limits
    )
    is_another = planned.reading is not None and stored.other
    return stored, fail_as_other_onu(collection) if is_another else collection


def write_onu_history(recording: Recording) -> None:
    frame, reading = recording.stored.frame, recording.planned.reading
    if reading is not None:
        frame = frame.of_one(reading.onu_id)
    append_frame(recording.olt_id, recording.now, Subject.ONU, frame.ids, frame.columns)


def findings_of(parts: Iterable[PartResult], profile: Profile) -> Iterator[Finding]:
    """Yield what each part found. One that was read to its end without a row shows that nobody is there."""
    for outcome in parts:
        succeeded, kind = outcome.state is PartState.SUCCESS, outcome.part.kind
        if outcome.decoded is not None and (succeeded or len(outcome.decoded.onus)):
            yield Finding(
                outcome.decoded.onus,
                complete_discovery=succeeded and kind == JobKind.DISCOVERY,
                keep_last=kept_facts(profile, outcome.part),
                complete=succeeded and kind not in (JobKind.DISCOVERY, JobKind.GET),
                broken=not succeeded,
                unanswered=frozenset(outcome.unanswered),
                of_online=facts_of_online(profile, outcome.part)
                if succeeded and kind == JobKind.GET
                else frozenset(),
                task=outcome.part.task_type,
                has_gaps=outcome.decoded.has_gaps(Entity.ONU),
            )


def kept_facts(profile: Profile, part: Part) -> frozenset[tuple[str, str]]:
    """Return the facts whose empty answer keeps the stored value, with their technologies."""
    asked = {column.read_as for column in (*part.columns, *part.otherwise)}
    return frozenset(
        (column.fact, table.technology)
        for table in profile.tables
        if table.entity is Entity.ONU
        for column in table.columns
        if column.keep_last and any(source.oid in asked for source in (column.source, *column.otherwise))
    )


def facts_of_online(profile: Profile, part: Part) -> frozenset[str]:
    """Return the facts that the OLT reads from each ONU, for which only online ONUs were asked."""
    asked = {column.read_as for column in part.columns if part.kind == JobKind.GET}
    return frozenset(
        column.fact
        for table in profile.tables
        if table.read_method is ReadMethod.GET_ONLINE
        for column in table.columns
        if any(source.oid in asked for source in (column.source, *column.otherwise))
    )


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
