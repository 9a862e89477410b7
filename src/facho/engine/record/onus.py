"""Stores what the parts of a collection found about ONUs, and their history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.store import StoredOnus, store_findings
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.apps.snmp_jobs.models import JobKind
from facho.config import Config
from facho.core.optics import Limits
from facho.engine.collect.onu_read import fail_as_other_onu, limit_finding
from facho.engine.collect.work import Collection, Part, PartResult, PartState
from facho.engine.collect.work_builder import Planned
from facho.engine.record.recording import Recording
from facho.vendors import Entity, Profile
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
