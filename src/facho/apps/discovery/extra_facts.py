"""The facts of ONUs that have no column of their own, and their customer ports, merged into `extras`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cache
from typing import Any, Final

from facho.apps.discovery.event_times import EventTimes, date_facts, olt_date
from facho.apps.discovery.findings import FindingRows, offline_positions
from facho.apps.discovery.olt_clocks import OLT_DATES
from facho.apps.discovery.roster import EXTRAS, IDENTITY, PARTS, VALUES, Roster
from facho.apps.extras import extra_value, facts_without_column, merge_extras, read_extras
from facho.vendors import Entity, Facts, Key, builtin_facts, known_facts

# The key of the customer ports among the extras: the facts of each by its number.
UNIS: Final = "unis"
Unis = Mapping[str, Mapping[str, Any]]
_OWN_COLUMNS: Final = frozenset(each.name for each in (*IDENTITY, *VALUES, *PARTS))


@cache
def onu_extra_facts() -> tuple[str, ...]:
    """Return the facts of ONUs that are kept as extras.

    Built-in numbers that have a history are not: they change with every collection, and the row of every
    ONU would be rewritten for them. The operator declared the others to see and search them.
    """
    builtin = builtin_facts()[Entity.ONU]
    return tuple(
        name
        for name in facts_without_column(Entity.ONU, _OWN_COLUMNS)
        if not (name in builtin and builtin[name].history)
    )


@cache
def onu_facts_of_history_alone() -> tuple[str, ...]:
    """Return the facts of ONUs of which the history alone has values: neither a column nor the extras."""
    elsewhere = {*_OWN_COLUMNS, *onu_extra_facts()}
    return tuple(
        name for name, fact in known_facts()[Entity.ONU].items() if fact.history and name not in elsewhere
    )


def has_extras(rows: FindingRows) -> bool:
    asked = (*rows.facts.columns, *rows.finding.of_online)
    return len(rows.finding.unis) > 0 or any(fact in onu_extra_facts() for fact in asked)


def _extras_of(rows: FindingRows) -> list[str]:
    return [fact for fact in onu_extra_facts() if fact in rows.facts.columns]


def fill_extras(roster: Roster, collection: Sequence[FindingRows], times: EventTimes | None = None) -> None:
    """Merge what was found into the extras of each ONU. An empty answer removes a value unless it is kept."""
    found: dict[int, dict[str, Any]] = {}
    for rows in collection:
        for fact in _extras_of(rows):
            _collect_fact(found, rows, fact)
        _collect_unis(found, roster, rows.finding.unis, keep=rows.finding.broken)
        _clear_offline(found, roster, rows)
    texts = roster[EXTRAS]
    for position, values in found.items():
        if times is not None:
            if _has_these_dates(texts[position], values, times):
                continue
            values |= _merge_dates(read_extras(texts[position]), values, position, times)
        text = merge_extras(texts[position], values)
        if text != texts[position]:
            roster.editable(EXTRAS)[position] = text
            texts = roster[EXTRAS]


def _has_these_dates(text: str, values: Mapping[str, Any], times: EventTimes) -> bool:
    """Tell at a glance that an ONU has the dates that it had: nearly all have, in every collection."""
    if times.has_other_clock or not date_facts().issuperset(values):
        return False
    return all(
        f'"{fact}":"' not in text if shown is None else f'"{fact}":"{olt_date(shown)}"' in text
        for fact, shown in values.items()
    )


def _merge_dates(
    before: Mapping[str, Any], values: Mapping[str, Any], position: int, times: EventTimes
) -> dict[str, Any]:
    """Return the dates of an ONU on our clock, and as its OLT shows them.

    A date that the OLT still shows stays what it was: its clock may have been set since.
    """
    dates = {fact: values[fact] for fact in date_facts().intersection(values)}
    shown = {**before.get(OLT_DATES, {}), **{fact: at and olt_date(at) for fact, at in dates.items()}}
    merged: dict[str, Any] = {}
    for fact, at in dates.items():
        if at is None:
            merged[fact] = None
        elif fact in before and before.get(OLT_DATES, {}).get(fact) == shown[fact]:
            merged[fact] = before[fact]
        else:
            merged[fact] = extra_value(date := times.date_of(position, fact, at))
            if date is not None:
                times.note_new_date(position, fact, date)
    merged[OLT_DATES] = {fact: at for fact, at in shown.items() if at} or None
    return merged


def _collect_fact(found: dict[int, dict[str, Any]], rows: FindingRows, fact: str) -> None:
    values: Sequence[Any] = rows.facts.columns[fact]
    if fact not in date_facts():
        values = list(map(extra_value, values))
    for keep, positions in rows.split_by_keeping(fact):
        for position, value in zip(positions, values, strict=True):
            if position >= 0 and not (keep and value is None):
                known = found.setdefault(position, {})
                if value is not None or fact not in known:
                    known[fact] = value


def _clear_offline(found: dict[int, dict[str, Any]], roster: Roster, rows: FindingRows) -> None:
    """Clear the facts of ONUs that were not asked because they are not online."""
    kept = {fact for fact, _ in rows.finding.keep_last}
    if stale := [fact for fact in onu_extra_facts() if fact in rows.finding.of_online and fact not in kept]:
        for position in offline_positions(roster):
            if roster[EXTRAS][position]:
                found.setdefault(position, {}).update(dict.fromkeys(stale))


def _collect_unis(found: dict[int, dict[str, Any]], roster: Roster, unis: Facts, *, keep: bool) -> None:
    """Collect the customer ports by ONU. A part that broke off only adds to those that are known."""
    if not len(unis):
        return
    there = {address: position for position, address in enumerate(roster["address"]) if address}
    asked = frozenset(() if keep else unis.columns)
    for address, ports in _unis_by_address(unis).items():
        if (position := there.get(address)) is not None:
            known = found.setdefault(position, {})
            before = known[UNIS] if UNIS in known else read_extras(roster[EXTRAS][position]).get(UNIS)
            known[UNIS] = _merge_unis(before or {}, ports, asked) or None


def _merge_unis(before: Unis, found: Unis, asked: Container[str]) -> Unis:
    """Return the customer ports of an ONU. Facts that were not asked for stay: each may have its own job."""
    merged = {}
    for number in {**before, **found}:
        others = {fact: value for fact, value in before.get(number, {}).items() if fact not in asked}
        if values := {**others, **found.get(number, {})}:
            merged[number] = values
    return merged


def _unis_by_address(unis: Facts) -> Mapping[str, Unis]:
    ports: dict[str, dict[str, dict[str, Any]]] = {}
    for number, key in enumerate(unis.keys):
        values = {name: extra_value(column[number]) for name, column in unis.columns.items()}
        told = {name: value for name, value in values.items() if value is not None}
        ports.setdefault(str(_onu_of(key)), {})[str(key.extra)] = told
    return ports


def _onu_of(key: Key) -> Key:
    return key._replace(extra=None)
