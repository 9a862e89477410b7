"""Stores what a collection brought about the OLT itself: ports, health and unprovisioned ONUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from facho.apps.chassis.store import store_health, store_ports, store_unprovisioned
from facho.apps.discovery.store import FrameValues
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.engine.collect.work import PartResult, PartState
from facho.engine.events.stream import publish
from facho.engine.events.types import UnprovisionedOnusFound
from facho.engine.record.recording import Recording
from facho.vendors import Entity, Facts, Profile

_HEALTH: Final = (Entity.OLT, Entity.BOARD, Entity.FAN)
# So many ONUs of one event are named.
_MAX_NAMED: Final = 5
_IDENTITIES: Final = ("serial", "mac")


def write_chassis(recording: Recording) -> None:
    """Store what the OLT says of itself, and the history of its ports. A reading of one ONU says nothing."""
    planned, now = recording.planned, recording.now
    if planned.reading is None:
        ports = store_chassis(recording.olt_id, planned.work.profile, recording.collection.parts, now)
        append_frame(recording.olt_id, now, Subject.PORT, ports.ids, ports.columns)


def store_chassis(olt_id: int, profile: Profile, parts: Sequence[PartResult], now: datetime) -> FrameValues:
    """Store ports, health and unprovisioned ONUs. Return the numbers of ports, for their history."""
    whole = [part for part in parts if part.state is PartState.SUCCESS]
    broken = [part for part in parts if part.state is PartState.FAILED]
    olt, boards, fans = (_facts(whole, entity) for entity in _HEALTH)
    partial = [facts for entity in _HEALTH for facts in _facts(broken, entity)]
    if olt or boards or fans or partial:
        with_gaps = [entity for entity in _HEALTH if _have_gaps(whole, entity)]
        store_health(olt_id, olt, boards, fans, now, partial=partial, with_gaps=with_gaps)
    if lists := [part for part in whole if lists_unprovisioned(part, profile)]:
        waiting, has_gaps = _facts(lists, Entity.AUTOFIND), _have_gaps(lists, Entity.AUTOFIND)
        if new := store_unprovisioned(olt_id, waiting, now, has_gaps=has_gaps):
            _publish_unprovisioned(olt_id, new, now)
    ports, cut = _facts(whole, Entity.PORT), _facts(broken, Entity.PORT)
    return store_ports(olt_id, ports, now, partial=cut) if ports or cut else FrameValues()


def _publish_unprovisioned(olt_id: int, new: Mapping[str, Mapping[str, Any]], now: datetime) -> None:
    """Publish one event for all of them."""
    named = [
        {"name": identity, "port": values["place"], "model": values.get("model", "")}
        for identity, values in list(new.items())[:_MAX_NAMED]
    ]
    publish(UnprovisionedOnusFound(olt_id=olt_id, names=list(new), onus=named), now)


def _facts(parts: Sequence[PartResult], entity: Entity) -> list[Facts]:
    found = [part.decoded[entity] for part in parts if part.decoded is not None]
    return [facts for facts in found if len(facts)]


def _have_gaps(parts: Sequence[PartResult], entity: Entity) -> bool:
    return any(part.decoded is not None and part.decoded.has_gaps(entity) for part in parts)


def lists_unprovisioned(part: PartResult, profile: Profile) -> bool:
    """Return whether a part asked for the identities of unprovisioned ONUs, and could read the answer.

    An empty list is an answer too: nobody waits.
    """
    if part.decoded is None or part.state is not PartState.SUCCESS:
        return False
    asked = {column.read_as for column in part.part.columns}
    if asked.isdisjoint(_identity_oids(profile)):
        return False
    return bool(len(part.decoded[Entity.AUTOFIND])) or not _has_unreadable(part, profile)


def _identity_oids(profile: Profile) -> set[str]:
    """Return the columns with serials or MACs; of a family that has neither, all of the table."""
    columns = [
        column for table in profile.tables if table.entity is Entity.AUTOFIND for column in table.columns
    ]
    chosen = [column for column in columns if column.fact in _IDENTITIES] or columns
    return {source.oid for column in chosen for source in (column.source, *column.otherwise)}


def _has_unreadable(part: PartResult, profile: Profile) -> bool:
    """Return whether rows of the list could not be read: then no row does not mean that nobody waits."""
    assert part.decoded is not None
    lists = {table.name for table in profile.tables if table.entity is Entity.AUTOFIND}
    return any(table in lists for table, _ in part.decoded.problems.counts)
