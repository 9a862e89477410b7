"""Stores what an OLT says of itself, in the transaction of the caller.

A finding that was read to its end also shows what has no value any more. One that broke off (`partial`)
counts only where it has values: everything else stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection, models

from facho.apps.chassis.models import OltHealth, PartKind, PonPort, Unprovisioned
from facho.apps.db import sql
from facho.apps.db.sql import insert_rows, update_rows
from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.discovery.onu_identity import is_blank
from facho.apps.discovery.roster import whole
from facho.apps.discovery.store import FrameValues, Numbers
from facho.apps.history.facts import counters
from facho.apps.history.models import Subject
from facho.vendors import Entity, Facts, Key, State

# Column -> value.
Values = dict[str, Any]


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


# Fact -> column.
_NUMBERS: Final = {
    **_same("tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma"),
    "onus_known": "onus_told",
    "onus_online": "onus_online_told",
}
_PORT: Final = {**_same("name", "state", "admin_state", "down_cause"), **_NUMBERS}
_PART: Final = _same("cpu_pct", "memory_pct", "temperature_c", "power_w", "serial")
_PART_NUMBERS: Final = ("cpu_pct", "memory_pct", "temperature_c", "power_w", "speed_rpm")
_HEALTH: Final[Mapping[Entity, Mapping[str, str]]] = {
    # Its own name is a person's; the model says what it is, as the name of a board does.
    Entity.OLT: {**_PART, "model": "name", "version": "sw_version"},
    Entity.BOARD: {**_PART, **_same("name", "state", "sw_version")},
    Entity.FAN: _same("state", "speed_rpm"),
}
_AUTOFIND: Final = _same("serial", "mac", "model", "vendor_id", "sw_version", "seen_at")

Named = tuple[str, Values]


def store_ports(
    olt_id: int, findings: Sequence[Facts], now: datetime, *, partial: Sequence[Facts] = ()
) -> FrameValues:
    """Return the numbers of this collection, for the history of ports."""
    given = _merge_rows(findings, partial, _port_rows)
    ids = upsert_rows(OltRows(PonPort, olt_id, "place", "updated_at"), given, now).ids
    numbers = {
        fact: [given[place].get(column) for place in ids]
        for fact, column in _NUMBERS.items()
        if any(column in values for values in given.values())
    }
    every = (*partial, *findings)
    counted = _counters(every, ids)
    technologies = [given[place].get("technology", "") for place in ids] if counted else []
    return FrameValues(list(ids.values()), {**numbers, **counted}, technologies)


def _counters(findings: Iterable[Facts], ids: Mapping[str, int]) -> dict[str, Numbers]:
    """Return the counters of ports in the order of `ids`, of which rates are made."""
    found: dict[str, dict[str, Any]] = {}
    for facts in findings:
        places = [_column_value(PonPort, "place", key) for key in facts.keys]
        for fact in counters(Subject.PORT):
            if fact in facts.columns:
                given = zip(places, facts.columns[fact], strict=True)
                known = {place: value for place, value in given if value is not None}
                found.setdefault(fact, {}).update(known)
    return {fact: [values.get(place) for place in ids] for fact, values in found.items() if values}


def store_health(
    olt_id: int,
    olt: Sequence[Facts],
    boards: Sequence[Facts],
    fans: Sequence[Facts],
    now: datetime,
    *,
    partial: Sequence[Facts] = (),
    with_gaps: Collection[Entity] = (),
) -> None:
    """`with_gaps` are the kinds of which some rows could not be read: none of these counts as removed."""
    given = _merge_rows((*olt, *boards, *fans), partial, _part_rows)
    whole = [facts for facts in (*boards, *fans) if facts.entity not in with_gaps]
    kinds = {facts.entity.value for facts in whole if "state" in facts.columns}
    if kinds:
        given |= _removed_parts(olt_id, kinds, given)
    upsert_rows(OltRows(OltHealth, olt_id, "part", "updated_at"), given, now)


def _removed_parts(olt_id: int, kinds: Iterable[str], given: Mapping[str, Values]) -> dict[str, Values]:
    """Return the boards and fans that had a state, and are not in the whole list of states any more: they
    were removed, and have no values now.
    """
    had = OltHealth.objects.filter(olt=olt_id, kind__in=kinds).exclude(state="")
    removed: Values = {"state": "offline", **dict.fromkeys(_PART_NUMBERS)}
    return {part: removed for part in had.values_list("part", flat=True) if part not in given}


def store_unprovisioned(
    olt_id: int, findings: Sequence[Facts], now: datetime, *, has_gaps: bool = False
) -> dict[str, Values]:
    """Store the unprovisioned ONUs of an OLT, from its whole list. Return new ones by identity; each is an
    event.

    If a row of the list could not be read (`has_gaps`), ONUs that are not in it may still wait.
    """
    given = dict(row for facts in findings for row in _unprovisioned_rows(facts))
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


def _merge_rows(
    findings: Iterable[Facts], partial: Iterable[Facts], read: Callable[[Facts], Iterator[Named]]
) -> dict[str, Values]:
    """Join the rows of several findings by name. What was read to its end counts more, and of several the
    last one.
    """
    given: dict[str, Values] = {}
    for facts in partial:
        for name, values in read(facts):
            known = {column: value for column, value in values.items() if value not in (None, "")}
            given.setdefault(name, {}).update(known)
    for facts in findings:
        for name, values in read(facts):
            given.setdefault(name, {}).update(values)
    return given


def _port_rows(facts: Facts) -> Iterator[Named]:
    rows = _read_rows(facts, _PORT, PonPort)
    for key, technology, values in zip(facts.keys, facts.technologies, rows, strict=True):
        if technology:
            values["technology"] = _column_value(PonPort, "technology", technology)
        if place := _column_value(PonPort, "place", key):
            yield place, {**_place_numbers(key), **values}


def _part_rows(facts: Facts) -> Iterator[Named]:
    """Yield the rows of parts, named `olt`, `board 0/1` or `fan 0/2`."""
    kind = PartKind(facts.entity.value)
    for key, values in zip(facts.keys, _read_rows(facts, _HEALTH[facts.entity], OltHealth), strict=True):
        if values:
            numbers = (*key[:4], key.extra)
            place = "/".join(str(number) for number in numbers if number is not None)
            name = kind.value if kind is PartKind.OLT else f"{kind.value} {place}"
            yield _column_value(OltHealth, "part", name), {"kind": kind.value, **_slot(key), **values}


def _slot(key: Key) -> Values:
    """Fans are counted within their frame."""
    slot: Any = key.slot if key.slot is not None or isinstance(key.extra, str) else key.extra
    return {"frame": whole(key.frame), "slot": whole(slot)}


def _unprovisioned_rows(facts: Facts) -> Iterator[Named]:
    for key, values in zip(facts.keys, _read_rows(facts, _AUTOFIND, Unprovisioned), strict=True):
        known = [values.get(identity, "") for identity in ("serial", "mac")]
        identity = next((each for each in known if not is_blank(each)), str(key))
        place = str(key._replace(onu=None, extra=None))
        yield (
            _column_value(Unprovisioned, "identity", identity),
            {"place": place, **_place_numbers(key), **values},
        )


def _read_rows(facts: Facts, columns: Mapping[str, str], model: type[models.Model]) -> Iterator[Values]:
    """Yield the values of each row by column. `columns` has the column of each fact."""
    values = [
        [_column_value(model, column, value) for value in facts.columns[fact]]
        for fact, column in columns.items()
        if fact in facts.columns
    ]
    names = [column for fact, column in columns.items() if fact in facts.columns]
    if not values:
        return ({} for _ in facts.keys)
    return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def _column_value(model: type[models.Model], column: str, value: Any) -> Any:
    """Return a value as the column holds it; what has no value is empty."""
    field = model._meta.get_field(column)
    match field:
        case models.CharField():
            return _text(value, field.max_length)
        case models.FloatField():
            return float(value) if value is not None and math.isfinite(value) else None
        case models.IntegerField():
            return whole(value)
        case _:
            return value if isinstance(value, datetime) else None


def _text(value: Any, longest: int | None) -> str:
    if value is None:
        return ""
    text = value.meaning if isinstance(value, State) else str(value)
    return sql.db_text(text).strip()[:longest]


def _place_numbers(key: Key) -> Values:
    return {"frame": whole(key.frame), "slot": whole(key.slot), "port": whole(key.port)}


@dataclass(frozen=True, slots=True)
class OltRows:
    """The rows of one OLT in a table. Their writer is the only one of that OLT."""

    model: type[models.Model]
    olt_id: int
    # The column that identifies a row.
    key: str
    # The column that says when a row last changed.
    changed_at: str
    # Further values of a new row.
    initial: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpsertedRows:
    """The ids of all given rows by key, and the keys of those that are new."""

    ids: dict[str, int]
    new: list[str]


def upsert_rows(rows: OltRows, given: Mapping[str, Values], now: datetime) -> UpsertedRows:
    """Write the given values, in two statements however many rows there are. Other columns and rows stay."""
    assert connection.in_atomic_block, "the rows of an OLT are stored with the rest of its collection"
    if not given:
        return UpsertedRows({}, [])
    columns = sorted({column for values in given.values() for column in values})
    known = _read_known(rows, columns)
    _update_known(rows, columns, known, given, now)
    new = [name for name in given if name not in known]
    if new:
        _insert_new(rows, columns, {name: given[name] for name in new}, now)
        known = _read_known(rows, ())
    return UpsertedRows({name: known[name]["id"] for name in given}, new)


def _read_known(rows: OltRows, columns: Sequence[str]) -> dict[str, Values]:
    found = rows.model._default_manager.filter(olt=rows.olt_id).order_by()
    return {row[rows.key]: row for row in found.values("id", rows.key, *columns)}


def _update_known(
    rows: OltRows,
    columns: Sequence[str],
    known: Mapping[str, Values],
    given: Mapping[str, Values],
    now: datetime,
) -> None:
    changed = [
        (row["id"], now, *(values.get(column, row[column]) for column in columns))
        for name, values in given.items()
        if (row := known.get(name)) is not None
        and any(row[column] != value for column, value in values.items())
    ]
    update_rows(rows.model, (rows.changed_at, *columns), changed)


def _insert_new(rows: OltRows, columns: Sequence[str], given: Mapping[str, Values], now: datetime) -> None:
    empty = {column: _default(rows.model, column) for column in columns}
    added = [
        (
            rows.olt_id,
            name,
            now,
            *rows.initial.values(),
            *(values.get(column, empty[column]) for column in columns),
        )
        for name, values in given.items()
    ]
    insert_rows(rows.model, ("olt", rows.key, rows.changed_at, *rows.initial, *columns), added)


def _default(model: type[models.Model], column: str) -> Any:
    field = model._meta.get_field(column)
    assert isinstance(field, models.Field)
    return field.get_default()
