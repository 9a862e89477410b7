"""Stores the state of the OLT as a whole: whether it answers, its uptime, version and missing columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.hosts.models import Olt
from facho.core.request_rules import update_missing_columns
from facho.engine.collect.targets import learned_json
from facho.engine.collect.work import Collection
from facho.engine.collect.work_builder import OltSnapshot
from facho.engine.coordinate.reachability import update_reachability
from facho.engine.record.missing_columns import confirm_missing, load_inventory
from facho.engine.record.recording import Recording
from facho.snmp.values import TimeTicks
from facho.snmp.walk import restarted
from facho.vendors import Entity

_TICKS_PER_S: Final = 100
_LONGEST_VERSION: Final = 120


def write_olt_state(recording: Recording) -> None:
    reachable, collection, now = recording.end.olt.reachable, recording.collection, recording.now
    if reachable is False:
        olt = Olt.objects.filter(id=recording.olt_id, unreachable_since__isnull=True)
        olt.update(reachable=False, unreachable_since=now)
    if not reachable:
        return
    changes: dict[str, Any] = {"reachable": True, "unreachable_since": None}
    if collection.learned is not None:
        changes["learned"] = learned_json(collection.learned)
    if collection.cpu_pct is not None:
        changes |= {"cpu_pct": collection.cpu_pct, "cpu_read_at": now}
    planned = recording.planned
    missing = set[str]()
    # That one ONU has no such row says nothing about the OLT.
    if planned.reading is None:
        load = partial(load_inventory, recording.olt_id)
        missing = confirm_missing(collection, planned.work.profile, load)
    changes |= changed_columns(planned.before, collection, missing, now)
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


def _has_restarted(before: OltSnapshot, uptime_s: float | None, now: datetime) -> bool:
    if uptime_s is None or before.uptime_s is None or before.uptime_read_at is None:
        return False
    then, since = TimeTicks(before.uptime_s * _TICKS_PER_S), now - before.uptime_read_at
    return restarted(then, TimeTicks(int(uptime_s * _TICKS_PER_S)), since.total_seconds())
