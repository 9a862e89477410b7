"""Stores what a collection found about the OLT itself.

Its state: whether it answers, its uptime, version and missing columns. Its chassis: ports,
uplinks, health and unprovisioned ONUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Final

from facho.apps.chassis.selectors import known_kinds
from facho.apps.chassis.store import store_health, store_ports, store_unprovisioned, store_uplinks
from facho.apps.db import sql
from facho.apps.discovery.selectors import Census, census
from facho.apps.discovery.store import FrameValues
from facho.apps.execution_coordinator.store import mark_changed
from facho.apps.history.facts import ENTITIES
from facho.apps.history.models import Subject
from facho.apps.history.store import make_frame
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import JobKind
from facho.core.execution_end import OltAfter, OltReachability, ReplanReason
from facho.core.reasons import NO_REASON, Reason
from facho.core.request_rules import update_missing_columns
from facho.engine.collect.part_results import ENOUGH, Collection, PartResult, PartState
from facho.engine.collect.request_plan import tables_of
from facho.engine.collect.work_builder import OltSnapshot, learned_json
from facho.engine.events.stream import publish
from facho.engine.events.types import (
    EmergencyReplan,
    OltFailing,
    OltReachable,
    OltUnreachable,
    UnprovisionedOnusFound,
)
from facho.engine.record.execution_row import Recording
from facho.engine.record.traffic import add_rates, were_read_lately
from facho.snmp.values import TimeTicks
from facho.snmp.walk import restarted
from facho.vendors import Entity, Facts, Profile
from facho.vendors.schema import Table

_TICKS_PER_S: Final = 100
_LONGEST_VERSION: Final = 120


def write_olt_state(recording: Recording) -> None:
    reachable, collection, now = recording.end.olt.reachable, recording.collection, recording.now
    if reachable is False:
        olt = Olt.objects.filter(id=recording.olt_id, unreachable_since__isnull=True)
        olt.update(reachable=False, unreachable_since=now)
    if not reachable:
        return
    changes: dict[str, Any] = {}
    if not recording.before.was_reachable:
        changes |= {"reachable": True, "unreachable_since": None}
    learned = learned_json(collection)
    if learned and learned != recording.planned.before.learned:
        changes["learned"] = learned
    if collection.cpu_pct is not None:
        changes |= {"cpu_pct": collection.cpu_pct, "cpu_read_at": now}
    planned = recording.planned
    missing = set[str]()
    # That one ONU has no such row says nothing about the OLT.
    if planned.reading is None:
        load = partial(load_inventory, recording.olt_id)
        missing = confirm_missing(collection, planned.work.profile, load)
        missing -= set(_counted_lately(recording, missing))
    changes |= changed_columns(planned.before, collection, missing, now)
    if changes and not (changes.keys() == _UPTIME and _goes_on(planned.before, collection.uptime_s, now)):
        sql.update_row(Olt, recording.olt_id, changes)


def write_reachability(recording: Recording) -> None:
    """Replan and report an OLT that went away or is back. It comes last, when all else is stored."""
    before, after = recording.before.olt, recording.end.olt
    update_reachability(recording.olt_id, before, after, recording.now, error=recording.collection.error)


def changed_columns(
    before: OltSnapshot, collection: Collection, missing: Iterable[str], now: datetime
) -> dict[str, Any]:
    """Return the columns of the OLT's row to write. `missing` are the OIDs that it does not have."""
    changes: dict[str, Any] = {}
    if collection.uptime_s is not None:
        changes |= {"uptime_s": int(collection.uptime_s), "uptime_read_at": now}
    version = next(_versions(collection), "")
    if version and version != before.version:
        changes["version"] = version
    found = {oid for part in collection.parts for oid in part.found}
    missing_after = update_missing_columns(
        before.missing_columns,
        missing,
        found,
        now,
        renewed=not found.isdisjoint(before.missing_columns)
        or _is_another_version(before, version)
        or _has_restarted(before, collection.uptime_s, now),
    )
    if missing_after != before.missing_columns:
        changes["lacks"] = missing_after
    return changes


def _versions(collection: Collection) -> Iterator[str]:
    for part in collection.parts:
        if part.decoded is not None:
            for value in part.decoded[Entity.OLT].columns.get("version", ()):
                if isinstance(value, str) and value:
                    yield sql.db_text(value, _LONGEST_VERSION)


def _is_another_version(before: OltSnapshot, version: str) -> bool:
    return bool(before.version and version) and version != before.version


# The uptime goes on by itself, so that a known one is written again only now and then.
_UPTIME: Final = frozenset(("uptime_s", "uptime_read_at"))
_UPTIME_KEPT: Final = timedelta(minutes=5)
_UPTIME_DRIFT_S: Final = 2.0


def _goes_on(before: OltSnapshot, uptime_s: float | None, now: datetime) -> bool:
    """Tell whether the uptime is what the stored one has become since it was read, not long ago."""
    if uptime_s is None or before.uptime_s is None or before.uptime_read_at is None:
        return False
    since = now - before.uptime_read_at
    expected = before.uptime_s + since.total_seconds()
    return timedelta() <= since < _UPTIME_KEPT and abs(uptime_s - expected) < _UPTIME_DRIFT_S


def _has_restarted(before: OltSnapshot, uptime_s: float | None, now: datetime) -> bool:
    if uptime_s is None or before.uptime_s is None or before.uptime_read_at is None:
        return False
    then, since = TimeTicks(before.uptime_s * _TICKS_PER_S), now - before.uptime_read_at
    return restarted(then, TimeTicks(int(uptime_s * _TICKS_PER_S)), since.total_seconds())


# A column that is empty once may have values soon: on an OLT that has just started, of ONUs that are offline,
# and while a board is away. An execution reports all columns that it found empty; only those confirmed here
# are stored with the OLT. Boards come up one after the other, and ONUs after them.
_STARTUP_S: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hardware of an OLT as it is stored after this collection."""

    onus_by_technology: Mapping[str, Census]
    # Kinds of things that it had at some time: "port", "uplink", "board", "fan", "psu", "olt".
    kinds: frozenset[str]


def _counted_lately(recording: Recording, missing: Iterable[str]) -> Iterator[str]:
    """Yield those columns of counters that were there until now, and were read lately.

    Some agents leave a column out of some answers. To do without it for a day, or with a narrow counter
    instead, would be worse than to ask again.
    """
    new = set(missing) - recording.planned.before.missing_columns.keys()
    for part in recording.collection.parts if new else ():
        for oid in new:
            for table in _tables(oid, part, recording.planned.work.profile):
                facts = {
                    each.fact
                    for each in table.columns
                    if oid in {source.oid for source in (each.source, *each.otherwise)}
                }
                if were_read_lately(recording, table.entity, facts):
                    yield oid


def load_inventory(olt_id: int) -> Inventory:
    return Inventory(census(olt_id), frozenset(known_kinds(olt_id)))


def confirm_missing(collection: Collection, profile: Profile, load: Callable[[], Inventory]) -> set[str]:
    """Return the OIDs that were asked for and that the OLT does not have.

    `load` is called only if some column was empty that may be missing, because it costs queries.
    """
    if collection.uptime_s is not None and collection.uptime_s < _STARTUP_S:
        return set()
    inventory = cache(load)
    return {
        oid
        for part in collection.parts
        for oid in part.missing_columns
        if all(_lacks_table(part, table, inventory) for table in _tables(oid, part, profile))
    }


def _tables(oid: str, part: PartResult, profile: Profile) -> Iterator[Table]:
    for column in part.part.columns:
        if column.oid == oid:
            yield from tables_of(profile).get(column.read_as, ())


def _lacks_table(part: PartResult, table: Table, inventory: Callable[[], Inventory]) -> bool:
    if table.entity is Entity.ONU:
        if part.part.kind == JobKind.DISCOVERY and _has_rows(part, table.technology):
            # It found ONUs of this table, so the OLT has it, though this column of it is empty.
            return False
        return _is_empty_for_good(part, _count_onus(table.technology, inventory()), table.technology)
    # If the OLT had ports and now sends none at all, their board is away.
    return table.entity.value not in inventory().kinds or (
        part.decoded is not None and len(part.decoded[table.entity]) > 0
    )


def _is_empty_for_good(part: PartResult, onus: Census, technology: str) -> bool:
    """Tell whether an empty column means a missing one: enough online ONUs should have filled it."""
    kind = part.part.kind
    if not onus.known:
        # There is no such board. A GET has asked nobody for it, and so proves nothing.
        return kind != JobKind.GET
    if kind == JobKind.DISCOVERY:
        # Without the column, ONUs that were found there before would become absent and never be seen again.
        return False
    if kind != JobKind.GET and not _has_rows(part, technology):
        return False
    return (onus.online if onus.with_state else onus.present) >= ENOUGH


def _count_onus(technology: str, inventory: Inventory) -> Census:
    """Count the ONUs that a table is about: all of them if it has no technology."""
    counted = inventory.onus_by_technology.items()
    chosen = [census for each, census in counted if technology in ("", each)]
    return Census(*map(sum, zip(*chosen, strict=True))) if chosen else Census(0, 0, 0, 0)


def _has_rows(part: PartResult, technology: str) -> bool:
    seen = part.decoded.onus.technologies if part.decoded is not None else []
    return technology in seen or (not technology and bool(seen))


def update_reachability(
    olt_id: int, before: OltReachability, after: OltAfter, now: datetime, *, error: Reason = NO_REASON
) -> None:
    """Count failures in a row, and replan and report an OLT that went away, is back or fails too often.

    In the transaction that ends an attempt, after everything else. `error` is why the OLT is silent.
    """
    failures = after.failed_in_a_row
    if failures != before.failed_in_a_row:
        sql.update_row(Olt, olt_id, {"failed_in_a_row": failures})
    match after.replan:
        case ReplanReason.UNREACHABLE:
            request_replan(OltUnreachable(olt_id=olt_id, failures=failures, reason=error), now)
        case ReplanReason.BACK:
            request_replan(OltReachable(olt_id=olt_id, failures=failures, since=before.away_since), now)
        case ReplanReason.FAILURES:
            request_replan(OltFailing(olt_id=olt_id, failures=failures), now)


def request_replan(event: EmergencyReplan, now: datetime) -> None:
    """Have the coordinator plan the OLT of this event at its next step; in the caller's transaction."""
    mark_changed([event.olt_id])
    publish(event, now)


_PARTS: Final = ENTITIES[Subject.PART]
_CLOCK: Final = frozenset({"clock"})
# So many ONUs of one event are named.
_MAX_NAMED: Final = 5
_IDENTITIES: Final = ("serial", "mac")


def write_chassis(recording: Recording) -> None:
    """Store what the OLT says of itself, and the history of that. A reading of one ONU says nothing."""
    planned, now = recording.planned, recording.now
    if planned.reading is None:
        stored = store_chassis(recording.olt_id, planned.work.profile, recording.collection.parts, now)
        for subject, values in stored.items():
            frame = add_rates(recording, subject, values)
            recording.writes.frames += make_frame(recording.olt_id, now, subject, frame.ids, frame.columns)


def store_chassis(
    olt_id: int, profile: Profile, parts: Sequence[PartResult], now: datetime
) -> dict[Subject, FrameValues]:
    """Store ports, uplinks, health and unprovisioned ONUs. Return their numbers, for the history."""
    whole = [part for part in parts if part.state is PartState.SUCCESS]
    broken = [part for part in parts if part.state is PartState.FAILED]
    stored = dict(_store_subjects(olt_id, whole, broken, now))
    if lists := [part for part in whole if lists_unprovisioned(part, profile)]:
        waiting, has_gaps = _facts(lists, Entity.AUTOFIND), _have_gaps(lists, Entity.AUTOFIND)
        if new := store_unprovisioned(olt_id, waiting, now, has_gaps=has_gaps):
            _publish_unprovisioned(olt_id, new, now)
    return stored


def _store_subjects(
    olt_id: int, whole: Sequence[PartResult], broken: Sequence[PartResult], now: datetime
) -> Iterator[tuple[Subject, FrameValues]]:
    health, partial = _facts(whole, *_PARTS), _facts(broken, *_PARTS)
    # Its clock alone says nothing of its health.
    health = [facts for facts in health if not _CLOCK.issuperset(facts.columns)]
    if health or partial:
        with_gaps = [entity for entity in _PARTS if _have_gaps(whole, entity)]
        yield Subject.PART, store_health(olt_id, health, now, partial=partial, with_gaps=with_gaps)
    ports, cut = _facts(whole, Entity.PORT), _facts(broken, Entity.PORT)
    if ports or cut:
        yield Subject.PORT, store_ports(olt_id, ports, now, partial=cut)
    links, cut = _facts(whole, Entity.UPLINK), _facts(broken, Entity.UPLINK)
    if links or cut:
        has_gaps = _have_gaps(whole, Entity.UPLINK)
        yield Subject.UPLINK, store_uplinks(olt_id, links, now, partial=cut, has_gaps=has_gaps)


def _publish_unprovisioned(olt_id: int, new: Mapping[str, Mapping[str, Any]], now: datetime) -> None:
    """Publish one event for all of them."""
    named = [
        {"name": identity, "port": values["place"], "model": values.get("model", "")}
        for identity, values in list(new.items())[:_MAX_NAMED]
    ]
    publish(UnprovisionedOnusFound(olt_id=olt_id, names=list(new), onus=named), now)


def _facts(parts: Sequence[PartResult], *entities: Entity) -> list[Facts]:
    found = [part.decoded[each] for each in entities for part in parts if part.decoded is not None]
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
