"""What a collection found of ports, uplinks, parts and unprovisioned ONUs, as rows of their tables.

The registry of facts has more facts than the tables have columns: the others are the extras of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db import models

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.chassis.olt_rows import EXTRAS, Values
from facho.apps.db import sql
from facho.apps.discovery.roster import whole
from facho.apps.discovery.store import FrameValues
from facho.apps.extras import extra_value, facts_without_column
from facho.apps.history.facts import collected_facts, counters
from facho.apps.history.models import Subject
from facho.vendors import Entity, Facts, Key, State, known_facts
from facho.vendors.facts import Fact


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_OPTICS: Final = _same("tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma")
_LOAD: Final = _same("cpu_pct", "memory_pct", "temperature_c", "power_w")
# The tables of what an OLT says of itself, and the column of each fact that has one.
TABLES: Final[Mapping[Entity, tuple[type[models.Model], Mapping[str, str]]]] = {
    Entity.PORT: (
        PonPort,
        {
            **_same("name", "state", "admin_state", "down_cause"),
            **_OPTICS,
            "onus_known": "onus_told",
            "onus_online": "onus_online_told",
        },
    ),
    Entity.UPLINK: (
        Uplink,
        {**_same("name", "description", "state", "admin_state", "speed_mbps"), **_OPTICS},
    ),
    # Its own name is a person's; the model says what it is, as the name of a board does.
    Entity.OLT: (
        OltHealth,
        {**_LOAD, **_same("serial", "hw_version"), "model": "name", "version": "sw_version"},
    ),
    Entity.BOARD: (OltHealth, {**_LOAD, **_same("name", "state", "serial", "hw_version", "sw_version")}),
    Entity.FAN: (OltHealth, _same("state", "speed_rpm", "speed_pct")),
    Entity.PSU: (OltHealth, _same("name", "state", "voltage_v", "power_w", "temperature_c")),
    Entity.AUTOFIND: (
        Unprovisioned,
        _same("serial", "mac", "model", "vendor_id", "sw_version", "seen_at"),
    ),
}
# The row of the OLT itself has them.
_ELSEWHERE: Final[Mapping[Entity, frozenset[str]]] = {Entity.OLT: frozenset({"uptime_s"})}


@cache
def chassis_extra_facts(entity: Entity) -> tuple[str, ...]:
    """Return the facts of an entity that are kept as extras; those of ONUs are elsewhere."""
    columns = TABLES[entity][1]
    return facts_without_column(entity, {*columns, *_ELSEWHERE.get(entity, ())})


def facts_among_extras(model: type[models.Model]) -> dict[str, Fact]:
    """Return the facts that rows of a table may have among their extras."""
    return {
        fact: known_facts()[entity][fact]
        for entity, (its, _columns) in TABLES.items()
        if its is model
        for fact in chassis_extra_facts(entity)
    }


@cache
def numeric_facts(entity: Entity) -> tuple[str, ...]:
    """Return the facts of an entity that go into the history, and the counters of which rates are made."""
    return tuple(name for name, fact in known_facts()[entity].items() if fact.history or fact.is_counter)


@dataclass(slots=True)
class ChassisRow:
    columns: Values = field(default_factory=dict)
    extras: Values = field(default_factory=dict)
    # For the history, by fact.
    numbers: Values = field(default_factory=dict)

    def add(self, found: ChassisRow, *, has_gaps: bool) -> None:
        """Take over what was found; of a finding that broke off only what has a value."""
        self.columns |= _with_value(found.columns) if has_gaps else found.columns
        self.extras |= _with_value(found.extras) if has_gaps else found.extras
        self.numbers |= _with_value(found.numbers)

    def values(self) -> Values:
        """Return what is written."""
        return {**self.columns, EXTRAS: self.extras} if self.extras else self.columns


def _with_value(values: Values) -> Values:
    return {name: value for name, value in values.items() if value not in (None, "")}


Named = tuple[str, ChassisRow]


def merge_rows(
    findings: Iterable[Facts], partial: Iterable[Facts], read: Callable[[Facts], Iterator[Named]]
) -> dict[str, ChassisRow]:
    """Join the rows of several findings by name. What was read to its end counts more, and of several the
    last one.
    """
    given: dict[str, ChassisRow] = {}
    for several, has_gaps in ((partial, True), (findings, False)):
        for facts in several:
            for name, row in read(facts):
                given.setdefault(name, ChassisRow()).add(row, has_gaps=has_gaps)
    return given


def port_rows(facts: Facts) -> Iterator[Named]:
    for key, technology, row in zip(facts.keys, facts.technologies, _read_rows(facts), strict=True):
        if technology:
            row.columns["technology"] = column_value(PonPort, "technology", technology)
        if place := column_value(PonPort, "place", key):
            row.columns |= place_numbers(key)
            yield place, row


def uplink_rows(facts: Facts) -> Iterator[Named]:
    for key, row in zip(facts.keys, _read_rows(facts), strict=True):
        if place := column_value(Uplink, "place", key):
            yield place, row


def part_rows(facts: Facts) -> Iterator[Named]:
    """Yield the rows of parts, named `olt`, `board 0/1`, `fan 0/2` or `psu 0/1`."""
    kind = facts.entity.value
    for key, row in zip(facts.keys, _read_rows(facts), strict=True):
        if row.columns or row.extras or row.numbers:
            numbers = (*key[:4], key.extra)
            place = "/".join(str(number) for number in numbers if number is not None)
            name = kind if facts.entity is Entity.OLT else f"{kind} {place}"
            row.columns |= {"kind": kind, **_slot(key)}
            yield column_value(OltHealth, "part", name), row


def _slot(key: Key) -> Values:
    """Fans and power supplies are counted within their frame."""
    slot: Any = key.slot if key.slot is not None or isinstance(key.extra, str) else key.extra
    return {"frame": whole(key.frame), "slot": whole(slot)}


def unprovisioned_rows(facts: Facts) -> Iterator[tuple[Key, ChassisRow]]:
    return zip(facts.keys, _read_rows(facts), strict=True)


def _read_rows(facts: Facts) -> Iterator[ChassisRow]:
    model, columns = TABLES[facts.entity]
    own = _columns(facts, {fact: column for fact, column in columns.items() if fact in facts.columns}, model)
    others = _plain(facts, chassis_extra_facts(facts.entity), extra_value)
    return map(ChassisRow, own, others, _plain(facts, numeric_facts(facts.entity), _number))


def _columns(facts: Facts, columns: Mapping[str, str], model: type[models.Model]) -> Iterator[Values]:
    values = [
        [column_value(model, column, value) for value in facts.columns[fact]]
        for fact, column in columns.items()
    ]
    return _rows(list(columns.values()), values, len(facts))


def _plain(facts: Facts, names: Iterable[str], read: Callable[[Any], Any]) -> Iterator[Values]:
    asked = [name for name in names if name in facts.columns]
    return _rows(asked, [list(map(read, facts.columns[name])) for name in asked], len(facts))


def _rows(names: Sequence[str], columns: Sequence[Sequence[Any]], count: int) -> Iterator[Values]:
    if not names:
        return ({} for _ in range(count))
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def column_value(model: type[models.Model], column: str, value: Any) -> Any:
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


def _number(value: Any) -> float | None:
    """Return a number as it was decoded: the type of a counter says how wide it is."""
    return value if isinstance(value, int | float) else None


def _text(value: Any, longest: int | None) -> str:
    if value is None:
        return ""
    text = value.meaning if isinstance(value, State) else str(value)
    return sql.db_text(text).strip()[:longest]


def place_numbers(key: Key) -> Values:
    return {"frame": whole(key.frame), "slot": whole(key.slot), "port": whole(key.port)}


def frame_values(subject: Subject, given: Mapping[str, ChassisRow], ids: Mapping[str, int]) -> FrameValues:
    """Return the numbers of these rows, for their history and their rates."""
    named = {fact for row in given.values() for fact in row.numbers}
    found = {
        fact: [given[name].numbers.get(fact) for name in ids]
        for fact in collected_facts(subject)
        if fact in named
    }
    has_counters = not named.isdisjoint(counters(subject))
    technologies = [given[name].columns.get("technology", "") for name in ids] if has_counters else []
    return FrameValues(list(ids.values()), found, technologies)
