"""Reads of what is known about ONUs."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from facho.apps.db import sql
from facho.apps.db.sql import fetch_by_id
from facho.apps.discovery.extra_facts import UNIS, onu_facts_of_history_alone
from facho.apps.discovery.models import Collected, EventKind, Onu, OnuEvent, Presence, UnreadableRows
from facho.apps.discovery.olt_clocks import OLT_DATES
from facho.apps.discovery.roster import index_octets, interface
from facho.apps.extras import read_extras
from facho.apps.hosts.health import STATUS_COLUMNS, health_of
from facho.apps.hosts.models import Olt
from facho.core.freshness import ShownState, shown_state
from facho.core.line_rates import line_rate
from facho.core.olt_status import OltStatus
from facho.core.onu_states import DOWN_STATES, DownCause, OnuStatus, down_cause, onu_status, reported_states
from facho.core.optics import has_weak_power
from facho.vendors import Entity, Key, known_facts
from facho.vendors.facts import full_fact_name
from facho.vendors.index import intern_key, onu_key

_CHUNK: Final = 2000
_MAX_RANKED: Final = 50
_MAX_OPTICAL_EVENTS: Final = 100


class KnownRow(NamedTuple):
    """An ONU that can be asked about."""

    key: Key
    technology: str
    online: bool
    # Discoveries do not have it; another table named it.
    undiscovered: bool = False
    # The index at which the OLT showed it, as it travelled; empty where that is not known.
    raw_index: bytes = b""


@dataclass(frozen=True, slots=True)
class OnuRow:
    """An ONU for people and their scripts. What is not known is None."""

    olt: str
    slot: int | None
    port: int | None
    onu: int | None
    interface: str | None
    serial: str | None
    mac: str | None
    description: str | None
    model: str | None
    hw_version: str | None
    sw_version: str | None
    ip: str | None
    # As it was collected last.
    state: str | None
    down_cause: str | None
    rx_dbm: float | None
    tx_dbm: float | None
    olt_rx_dbm: float | None
    distance_m: int | None
    temperature_c: float | None
    presence: str
    # When its presence last changed.
    last_seen: datetime
    # The state as people may believe it: unknown behind an OLT that delivers nothing.
    shown_state: str | None
    # The shown state and its cause, the same for all vendors; the cause only of one that is offline.
    status: str
    cause: str | None
    weak: bool
    # The status of the OLT that makes the state unknown; None while it is known.
    unknown_because: str | None
    # Since when it is offline, if it is; and whether the OLT dates it, or that is when it was seen.
    offline_since: datetime | None
    offline_dated: bool
    # Facts without a column of their own, by name.
    facts: Mapping[str, Any]
    # The facts of each customer port, by its number.
    unis: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Where:
    """A site, an OLT, or a port of an OLT; everywhere when empty."""

    site: str = ""
    olt_id: int | None = None
    # As 0/1/7.
    port: str = ""


@dataclass(frozen=True, slots=True)
class Flapping:
    """An ONU that comes and goes: how often it went offline, and when last."""

    onu: Onu
    times: int
    last: datetime


def known_onus(olt_id: int, *, only: int | None = None) -> list[KnownRow]:
    """Return the ONUs that are present, at their places; or one of them, if it is."""
    chosen = _KNOWN.format("" if only is None else " AND id = %s")
    found = sql.fetch_rows(chosen, [olt_id, Presence.PRESENT.value, *([] if only is None else [only])])
    rows = [
        # Not by the names of its fields: there is one for each ONU of each GET.
        KnownRow(
            onu_key(frame, slot, port, onu), technology, state == "online", False, index_octets(raw_index)
        )
        for frame, slot, port, onu, technology, state, raw_index, _ in found
    ]
    special = {row[-1]: number for number, row in enumerate(found) if row[-1] is not None}
    for onu_id, (named_by, *rest) in fetch_by_id(Onu, list(special), _SPECIAL).items():
        row = rows[special[onu_id]]
        key = intern_key(_place_by_index(row.key, *rest))
        rows[special[onu_id]] = row._replace(key=key, undiscovered=named_by != "")
    return rows


# Most places are the numbers of the index, and nothing else: only the others are read again, by their id.
_KNOWN: Final = (
    "SELECT frame, slot, port, onu_id, technology, state, raw_index,"
    " CASE WHEN extra = '' AND told_parts = '' AND named_by = '' THEN NULL ELSE id END"
    " FROM onu_data WHERE olt_id = %s AND presence = %s AND address IS NOT NULL{} ORDER BY onu_data.id"
)
_SPECIAL: Final = ("named_by", "extra", "raw_index", "told_parts")


def _place_by_index(key: Key, extra: str, raw_index: str, told_parts: str) -> Key:
    """Return the place as the index has it, which is the one that can be asked for."""
    by_columns = {"onu" if part == "onu_id" else part: None for part in told_parts.split()}
    # A text in an index is its length and its characters: it never ends with the number that it reads as.
    rest = int(extra) if extra and raw_index.split(".")[-1] == extra else extra or None
    return key._replace(extra=rest, **by_columns)


class Census(NamedTuple):
    """The number of ONUs of one technology: of all that an OLT ever had, and of those that are present."""

    known: int
    present: int
    online: int
    # Those whose state is known at all.
    with_state: int


def census(olt_id: int) -> dict[str, Census]:
    """Count the ONUs of an OLT by technology. A plain statement: executions with an empty column ask it."""
    return {technology: Census(*counts) for technology, *counts in sql.fetch_prepared(_CENSUS, [olt_id])}


_PRESENT: Final = f"presence = '{Presence.PRESENT.value}'"
_CENSUS: Final = (
    f"SELECT technology, COUNT(*), COUNT(CASE WHEN {_PRESENT} THEN 1 END),"  # noqa: S608
    f" COUNT(CASE WHEN {_PRESENT} AND state = 'online' THEN 1 END),"
    f" COUNT(CASE WHEN {_PRESENT} AND state NOT IN ('', 'unknown') THEN 1 END)"
    " FROM onu_data WHERE olt_id = %s GROUP BY technology"
)


def technologies_of_ports(olt_id: int) -> dict[str, str]:
    """Return by place the technology of the ports of an OLT, as their ONUs say; of several the fastest."""
    rows = Onu.objects.filter(olt=olt_id, presence=Presence.PRESENT).exclude(technology="").order_by()
    found = rows.values_list("frame", "slot", "port", "technology").distinct()
    by_rate = sorted(found, key=lambda row: line_rate(row[3]).down_bps)
    return {str(Key(*place)): technology for *place, technology in by_rate}


def onus_present(olt_ids: Sequence[int] | None = None) -> dict[int, int]:
    """Count the present ONUs of these OLTs, or of all. An OLT that has none is left out."""
    rows = Onu.objects.filter(presence=Presence.PRESENT).order_by()
    if olt_ids is not None:
        rows = rows.filter(olt__in=olt_ids)
    return dict(rows.values_list("olt").annotate(count=Count("id")))


def with_duplicate_serial(onus: QuerySet[Onu]) -> QuerySet[Onu]:
    """Keep the ONUs whose serial the last complete discovery of their OLT found at another place too."""
    found = {"presence": Presence.PRESENT, "missed": 0}
    same = Onu.objects.filter(olt=OuterRef("olt"), serial=OuterRef("serial"), **found)
    # A serial of zeros identifies nobody, and is stored as empty.
    return onus.filter(Exists(same.exclude(id=OuterRef("id"))), **found).exclude(serial="")


# Links to lists of ONUs use these parameters, which combine:
#   /admin/discovery/onu/?olt__id__exact=5&state=offline&cause=los&weak=yes
#   /api/v1/onus/?olt=5&status=offline&cause=los&weak=true
def weak_onus(onus: QuerySet[Onu]) -> QuerySet[Onu]:
    """Keep the weak ONUs: every count and list of weak ONUs is of these. See `core.optics.has_weak_power`."""
    return onus.filter(WEAK)


def is_weak(onu: Onu) -> bool:
    return onu.presence == Presence.PRESENT and has_weak_power(onu.optical_state)


def onus_in_state(onus: QuerySet[Onu], silent: Collection[int], *statuses: str) -> QuerySet[Onu]:
    """Keep the ONUs in one of these normalised states, or of the states that OLTs report.

    `silent` are the OLTs that deliver nothing: nobody knows the state of their ONUs.
    """
    found = Q(state__in={each for status in statuses for each in reported_states(status)})
    if not silent:
        return onus.filter(found)
    behind = Q(olt__in=list(silent))
    return onus.filter(found | behind if OnuStatus.UNKNOWN in statuses else found & ~behind)


def onus_with_ip(onus: QuerySet[Onu], address: str) -> QuerySet[Onu]:
    # The index leaves out the ONUs without an address, and is used only by a query that does.
    return onus.filter(ip=address).exclude(ip="")


def onus_down_by(onus: QuerySet[Onu], silent: Collection[int], *causes: str) -> QuerySet[Onu]:
    """Keep the ONUs that are offline for one of these causes, of OLTs that are not `silent`."""
    found = Q()
    for cause in causes:
        found |= _down_by(cause)
    # Each cause implies it; stated alone, it is looked up by the index of states.
    down = onus.filter(found, state__in=DOWN_STATES)
    return down.exclude(olt__in=list(silent)) if silent else down


def _down_by(cause: str) -> Q:
    if cause == DownCause.UNKNOWN:
        return Q(state=OnuStatus.OFFLINE.value, down_cause__in=("", cause))
    reported = Q(state__in=DOWN_STATES, down_cause=cause)
    implied = Q(state=cause, down_cause__in=("", "unknown"))
    return reported | implied if cause in DOWN_STATES else reported


WEAK: Final = Q(presence=Presence.PRESENT) & ~Q(optical_state="")
# The power at the ONU; where it is unknown, the power at the OLT.
POWER: Final = Coalesce("onu_rx_dbm", "olt_rx_dbm")
# Of ONUs that are annotated with their `power`: it is known, or it was when it was judged.
HAS_POWER: Final = Q(power__isnull=False) | WEAK


def last_online(onus: Iterable[Onu], collected: datetime | None) -> dict[int, datetime]:
    """Return when each ONU was last seen online, where that is known, in one query.

    For one that is online that is the last collection of states; for others, when it went offline.
    """
    down = [onu.id for onu in onus if onu.presence == Presence.ABSENT or onu.state != OnuStatus.ONLINE]
    events = OnuEvent.objects.filter(onu__in=down, kind=EventKind.OFFLINE).order_by()
    went: dict[int, datetime] = dict(
        events.values_list("onu").annotate(last=Max(Coalesce("happened_at", "at")))
    )
    if collected is not None:
        went |= {onu.id: collected for onu in onus if onu.id not in down}
    return went


def weak_since(onu: Onu) -> datetime | None:
    """Return since when an ONU has been weak without recovering; None unless it is weak."""
    if not is_weak(onu):
        return None
    kinds = (EventKind.WEAK, EventKind.FALLING, EventKind.RECOVERED)
    since = None
    for kind, at in events_of(onu).filter(kind__in=kinds).values_list("kind", "at")[:_MAX_OPTICAL_EVENTS]:
        if kind == EventKind.RECOVERED:
            break
        since = at
    return since


def events_of(onu: Onu) -> QuerySet[OnuEvent]:
    """Return the events of an ONU, the last first."""
    return OnuEvent.objects.filter(onu=onu)


def events_like(
    olt: Olt | None = None, *, kind: str = "", since: datetime | None = None
) -> QuerySet[OnuEvent]:
    """Return the events of ONUs, the last first."""
    given = {"olt": olt, "kind": kind, "at__gte": since}
    events = OnuEvent.objects.filter(**{field: value for field, value in given.items() if value})
    return events.select_related("olt").defer("olt__credentials")


def onu_rows(onus: QuerySet[Onu], maintained: Container[int] = ()) -> Iterator[OnuRow]:
    """Yield ONUs one by one, without the credentials of their OLTs, which are slow to decrypt.

    `maintained` are the OLTs under maintenance now.
    """
    with_names = onus.select_related("olt").defer("olt__credentials")
    return (_row(onu, maintained) for onu in with_names.iterator(_CHUNK))


def interface_of(onu: Onu) -> str:
    return interface(onu.frame, onu.slot, onu.port, onu.onu_id, onu.extra, onu.raw_index)


def shown_state_of(onu: Onu, maintained: Container[int]) -> ShownState:
    """Return the state of an ONU that was read with its OLT, as people may believe it."""
    return shown_state(onu.state, OltStatus(health_of(onu.olt, maintained)))


def _row(onu: Onu, maintained: Container[int]) -> OnuRow:
    shown = shown_state_of(onu, maintained)
    return OnuRow(
        olt=onu.olt.name,
        slot=onu.slot,
        port=onu.port,
        onu=onu.onu_id,
        interface=interface_of(onu) or None,
        serial=onu.serial or None,
        mac=onu.mac or None,
        description=onu.description or None,
        model=onu.model or None,
        hw_version=onu.hw_version or None,
        sw_version=onu.sw_version or None,
        ip=onu.ip or None,
        state=onu.state or None,
        shown_state=shown.state or None,
        down_cause=onu.down_cause or None,
        rx_dbm=onu.onu_rx_dbm,
        tx_dbm=onu.onu_tx_dbm,
        olt_rx_dbm=onu.olt_rx_dbm,
        distance_m=onu.distance_m,
        temperature_c=onu.temperature_c,
        presence=onu.presence,
        last_seen=onu.last_seen,
        status=onu_status(shown.state).value,
        cause=down_cause(shown.state, onu.down_cause) or None,
        weak=is_weak(onu),
        unknown_because=None if shown.because is None else shown.because.value,
        offline_since=offline_since(onu).at,
        offline_dated=offline_since(onu).is_dated,
        facts=onu_extra_values(onu),
        unis=unis_of(onu),
    )


class OfflineSince(NamedTuple):
    """Since when an ONU is offline; None if it is not, or nobody knows."""

    at: datetime | None = None
    # By the OLT; otherwise that is when it was seen.
    is_dated: bool = False
    # The date of the OLT that could not be used, as it shows it.
    refused: str = ""


def offline_since(onu: Onu) -> OfflineSince:
    """Return since when an ONU is offline, as it was collected last."""
    return offline_since_of(onu.state, onu.offline_since, onu.offline_dated, onu.extras)


def offline_since_of(state: str, at: datetime | None, is_dated: bool, extras: str) -> OfflineSince:
    if state not in DOWN_STATES:
        return OfflineSince()
    if at is not None and is_dated:
        return OfflineSince(at, True)
    facts = read_extras(extras)
    shown, dated = facts.get(OLT_DATES, {}).get(_LAST_DOWN, ""), facts.get(_LAST_DOWN)
    if at is None and dated is not None:
        return OfflineSince(datetime.fromisoformat(dated), True)
    return OfflineSince(at, False, "" if dated else shown)


_LAST_DOWN: Final = "last_down"


def onu_extra_values(onu: Onu) -> dict[str, Any]:
    """Return the facts of an ONU that have no column of their own, by name."""
    others = (UNIS, OLT_DATES, *onu_facts_of_history_alone())
    return {fact: value for fact, value in read_extras(onu.extras).items() if fact not in others}


def unis_of(onu: Onu) -> dict[str, dict[str, Any]]:
    """Return the facts of each customer port of an ONU, in the order of their numbers."""
    found = read_extras(onu.extras).get(UNIS, {})
    return dict(sorted(found.items(), key=lambda each: (len(each[0]), each[0])))


def weakest(where: Where, most: int = _MAX_RANKED) -> list[Onu]:
    """Return the ONUs with the least power."""
    return onus_in_order(weakest_ids(where, most))


def onus_in_order(ids: Sequence[int]) -> list[Onu]:
    """Return the ONUs with these ids, with the names of their OLTs; those that are gone are left out."""
    found = _with_olt(Onu.objects.all()).in_bulk(ids)
    return [found[each] for each in ids if each in found]


def weakest_ids(where: Where, most: int = _MAX_RANKED) -> list[int]:
    """Return the ids of the ONUs with the least power at the ONU, else at the OLT."""
    # Tens of thousands may be sorted: only their ids, and the rest is read of the first ones.
    weakest_first = (F("power").asc(nulls_last=True), "id")
    return list(_ranked_by_power(where).order_by(*weakest_first).values_list("id", flat=True)[:most])


def count_by_power(where: Where) -> int:
    """Return the number of ONUs of which `weakest_ids` returns the first."""
    return _ranked_by_power(where).count()


def _ranked_by_power(where: Where) -> QuerySet[Any]:
    """Return the weak ONUs everywhere or at a site, and those with a known power of an OLT or a port.

    The weak ones have an index. Power itself has none, because it would be written with every collection.
    """
    onus = Onu.objects.filter(presence=Presence.PRESENT, **_olt_condition(where))
    onus = onus.annotate(power=POWER)
    if where.olt_id is None:
        return weak_onus(onus)
    if where.port:
        onus = onus.filter(_port_condition(where.port))
    return onus.filter(HAS_POWER)


class OfflineCount(NamedTuple):
    onu_id: int
    times: int
    last: datetime


def flapping(where: Where, since: datetime, most: int = _MAX_RANKED) -> list[Flapping]:
    """Return the ONUs that went offline most often, and more than once."""
    return flapping_onus(most_often_offline(where, since, most))


def flapping_onus(counts: Sequence[OfflineCount]) -> list[Flapping]:
    """Return the ONUs of these counts, in their order; those that are gone are left out."""
    onus = _with_olt(Onu.objects.all()).in_bulk([each.onu_id for each in counts])
    return [Flapping(onus[each.onu_id], each.times, each.last) for each in counts if each.onu_id in onus]


def most_often_offline(where: Where, since: datetime, most: int = _MAX_RANKED) -> list[OfflineCount]:
    """Count how often ONUs went offline, of those that did most often, and more than once."""
    worst = _offline_counts(where, since).order_by("-times", "-last", "onu")
    found: Iterable[tuple[Any, int, datetime]] = worst.values_list("onu", "times", "last")[:most]
    return [OfflineCount(*row) for row in found]


def count_flapping(where: Where, since: datetime) -> int:
    """Return the number of ONUs of which `most_often_offline` returns the first."""
    return _offline_counts(where, since).count()


def _offline_counts(where: Where, since: datetime) -> QuerySet[Any, Any]:
    events = OnuEvent.objects.filter(kind=EventKind.OFFLINE, at__gte=since, **_olt_condition(where))
    if where.olt_id is not None and where.port:
        events = events.filter(place__startswith=f"{where.port}:")
    # Of the columns of one index only, which is read instead of the events.
    counted = events.order_by().values("onu").annotate(times=Count("*"), last=Max("at"))
    return counted.filter(times__gt=1, onu__isnull=False)


def _olt_condition(where: Where) -> dict[str, object]:
    if where.olt_id is not None:
        return {"olt": where.olt_id}
    return {"olt__site": where.site} if where.site else {}


def _port_condition(port: str) -> Q:
    """Match the port of an ONU. Of two numbers the first is the slot."""
    parts = ("port", "slot", "frame")
    return Q(**{part: int(number) for part, number in zip(parts, reversed(port.split("/")), strict=False)})


def _with_olt(onus: QuerySet[Onu]) -> QuerySet[Onu]:
    return onus.select_related("olt").only(
        *(field.name for field in Onu._meta.fields if field.name != "olt"),
        *(f"olt__{name}" for name in ("name", "site", *STATUS_COLUMNS)),
    )


def unreadable_rows(olt_id: int) -> list[UnreadableRows]:
    return list(UnreadableRows.objects.filter(olt=olt_id))


def onus_collected_at(olt_id: int) -> dict[str, datetime]:
    """Return when each fact of an OLT's ONUs and their customer ports was last collected in full, the latest
    first.
    """
    names = [full_fact_name(of, fact) for of in (Entity.ONU, Entity.UNI) for fact in known_facts()[of]]
    rows = Collected.objects.filter(olt=olt_id, datum__in=names)
    return dict(rows.order_by("-collected_at", "datum").values_list("datum", "collected_at"))


def states_collected_at(olt_ids: Sequence[int]) -> dict[int, datetime]:
    """Return by OLT when the states of its ONUs were last collected."""
    rows = Collected.objects.filter(olt__in=olt_ids, datum="state").order_by()
    return dict(rows.values_list("olt_id", "collected_at"))


def collected_at(olt_id: int) -> dict[str, datetime]:
    """Return when each datum of an OLT was last collected in full: facts of ONUs, and `port.state`."""
    return dict(Collected.objects.filter(olt=olt_id).order_by().values_list("datum", "collected_at"))


def parts_collected_at(collected: Mapping[str, datetime]) -> dict[str, datetime]:
    """Return when the states of each kind of part of an OLT were last collected, as `port` and `board`; of a
    kind without states, when something of it was.
    """
    found: dict[str, datetime] = {}
    for datum, at in collected.items():
        kind, dot, _fact = datum.partition(".")
        if dot:
            found[kind] = collected.get(f"{kind}.state") or max(at, found.get(kind, at))
    return found
