"""What a collection says of the OLT as a whole: since when it runs, its version, what it does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from facho.core.capability import lacks_after
from facho.engine.collect.work import Collection
from facho.engine.collect.work_builder import Before
from facho.snmp.values import TimeTicks
from facho.snmp.walk import restarted
from facho.vendors import Entity

_TICKS_PER_S: Final = 100
_LONGEST_VERSION: Final = 120


def told_of_olt(
    before: Before, collection: Collection, missing: Iterable[str], now: datetime
) -> dict[str, Any]:
    """The columns of the OLT that are to be written; `missing` are those of its tables that it has not."""
    changes: dict[str, Any] = {}
    if collection.uptime_s is not None:
        changes |= {"uptime_s": int(collection.uptime_s), "uptime_read_at": now}
    version = next(_versions(collection), "")
    if version and version != before.version:
        changes["version"] = version
    found = {oid for part in collection.parts for oid in part.found}
    lacks = lacks_after(
        before.lacks,
        missing,
        found,
        now,
        renewed=not found.isdisjoint(before.lacks)
        or _is_another_version(before, version)
        or _has_restarted(before, collection.uptime_s, now),
    )
    if lacks != before.lacks:
        changes["lacks"] = lacks
    return changes


def _versions(collection: Collection) -> Iterator[str]:
    for part in collection.parts:
        if part.decoded is not None:
            for value in part.decoded[Entity.OLT].columns.get("version", ()):
                if isinstance(value, str) and value:
                    # PostgreSQL refuses NUL in a text.
                    yield value.replace("\0", "")[:_LONGEST_VERSION]


def _is_another_version(before: Before, version: str) -> bool:
    return bool(before.version and version) and version != before.version


def _has_restarted(before: Before, uptime_s: float | None, now: datetime) -> bool:
    if uptime_s is None or before.uptime_s is None or before.uptime_read_at is None:
        return False
    then, since = TimeTicks(before.uptime_s * _TICKS_PER_S), now - before.uptime_read_at
    return restarted(then, TimeTicks(int(uptime_s * _TICKS_PER_S)), since.total_seconds())
