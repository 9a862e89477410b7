"""Stores what an OLT says of itself, in the transaction of the caller.

A finding that was read to its end also shows what has no value any more. One that broke off (`partial`)
counts only where it has values: everything else stays as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from facho.apps.chassis.chassis_facts import (
    ChassisRow,
    chassis_extra_facts,
    column_value,
    frame_values,
    merge_rows,
    part_rows,
    place_numbers,
    port_rows,
    unprovisioned_rows,
    uplink_rows,
)
from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.chassis.olt_rows import EXTRAS, OltRows, Values, upsert_rows
from facho.apps.db.sql import insert_rows
from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.discovery.onu_identity import is_blank
from facho.apps.discovery.store import FrameValues
from facho.apps.extras import read_extras
from facho.apps.history.models import Subject
from facho.vendors import Entity, Facts, Key, known_facts

_PART_NUMBERS: Final = (
    "cpu_pct", "memory_pct", "temperature_c", "power_w", "voltage_v", "speed_rpm", "speed_pct",
)  # fmt: skip
_LINK_NUMBERS: Final = ("tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma")


def store_ports(
    olt_id: int, findings: Sequence[Facts], now: datetime, *, partial: Sequence[Facts] = ()
) -> FrameValues:
    """Return the numbers of this collection and the speed of each port that says it, for their history."""
    given = merge_rows(findings, partial, port_rows)
    rows = OltRows(PonPort, olt_id, "place", "updated_at", seen=(EXTRAS,))
    stored = upsert_rows(rows, _values(given), now)
    frame = frame_values(Subject.PORT, given, stored.ids)
    speeds = [read_extras(stored.rows[place].get(EXTRAS, "")).get("speed_mbps") for place in given]
    return replace(frame, speeds_mbps=speeds)


def store_uplinks(
    olt_id: int,
    findings: Sequence[Facts],
    now: datetime,
    *,
    partial: Sequence[Facts] = (),
    has_gaps: bool = False,
) -> FrameValues:
    """Return the numbers of this collection and the speed of each uplink, for their history.

    `has_gaps`: some rows could not be read, so none of the uplinks counts as removed.
    """
    given = merge_rows(findings, partial, uplink_rows)
    values = _values(given)
    if not has_gaps and any("state" in facts.columns for facts in findings):
        values |= _removed_uplinks(olt_id, values)
    rows = OltRows(Uplink, olt_id, "place", "updated_at", seen=("speed_mbps",))
    stored = upsert_rows(rows, values, now).rows
    frame = frame_values(Subject.UPLINK, given, {place: stored[place]["id"] for place in given})
    return replace(frame, speeds_mbps=[stored[place]["speed_mbps"] for place in given])


def _removed_uplinks(olt_id: int, given: Collection[str]) -> dict[str, Values]:
    """Return the uplinks that had a state, and are not in the whole list of states any more."""
    had = Uplink.objects.filter(olt=olt_id).exclude(state="")
    removed: Values = {"state": "down", **dict.fromkeys(_LINK_NUMBERS)}
    cleared = _without_numbers(Entity.UPLINK, removed)
    return {place: cleared for place in had.values_list("place", flat=True) if place not in given}


def store_health(
    olt_id: int,
    findings: Sequence[Facts],
    now: datetime,
    *,
    partial: Sequence[Facts] = (),
    with_gaps: Collection[Entity] = (),
) -> FrameValues:
    """Store what is known of the OLT itself and its boards, fans and power supplies. Return the numbers of
    this collection, for their history.

    `with_gaps` are the kinds of which some rows could not be read: none of these counts as removed.
    """
    given = merge_rows(findings, partial, part_rows)
    values = _values(given)
    whole = [facts for facts in findings if facts.entity not in (Entity.OLT, *with_gaps)]
    if kinds := {facts.entity for facts in whole if "state" in facts.columns}:
        values |= _removed_parts(olt_id, kinds, values)
    ids = upsert_rows(OltRows(OltHealth, olt_id, "part", "updated_at"), values, now).ids
    return frame_values(Subject.PART, given, {part: ids[part] for part in given})


def _removed_parts(olt_id: int, kinds: Iterable[Entity], given: Collection[str]) -> dict[str, Values]:
    """Return the parts that had a state, and are not in the whole list of states any more: they were
    removed, and have no values now.
    """
    had = OltHealth.objects.filter(olt=olt_id, kind__in=[kind.value for kind in kinds]).exclude(state="")
    removed: Values = {"state": "offline", **dict.fromkeys(_PART_NUMBERS)}
    return {
        part: _without_numbers(Entity(kind), removed)
        for part, kind in had.values_list("part", "kind")
        if part not in given
    }


def _without_numbers(entity: Entity, removed: Values) -> Values:
    """Return the values of what was removed, its extras that are numbers cleared too."""
    known = known_facts()[entity]
    return ChassisRow(
        removed, {fact: None for fact in chassis_extra_facts(entity) if known[fact].is_number}
    ).values()


def _values(given: Mapping[str, ChassisRow]) -> dict[str, Values]:
    return {name: row.values() for name, row in given.items()}


def store_unprovisioned(
    olt_id: int, findings: Sequence[Facts], now: datetime, *, has_gaps: bool = False
) -> dict[str, Values]:
    """Store the unprovisioned ONUs of an OLT, from its whole list. Return new ones by identity; each is an
    event.

    If a row of the list could not be read (`has_gaps`), ONUs that are not in it may still wait.
    """
    given = dict(_unprovisioned_row(*row) for facts in findings for row in unprovisioned_rows(facts))
    rows = Unprovisioned.objects.filter(olt=olt_id)
    if not has_gaps:
        rows.exclude(identity__in=list(given)).delete()
    new = upsert_rows(
        OltRows(Unprovisioned, olt_id, "identity", "last_seen", {"first_seen": now}), given, now
    ).new
    (rows.filter(identity__in=list(given)) if has_gaps else rows).update(last_seen=now)
    added = {identity: given[identity] for identity in new}
    _write_events(olt_id, added.values(), now)
    return added


def _write_events(olt_id: int, new: Iterable[Values], now: datetime) -> None:
    events = [
        (
            olt_id,
            EventKind.UNPROVISIONED.value,
            now,
            values.get("serial") or values.get("mac", ""),
            values["place"],
        )
        for values in new
    ]
    insert_rows(OnuEvent, ("olt", "kind", "at", "serial", "place"), events)


def _unprovisioned_row(key: Key, row: ChassisRow) -> tuple[str, Values]:
    known = [row.columns.get(identity, "") for identity in ("serial", "mac")]
    identity = next((each for each in known if not is_blank(each)), str(key))
    place = str(key._replace(onu=None, extra=None))
    values = {"place": place, **place_numbers(key), **row.values()}
    return column_value(Unprovisioned, "identity", identity), values
