"""The data of the page of an ONU: its facts and their age, charts and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Presence
from facho.apps.discovery.onu_events import port_of
from facho.apps.discovery.selectors import events_of, interface_of, last_online, onus_collected_at, weak_since
from facho.apps.history.selectors import Series, onu_series
from facho.apps.localized_numbers import number
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.config import Config
from facho.core.optics import is_below, middle_half, power_difference
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
from facho.web.words.events import describe_onu_event
from facho.web.words.facts import fact_name, fact_value

# The periods that one can choose.
HOURS: Final = (1, 6, 24, 7 * 24, 30 * 24)
DEFAULT_HOURS: Final = 24
EVENTS_SHOWN: Final = 50
# More changes than this cannot be told apart in the band.
_MOST_CHANGES: Final = 2000
_CHART_FACTS: Final = ("onu_rx_dbm", "olt_rx_dbm", "temperature_c", "distance_m")
_DETAIL_FACTS: Final = ("serial", "mac", "description", "model", "plan", "onu_tx_dbm")
_MARKED_EVENTS: Final = (EventKind.WEAK, EventKind.FALLING, EventKind.MOVED)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The other ONUs on its port that are online."""

    onus: int
    median_dbm: float | None = None
    # The middle half of their powers.
    middle_dbm: tuple[float, float] | None = None
    olt_median_dbm: float | None = None


class OltSide(NamedTuple):
    """The power of an ONU as the OLT measures it."""

    weak: bool
    # Against the median of its neighbours.
    difference_db: float | None


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
    # Its power against the median of its neighbours.
    difference_db: float | None
    olt_side: OltSide
    weak_since: datetime | None
    last_online: datetime | None
    band: StateBand
    power: Chart
    # Temperature and distance, if there are values.
    others: Sequence[Chart]
    events: Sequence[OnuEvent]
    facts: Sequence[DetailFact]


def read_onu_page(onu: Onu, hours: int, now: datetime, config: Config) -> OnuPage:
    """Read the page in a fixed number of queries."""
    period = Period(now - timedelta(hours=hours), now, get_current_timezone())
    place = port_of({"frame": onu.frame, "slot": onu.slot, "port": onu.port})
    series = onu_series(onu, _CHART_FACTS, period.start, period.end + timedelta(seconds=1))
    events = list(events_of(onu)[:EVENTS_SHOWN])
    collected = onus_collected_at(onu.olt_id)
    every = collection_intervals([onu.olt_id]).get(onu.olt_id, Intervals())
    intervals = {fact: length for fact in collected if (length := every.of(fact)) is not None}
    neighbours = _read_neighbours(onu)
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
        difference_db=power_difference(onu.onu_rx_dbm, neighbours.median_dbm),
        olt_side=_judge_olt_side(onu, neighbours, config),
        weak_since=weak_since(onu),
        last_online=last_online([onu], collected.get("state")).get(onu.id),
        band=_read_band(onu, period, collected.get("state")),
        power=_power_chart(series, period, events, neighbours, config),
        others=[chart for chart in _other_charts(series, period) if not chart.is_empty],
        events=events,
        facts=_detail_facts(onu, collected, intervals),
    )


def _detail_facts(
    onu: Onu, collected: Mapping[str, datetime], intervals: Mapping[str, timedelta]
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


def _judge_olt_side(onu: Onu, neighbours: Neighbours, config: Config) -> OltSide:
    weak = (
        onu.state == "online" and onu.olt_rx_dbm is not None and is_below(onu.olt_rx_dbm, config.optical_weak)
    )
    return OltSide(weak, power_difference(onu.olt_rx_dbm, neighbours.olt_median_dbm))


def _read_band(onu: Onu, period: Period, collected: datetime | None) -> StateBand:
    """Build the band of a period; the last change before it tells the state at its start."""
    rows = OnuEvent.objects.filter(onu=onu, kind__in=CHANGE_KINDS).values_list("at", "kind", "cause")
    latest = [StateChange(*row) for row in rows.order_by("-at", "-id")[:_MOST_CHANGES]]
    earlier = [change for change in latest if change.at < period.start][:1]
    changes = [*(change for change in latest if change.at >= period.start), *earlier]
    stretches = build_band(changes[::-1], _current_state(onu), onu.first_seen, period, collected)
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
            Values(_("at the ONU"), series.times, series.values["onu_rx_dbm"]),
            Values(_("at the OLT"), series.times, series.values["olt_rx_dbm"]),
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
        line_chart(fact_name(fact), unit, [Values("", series.times, series.values[fact])], period)
        for fact, unit in (("temperature_c", "°C"), ("distance_m", "m"))
    ]
