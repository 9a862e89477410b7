"""What an OLT says of itself, brought into its rows, in the caller's transaction.

A finding that was read to its end tells also what has no value any more. One that broke off (`partial`) tells
only the values that it has: everything else stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from facho.apps.chassis.models import OltHealth, PartKind, PonPort, Unprovisioned
from facho.apps.chassis.upsert import Rows, bring_up
from facho.apps.chassis.values import Values, numbers_of, rows_of, stored
from facho.apps.db.rows import insert_rows
from facho.apps.discovery.columns import whole
from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.discovery.recognise import is_blank
from facho.apps.discovery.told import Told
from facho.vendors import Entity, Facts, Key


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
) -> Told:
    """Gives the numbers on, by fact: those of this collection only, for the history of ports."""
    told = _merged(findings, partial, _ports)
    ids = bring_up(Rows(PonPort, olt_id, "place", "updated_at"), told, now).ids
    numbers = {
        fact: [told[place].get(column) for place in ids]
        for fact, column in _NUMBERS.items()
        if any(column in values for values in told.values())
    }
    return Told(list(ids.values()), numbers)


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
    """`with_gaps` are the kinds of which some rows could not be read: none of those was pulled out."""
    told = _merged((*olt, *boards, *fans), partial, _parts)
    whole = [facts for facts in (*boards, *fans) if facts.entity not in with_gaps]
    asked = {facts.entity.value for facts in whole if "state" in facts.columns}
    if asked:
        told |= _gone(olt_id, asked, told)
    bring_up(Rows(OltHealth, olt_id, "part", "updated_at"), told, now)


def _gone(olt_id: int, kinds: Iterable[str], told: Mapping[str, Values]) -> dict[str, Values]:
    """Boards and fans that had a state, and are not in the whole list of states any more: they were pulled
    out, and are neither well nor busy.
    """
    had = OltHealth.objects.filter(olt=olt_id, kind__in=kinds).exclude(state="")
    gone: Values = {"state": "offline", **dict.fromkeys(_PART_NUMBERS)}
    return {part: gone for part in had.values_list("part", flat=True) if part not in told}


def store_unprovisioned(
    olt_id: int, findings: Sequence[Facts], now: datetime, *, has_gaps: bool = False
) -> dict[str, Values]:
    """Who waits now, from the OLT's whole list. Those that are new, by identity; each of them is an event.

    If a row of the list could not be read (`has_gaps`), whoever is not in it may wait all the same.
    """
    told = dict(one for facts in findings for one in _waiting(facts))
    rows = Unprovisioned.objects.filter(olt=olt_id)
    if not has_gaps:
        rows.exclude(identity__in=list(told)).delete()
    new = bring_up(Rows(Unprovisioned, olt_id, "identity", "last_seen", {"first_seen": now}), told, now).new
    (rows.filter(identity__in=list(told)) if has_gaps else rows).update(last_seen=now)
    came = {identity: told[identity] for identity in new}
    _tell_of(olt_id, came.values(), now)
    return came


def _tell_of(olt_id: int, new: Iterable[Values], now: datetime) -> None:
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


def _merged(
    findings: Iterable[Facts], partial: Iterable[Facts], read: Callable[[Facts], Iterator[Named]]
) -> dict[str, Values]:
    """By name; what was read to its end counts more, and of several the last one."""
    told: dict[str, Values] = {}
    for facts in partial:
        for name, values in read(facts):
            known = {column: value for column, value in values.items() if value not in (None, "")}
            told.setdefault(name, {}).update(known)
    for facts in findings:
        for name, values in read(facts):
            told.setdefault(name, {}).update(values)
    return told


def _ports(facts: Facts) -> Iterator[Named]:
    rows = rows_of(facts, _PORT, PonPort)
    for key, technology, values in zip(facts.keys, facts.technologies, rows, strict=True):
        if technology:
            values["technology"] = stored(PonPort, "technology", technology)
        if place := stored(PonPort, "place", key):
            yield place, {**numbers_of(key), **values}


def _parts(facts: Facts) -> Iterator[Named]:
    """`olt`, `board 0/1`, `fan 0/2`."""
    kind = PartKind(facts.entity.value)
    for key, values in zip(facts.keys, rows_of(facts, _HEALTH[facts.entity], OltHealth), strict=True):
        if values:
            numbers = (*key[:4], key.extra)
            place = "/".join(str(number) for number in numbers if number is not None)
            name = kind.value if kind is PartKind.OLT else f"{kind.value} {place}"
            yield stored(OltHealth, "part", name), {"kind": kind.value, **_slot(key), **values}


def _slot(key: Key) -> Values:
    """Fans are counted within their frame."""
    slot: Any = key.slot if key.slot is not None or isinstance(key.extra, str) else key.extra
    return {"frame": whole(key.frame), "slot": whole(slot)}


def _waiting(facts: Facts) -> Iterator[Named]:
    for key, values in zip(facts.keys, rows_of(facts, _AUTOFIND, Unprovisioned), strict=True):
        told = [values.get(identity, "") for identity in ("serial", "mac")]
        identity = next((each for each in told if not is_blank(each)), str(key))
        place = str(key._replace(onu=None, extra=None))
        yield stored(Unprovisioned, "identity", identity), {"place": place, **numbers_of(key), **values}
