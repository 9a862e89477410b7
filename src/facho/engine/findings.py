"""What the parts of a collection said about ONUs, in the form in which it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from facho.apps.discovery.store import Finding
from facho.apps.snmp_jobs.models import JobKind
from facho.engine.work import Part, PartOutcome, PartState
from facho.vendors import Entity, Profile
from facho.vendors.schema import Asking


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
