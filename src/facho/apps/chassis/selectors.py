"""Reads of what OLTs say of themselves, for people and their scripts. What is not known is None."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from django.db.models import F, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, NullIf

from facho.apps.chassis.models import OltHealth, PartKind, PonPort, Unprovisioned, Uplink
from facho.apps.db import sql
from facho.apps.discovery.models import Presence
from facho.apps.extras import read_extras
from facho.apps.history.facts import counters
from facho.apps.history.models import Subject
from facho.apps.history.selectors import Series, several_series
from facho.apps.hosts.models import Olt
from facho.vendors import Key


@dataclass(frozen=True, slots=True)
class PortRow:
    port: str
    name: str | None
    technology: str | None
    state: str | None
    admin_state: str | None
    down_cause: str | None
    onus: int | None
    onus_online: int | None
    tx_dbm: float | None
    rx_dbm: float | None
    temperature_c: float | None
    voltage_v: float | None
    bias_ma: float | None
    # When something about it changed; None for a port that only ONUs name.
    updated_at: datetime | None
    # Facts without a column of their own, by name.
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PartRow:
    """The OLT itself, a board, a fan or a power supply."""

    id: int
    kind: str
    place: str
    slot: int | None
    name: str | None
    state: str | None
    cpu_pct: float | None
    memory_pct: float | None
    temperature_c: float | None
    power_w: float | None
    voltage_v: float | None
    speed_rpm: float | None
    speed_pct: float | None
    sw_version: str | None
    hw_version: str | None
    serial: str | None
    updated_at: datetime
    # Facts without a column of their own, by name.
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UplinkRow:
    id: int
    uplink: str
    name: str | None
    description: str | None
    state: str | None
    admin_state: str | None
    speed_mbps: int | None
    tx_dbm: float | None
    rx_dbm: float | None
    temperature_c: float | None
    voltage_v: float | None
    bias_ma: float | None
    updated_at: datetime
    # Facts without a column of their own, by name.
    facts: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Return what people call it: some OLTs know it by a long number, and say its name."""
        return self.name or self.uplink


@dataclass(frozen=True, slots=True)
class Health:
    olt: PartRow | None
    boards: list[PartRow]
    fans: list[PartRow]
    psus: list[PartRow]

    def highest(self, column: str) -> float | None:
        """Return the value of the OLT itself, or the highest of its boards if it has none."""
        if self.olt is not None and (own := getattr(self.olt, column)) is not None:
            return float(own)
        return max(
            (value for each in self.boards if (value := getattr(each, column)) is not None), default=None
        )


@dataclass(frozen=True, slots=True)
class UnprovisionedRow:
    """An ONU that nobody has provisioned."""

    olt: str
    port: str | None
    serial: str | None
    mac: str | None
    model: str | None
    vendor_id: str | None
    sw_version: str | None
    seen_since: datetime
    last_seen: datetime
    # By the OLT's own clock.
    found_at: datetime | None
    # Facts without a column of their own, by name.
    facts: Mapping[str, Any]


class PortCount(NamedTuple):
    """The number of ONUs on a port, as their places have it."""

    numbers: Key
    known: int
    online: int


def ports_of(olt_id: int) -> list[PortRow]:
    """Return the ports that the OLT lists, and those that only its ONUs name, ordered by number."""
    counted = onus_by_port([olt_id]).get(olt_id, {})
    rows = PonPort.objects.filter(olt=olt_id).order_by()
    ports = {row.place: (_order(Key(row.frame, row.slot, row.port)), _port_row(row, counted)) for row in rows}
    for place, there in counted.items():
        ports.setdefault(place, (_order(there.numbers), _port_row(PonPort(place=place), counted)))
    return [port for _, port in sorted(ports.values(), key=lambda each: (each[0], each[1].port))]


class NamedPort(NamedTuple):
    number: int
    name: str


def ports_by_place(olt_id: int) -> dict[str, NamedPort]:
    """Return the ids and names of the ports that the OLT lists."""
    rows = sql.fetch_prepared("SELECT place, id, name FROM pon_ports WHERE olt_id = %s", [olt_id])
    return {place: NamedPort(number, name) for place, number, name in rows}


def health_of(olt_id: int) -> Health:
    parts = sorted(OltHealth.objects.filter(olt=olt_id).order_by(), key=_part_order)
    of_kind = {kind: [part_row(row) for row in parts if row.kind == kind] for kind in PartKind}
    itself = of_kind[PartKind.OLT]
    boards, fans, psus = (of_kind[kind] for kind in (PartKind.BOARD, PartKind.FAN, PartKind.PSU))
    return Health(itself[0] if itself else None, boards, fans, psus)


def uplinks_of(olt_id: int) -> list[UplinkRow]:
    """Return the uplinks of an OLT, ordered by the numbers in their places."""
    rows = Uplink.objects.filter(olt=olt_id).order_by()
    return [uplink_row(row) for row in sorted(rows, key=lambda row: _numbers_first(row.place))]


def uplink_rates(olt_id: int, now: datetime) -> dict[int, dict[str, float]]:
    """Return the rates of each uplink now, by its id: of traffic, errors and discards.

    Those of a collection that is long over are left out, and of one after which other uplinks had the rate:
    this one was removed, or its rate is not known.
    """
    facts = [rule.rate for rule in counters(Subject.UPLINK).values()]
    series = several_series(olt_id, Subject.UPLINK, facts, now - _RATES_LAST, now + timedelta(seconds=1))
    last = {number: _last_values(each) for number, each in series.items()}
    newest: dict[str, int] = {}
    for each in last.values():
        newest |= {fact: max(at, newest.get(fact, at)) for fact, (at, _) in each.items()}
    return {
        number: {fact: value for fact, (at, value) in each.items() if at == newest[fact]}
        for number, each in last.items()
    }


def _last_values(series: Series) -> dict[str, tuple[int, float]]:
    """Return the time and the value of the last number of each fact that has one."""
    known = {
        fact: [(at, value) for at, value in zip(series.times, column, strict=True) if value is not None]
        for fact, column in series.values.items()
    }
    return {fact: found[-1] for fact, found in known.items() if found}


_OF_THE_OLT: Final = OltHealth.objects.filter(olt=OuterRef("pk"), part=PartKind.OLT)
# The model of an OLT: that of its settings, or what it says. Empty if neither is known.
MODEL_NAME: Final = Coalesce(
    NullIf("model__name", Value("")),
    Subquery(_OF_THE_OLT.values("name")[:1]),
    Value(""),
)
# What an OLT says of its hardware. Empty if it is not known.
HARDWARE_VERSION: Final = Coalesce(Subquery(_OF_THE_OLT.values("hw_version")[:1]), Value(""))


def hardware_versions() -> dict[int, str]:
    """Return the hardware version of each OLT that says it."""
    known = OltHealth.objects.filter(part=PartKind.OLT).exclude(hw_version="")
    return dict(known.values_list("olt_id", "hw_version"))


def known_kinds(olt_id: int) -> set[str]:
    """Return the kinds of things that an OLT ever had: "port", "uplink", and the kinds of its parts."""
    return {kind for (kind,) in sql.fetch_prepared(_KINDS, [olt_id, olt_id, olt_id])}


_KINDS: Final = (
    "SELECT kind FROM olt_health WHERE olt_id = %s"
    " UNION SELECT 'port' WHERE EXISTS (SELECT 1 FROM pon_ports WHERE olt_id = %s)"
    " UNION SELECT 'uplink' WHERE EXISTS (SELECT 1 FROM olt_uplinks WHERE olt_id = %s)"
)


def unprovisioned_onus(olt: Olt | None = None) -> Iterator[UnprovisionedRow]:
    """Return unprovisioned ONUs, ordered by OLT and place."""
    rows = Unprovisioned.objects.filter(**({} if olt is None else {"olt": olt}))
    # Databases differ in where they sort what has no number.
    numbers = (F(part).asc(nulls_first=True) for part in ("frame", "slot", "port"))
    ordered = rows.order_by("olt__name", *numbers, "identity")
    return map(_unprovisioned_row, ordered.select_related("olt").defer("olt__credentials"))


def onus_by_port(olt_ids: Collection[int]) -> dict[int, dict[str, PortCount]]:
    """Count the ONUs that are there now, by OLT and the place of the port, in one query."""
    rows = sql.fetch_prepared(_by_port_statement(), [sql.db_list(sorted(olt_ids))])
    found: dict[int, dict[str, PortCount]] = {}
    for olt_id, frame, slot, port, known, online in rows:
        key = Key(frame, slot, port)
        found.setdefault(olt_id, {})[str(key)] = PortCount(key, known, online)
    return found


@cache
def _by_port_statement() -> str:
    return _BY_PORT.format(sql.is_one_of("olt_id"))


_BY_PORT: Final = (
    "SELECT olt_id, frame, slot, port, COUNT(*), COUNT(CASE WHEN state = 'online' THEN 1 END)"  # noqa: S608
    f" FROM onu_data WHERE {{}} AND presence = '{Presence.PRESENT.value}'"
    " AND address IS NOT NULL AND port IS NOT NULL GROUP BY olt_id, frame, slot, port"
)


# So long the last rates count as those of now.
_RATES_LAST: Final = timedelta(hours=1)
_DIGITS: Final = re.compile(r"(\d+)")


def _numbers_first(place: str) -> list[tuple[int, str]]:
    """Return a key by which `0/9/2` comes before `0/9/10`, and `ge2` before `ge10`."""
    return [(int(each), "") if each.isdecimal() else (-1, each) for each in _DIGITS.split(place)]


def _order(numbers: Iterable[int | str | None]) -> tuple[int, ...]:
    return tuple(number if isinstance(number, int) else -1 for number in numbers)


def _part_order(row: OltHealth) -> tuple[tuple[int, ...], str]:
    return _order((row.frame, row.slot)), row.part


def _port_row(row: PonPort, counted: dict[str, PortCount]) -> PortRow:
    there = counted.get(row.place)
    onus = there.known if there else _reported_onus(row, counted)
    online = there.online if there else row.onus_online_told if onus != 0 else 0
    return PortRow(
        port=row.place,
        name=row.name or None,
        technology=row.technology or None,
        state=row.state or None,
        admin_state=row.admin_state or None,
        down_cause=row.cause or None,
        onus=onus,
        onus_online=online,
        tx_dbm=row.tx_dbm,
        rx_dbm=row.rx_dbm,
        temperature_c=row.temperature_c,
        voltage_v=row.voltage_v,
        bias_ma=row.bias_ma,
        updated_at=row.updated_at,
        facts=read_extras(row.extras),
    )


def uplink_row(row: Uplink) -> UplinkRow:
    return UplinkRow(
        id=row.pk,
        uplink=row.place,
        name=row.name or None,
        description=row.description or None,
        state=row.state or None,
        admin_state=row.admin_state or None,
        speed_mbps=row.speed_mbps,
        tx_dbm=row.tx_dbm,
        rx_dbm=row.rx_dbm,
        temperature_c=row.temperature_c,
        voltage_v=row.voltage_v,
        bias_ma=row.bias_ma,
        updated_at=row.updated_at,
        facts=read_extras(row.extras),
    )


def _reported_onus(row: PonPort, counted: dict[str, PortCount]) -> int | None:
    """Return what the OLT says about a port where no ONU was found: its ONUs may never have been asked for.

    Where it does not say, there are none if its ONUs name their ports; otherwise that is not known.
    """
    if row.onus_told is not None:
        return row.onus_told
    return 0 if counted else None


def part_row(row: OltHealth) -> PartRow:
    return PartRow(
        id=row.pk,
        kind=row.kind,
        place=row.part.removeprefix(row.kind).strip(),
        slot=row.slot,
        name=row.name or None,
        state=row.state or None,
        cpu_pct=row.cpu_pct,
        memory_pct=row.memory_pct,
        temperature_c=row.temperature_c,
        power_w=row.power_w,
        voltage_v=row.voltage_v,
        speed_rpm=row.speed_rpm,
        speed_pct=row.speed_pct,
        sw_version=row.sw_version or None,
        hw_version=row.hw_version or None,
        serial=row.serial or None,
        updated_at=row.updated_at,
        facts=read_extras(row.extras),
    )


def _unprovisioned_row(row: Unprovisioned) -> UnprovisionedRow:
    return UnprovisionedRow(
        olt=row.olt.name,
        port=row.place or None,
        serial=row.serial or None,
        mac=row.mac or None,
        model=row.model or None,
        vendor_id=row.vendor_id or None,
        sw_version=row.sw_version or None,
        seen_since=row.first_seen,
        last_seen=row.last_seen,
        found_at=row.seen_at,
        facts=read_extras(row.extras),
    )
