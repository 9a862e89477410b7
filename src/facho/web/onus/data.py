"""The data of the page of an ONU: its facts and their age, charts and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final, NamedTuple

from django.db.models.functions import Coalesce
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.extra_facts import onu_facts_of_history_alone
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Presence
from facho.apps.discovery.onu_events import POWERS, port_of
from facho.apps.discovery.selectors import (
    OfflineSince,
    events_of,
    interface_of,
    is_weak,
    last_online,
    offline_since,
    onus_collected_at,
    unis_of,
    weak_since,
)
from facho.apps.history.facts import counter_of_rate, history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import (
    LATEST_WITHIN,
    LatestNumber,
    Series,
    latest_of_series,
    onu_series,
)
from facho.apps.localized_numbers import number
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.config import Config
from facho.core.freshness import is_stale
from facho.core.optics import OpticalState, is_below, middle_half, power_difference
from facho.core.traffic import DIRECTIONS
from facho.vendors import Entity
from facho.vendors.facts import full_fact_name
from facho.web.components.charts import Chart, Period, Values, line_chart
from facho.web.components.state_band import (
    ABSENT,
    CHANGE_KINDS,
    OFFLINE,
    ONLINE,
    UNKNOWN,
    StateChange,
    Stretch,
    build_band,
    known_width,
    state_share,
)
from facho.web.components.traffic_charts import traffic_chart
from facho.web.words.events import describe_onu_event
from facho.web.words.facts import fact_name, fact_unit, fact_value, named_facts, shown_facts

# The periods that one can choose.
HOURS: Final = (1, 6, 24, 7 * 24, 30 * 24)
DEFAULT_HOURS: Final = 24
EVENTS_SHOWN: Final = 50
# The others have a chart of their own, if there are values.
_IN_POWER_CHART: Final = ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm")
# More changes than this cannot be told apart in the band.
_MOST_CHANGES: Final = 2000
_DETAIL_FACTS: Final = (
    "serial", "mac", "description", "model", "hw_version", "sw_version", "plan", "ip", "onu_tx_dbm"
)  # fmt: skip
_MARKED_EVENTS: Final = (EventKind.WEAK, EventKind.FALLING, EventKind.MOVED)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The other ONUs on its port that are online."""

    onus: int
    median_dbm: float | None = None
    # The middle half of their powers.
    middle_dbm: tuple[float, float] | None = None
    olt_median_dbm: float | None = None


class PowerEnd(NamedTuple):
    """The power at one end of the fibre, and how it is judged."""

    dbm: float | None
    # Of the end that collections judge: by this an ONU counts as weak.
    judged: OpticalState
    # Of the other end: below the limit, which alone makes no ONU weak.
    is_below_limit: bool
    # Since when it has been weak or fallen, if that is stored.
    since: datetime | None
    # Against the median of its neighbours.
    difference_db: float | None
    usual_dbm: float | None
    collected: datetime | None
    every: timedelta | None


@dataclass(frozen=True, slots=True)
class StateBand:
    stretches: Sequence[Stretch]
    online_percent: float | None
    # The time whose state is known.
    known: timedelta


class DetailFact(NamedTuple):
    name: str
    value: str
    # When it was last collected.
    at: datetime | None = None
    every: timedelta | None = None


class PortReading(NamedTuple):
    """Facts of a customer port that were collected at the same time."""

    # Empty where the ONU does not say whether the link is up, or it was collected at another time.
    state: str
    # The others, each with its name and as it is shown.
    facts: Sequence[tuple[str, str]]
    at: datetime | None
    every: timedelta | None


class CustomerPort(NamedTuple):
    number: str
    readings: Sequence[PortReading]


@dataclass(frozen=True, slots=True)
class OnuPage:
    onu: Onu
    now: datetime
    hours: int
    place: str
    port: PonPort | None
    port_place: str
    collected: Mapping[str, datetime]
    # How often each fact is collected.
    intervals: Mapping[str, timedelta]
    neighbours: Neighbours
    at_onu: PowerEnd
    at_olt: PowerEnd
    last_online: datetime | None
    offline: OfflineSince
    band: StateBand
    power: Chart
    traffic: Chart
    # Temperature and distance, if there are values.
    others: Sequence[Chart]
    events: Sequence[OnuEvent]
    facts: Sequence[DetailFact]
    customer_ports: Sequence[CustomerPort]


def read_onu_page(onu: Onu, hours: int, now: datetime, config: Config) -> OnuPage:
    """Read the page in a fixed number of queries."""
    period = Period(now - timedelta(hours=hours), now, get_current_timezone())
    place = port_of({"frame": onu.frame, "slot": onu.slot, "port": onu.port})
    start, end = min(period.start, now - LATEST_WITHIN), period.end + timedelta(seconds=1)
    whole_series = onu_series(onu, history_facts(Subject.ONU), start, end)
    series = whole_series.since(period.start)
    latest = latest_of_series(whole_series.since(now - LATEST_WITHIN), onu_facts_of_history_alone())
    events = list(events_of(onu)[:EVENTS_SHOWN])
    collected = onus_collected_at(onu.olt_id)
    every = collection_intervals([onu.olt_id]).get(onu.olt_id, Intervals())
    intervals = {fact: length for fact in collected if (length := every.of(fact)) is not None}
    neighbours = _read_neighbours(onu)
    at_onu, at_olt = _judge_ends(onu, neighbours, collected, intervals, config)
    return OnuPage(
        onu=onu,
        now=now,
        hours=hours,
        place=interface_of(onu),
        port=PonPort.objects.filter(olt=onu.olt_id, place=place).first(),
        port_place=place,
        collected=collected,
        intervals=intervals,
        neighbours=neighbours,
        at_onu=at_onu,
        at_olt=at_olt,
        last_online=last_online([onu], collected.get("state")).get(onu.id),
        offline=offline_since(onu),
        band=_read_band(onu, period, _states_known_until(collected, intervals, now)),
        power=_power_chart(series, period, events, neighbours, config),
        traffic=traffic_chart(_("Traffic"), series.samples("down_bps"), series.samples("up_bps"), period),
        others=[chart for chart in _other_charts(series, period) if not chart.is_empty],
        events=events,
        facts=_detail_facts(onu, collected, intervals, latest),
        customer_ports=_customer_ports(onu, collected, intervals),
    )


def _customer_ports(
    onu: Onu, collected: Mapping[str, datetime], intervals: Mapping[str, timedelta]
) -> list[CustomerPort]:
    def read_together(port: Mapping[str, Any]) -> list[PortReading]:
        by_time: dict[datetime | None, list[str]] = {}
        for fact in sorted(port, key=lambda each: each != "state"):
            by_time.setdefault(collected.get(full_fact_name(Entity.UNI, fact)), []).append(fact)
        return [
            PortReading(
                port["state"] if "state" in facts else "",
                named_facts({fact: port[fact] for fact in facts if fact != "state"}, Entity.UNI),
                at,
                intervals.get(full_fact_name(Entity.UNI, facts[0])),
            )
            for at, facts in by_time.items()
        ]

    return [CustomerPort(number, read_together(port)) for number, port in unis_of(onu).items()]


def _detail_facts(
    onu: Onu,
    collected: Mapping[str, datetime],
    intervals: Mapping[str, timedelta],
    latest: Mapping[str, LatestNumber],
) -> list[DetailFact]:
    """Return the facts that have a value or were at least collected."""
    facts = [
        *(
            DetailFact(
                fact_name(fact),
                fact_value(fact, getattr(onu, fact)),
                collected.get(fact),
                intervals.get(fact),
            )
            for fact in _DETAIL_FACTS
        ),
        *(
            DetailFact(fact_name(fact), text, collected.get(fact), intervals.get(fact))
            for fact, text in shown_facts(onu)
        ),
        *(
            DetailFact(
                fact_name(fact),
                fact_value(fact, number.value),
                number.at,
                intervals.get(counter_of_rate(fact, Subject.ONU) or fact),
            )
            for fact, number in latest.items()
        ),
        DetailFact(_("Technology"), onu.technology.upper()),
        DetailFact(_("Index"), onu.raw_index),
    ]
    return [fact for fact in facts if fact.value or fact.at]


def _read_neighbours(onu: Onu) -> Neighbours:
    if onu.port is None:
        return Neighbours(0)
    there = Onu.objects.filter(olt=onu.olt_id, slot=onu.slot, port=onu.port, frame=onu.frame)
    others = there.filter(presence=Presence.PRESENT, state="online").exclude(id=onu.id).order_by()
    powers = list(others.values_list("onu_rx_dbm", "olt_rx_dbm"))
    at_onu = [power for power, _olt in powers if power is not None]
    at_olt = [power for _onu, power in powers if power is not None]
    return Neighbours(len(powers), _median(at_onu), middle_half(at_onu), _median(at_olt))


def _median(powers: Sequence[float]) -> float | None:
    return median(powers) if powers else None


def _judge_ends(
    onu: Onu,
    neighbours: Neighbours,
    collected: Mapping[str, datetime],
    intervals: Mapping[str, timedelta],
    config: Config,
) -> list[PowerEnd]:
    """Judge the power at the ONU and at the OLT: one by collections, the other against the limit."""
    medians = (neighbours.median_dbm, neighbours.olt_median_dbm)
    stored = _judged_power(onu)
    since = weak_since(onu)
    return [
        PowerEnd(
            dbm=getattr(onu, fact),
            judged=_stored_judgement(onu) if fact == stored else OpticalState.WELL,
            is_below_limit=fact != stored and _is_below_limit(onu, fact, config),
            since=since if fact == stored else None,
            difference_db=power_difference(getattr(onu, fact), others),
            usual_dbm=onu.rx_usual_dbm if fact == onu.rx_usual_of else None,
            collected=collected.get(fact),
            every=intervals.get(fact),
        )
        for fact, others in zip(POWERS, medians, strict=True)
    ]


def _judged_power(onu: Onu) -> str:
    """Return the power that collections judge: that of its baseline, else the first that it has."""
    known = (fact for fact in POWERS if getattr(onu, fact) is not None)
    return onu.rx_usual_of or next(known, POWERS[0])


def _stored_judgement(onu: Onu) -> OpticalState:
    return OpticalState(onu.optical_state) if is_weak(onu) else OpticalState.WELL


def _is_below_limit(onu: Onu, fact: str, config: Config) -> bool:
    power = getattr(onu, fact)
    return onu.state == "online" and power is not None and is_below(power, config.optical_weak)


def _states_known_until(
    collected: Mapping[str, datetime], intervals: Mapping[str, timedelta], now: datetime
) -> datetime | None:
    """Return until when states are known; None for until now: the next collection is not overdue."""
    at, every = collected.get("state"), intervals.get("state")
    if at is None or (every is not None and not is_stale(at, every, now)):
        return None
    return at


def _read_band(onu: Onu, period: Period, known_until: datetime | None) -> StateBand:
    """Build the band of a period; the last change before it tells the state at its start."""
    rows = OnuEvent.objects.filter(onu=onu, kind__in=CHANGE_KINDS).order_by("-at", "-id")
    found = rows.values_list(Coalesce("happened_at", "at"), "kind", "cause")[:_MOST_CHANGES]
    # An event may be dated before one that was seen earlier.
    latest = sorted((StateChange(*row) for row in found), key=lambda each: each.at, reverse=True)
    earlier = [change for change in latest if change.at < period.start][:1]
    changes = [*(change for change in latest if change.at >= period.start), *earlier]
    stretches = build_band(changes[::-1], _current_state(onu), onu.first_seen, period, known_until)
    length = (period.end - period.start).total_seconds()
    known = timedelta(seconds=round(length * known_width(stretches) / 100))
    return StateBand(stretches, state_share(stretches, ONLINE), known)


def _current_state(onu: Onu) -> str:
    if onu.presence == Presence.ABSENT:
        return ABSENT
    if onu.state in ("", "unknown", "starting"):
        return UNKNOWN
    return ONLINE if onu.state == "online" else OFFLINE


def _power_chart(
    series: Series, period: Period, events: Sequence[OnuEvent], neighbours: Neighbours, config: Config
) -> Chart:
    marks = [
        (event.at, describe_onu_event(event))
        for event in events
        if event.kind in _MARKED_EVENTS and period.start <= event.at <= period.end
    ]
    limit = config.optical_weak
    return line_chart(
        _("Optical power"),
        "dBm",
        [
            Values(_("at the ONU"), *series.samples("onu_rx_dbm")),
            Values(_("at the OLT"), *series.samples("olt_rx_dbm")),
        ],
        period,
        limit=(limit, f"{number(limit)} dBm"),
        marks=marks,
        band=None
        if neighbours.middle_dbm is None
        else (*neighbours.middle_dbm, _("half of its neighbours, now")),
    )


def _other_charts(series: Series, period: Period) -> list[Chart]:
    return [
        line_chart(fact_name(fact), fact_unit(fact), [Values("", *series.samples(fact))], period)
        for fact in history_facts(Subject.ONU)
        if fact not in _IN_POWER_CHART and fact not in DIRECTIONS
    ]
