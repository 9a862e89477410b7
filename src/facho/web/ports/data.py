"""The data of the page of a port: its ONUs and their power, its own optics, and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import Onu, OnuEvent, PortOutage, Presence
from facho.apps.discovery.selectors import POWER, collected_at, last_online
from facho.apps.extras import read_extras
from facho.apps.history.facts import history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import Series, subject_series
from facho.apps.snmp_jobs.selectors import Intervals
from facho.apps.traffic.selectors import PonUse, pon_use
from facho.config import Config
from facho.core.optics import has_weak_power
from facho.vendors import Entity
from facho.vendors.facts import full_fact_name
from facho.web.components.charts import Bar, Chart, Period, Values, histogram, line_chart
from facho.web.components.list_query import parse_choice, parse_page
from facho.web.components.traffic_charts import IN_AND_OUT, chart_of_series
from facho.web.olts.onus_and_ports import recent_outages
from facho.web.words.facts import DatedFact, fact_name, fact_unit, fact_value, sort_facts

ROWS: Final = 64
SORTS: Final[Mapping[str, str]] = {"power": "power", "state": "state"}
# The periods that one can choose.
DAYS: Final = (1, 7, 30)
_STEP_DB: Final = 1.0
_EVENTS_SHOWN: Final = 20
_EVENTS_SINCE: Final = timedelta(days=7)
# The columns of a port that are shown by the names that their facts have.
_FACTS: Final = ("admin_state", "tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma")
# Drawn with words of their own; the others that have a history follow.
_CHART_FACTS: Final = ("tx_dbm", "rx_dbm", "temperature_c", "onus_online", *IN_AND_OUT)


@dataclass(frozen=True, slots=True)
class PortQuery:
    """`sort` is empty for by place; a minus in front of it reverses the order."""

    sort: str = ""
    page: int = 1
    days: int = 1


def parse_port_query(given: Mapping[str, str]) -> PortQuery:
    sort = given.get("sort", "")
    return PortQuery(
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=parse_page(given),
        days=parse_choice(given, "days", DAYS, DAYS[0]),
    )


@dataclass(frozen=True, slots=True)
class PowerHistogram:
    """The ONUs by power; `cut` is the position of the limit in percent from the left.

    A weak one stays measured while it is offline and has no power.
    """

    bars: Sequence[Bar]
    cut: float | None
    measured: int
    weak: int


@dataclass(frozen=True, slots=True)
class PortPage:
    now: datetime
    port: PonPort
    onus: Page[Any]
    # When each datum of the OLT was last collected.
    collected: Mapping[str, datetime]
    # When each of them was last seen online, by its id.
    last_online: Mapping[int, datetime]
    known: int
    online: int
    light: PowerHistogram
    charts: Sequence[Chart]
    # Only if there are values.
    traffic: Chart | None
    # None without rates of the last collection.
    use: PonUse | None
    outages: Sequence[PortOutage]
    events: Sequence[OnuEvent]


def read_port_page(port: PonPort, query: PortQuery, now: datetime, config: Config) -> PortPage:
    onus = port_onus(port, query.sort)
    rows = list(
        onus.filter(presence=Presence.PRESENT).order_by().values_list("state", "power", "optical_state")
    )
    collected = collected_at(port.olt_id)
    shown = Paginator(onus, ROWS).get_page(query.page)
    weak = sum(has_weak_power(judged) for _state, _power, judged in rows)
    powers = [power for _state, power, _judged in rows if power is not None]
    judged = sum(power is not None or has_weak_power(state) for _state, power, state in rows)
    traffic, *charts = _charts(port, query.days, now)
    return PortPage(
        now=now,
        port=port,
        onus=shown,
        collected=collected,
        last_online=last_online(list(shown), collected.get("state")),
        known=len(rows),
        online=sum(state == "online" for state, _power, _judged in rows),
        light=_power_histogram(powers, judged, weak, config.optical_weak),
        charts=[chart for chart in charts if not chart.is_empty],
        traffic=None if traffic.is_empty else traffic,
        use=pon_use(port.olt_id, now).get(port.pk),
        outages=recent_outages(port.olt_id, port.place),
        events=_events(port, now),
    )


def port_facts(port: PonPort, collected: Mapping[str, datetime], intervals: Intervals) -> Iterator[DatedFact]:
    """Yield the facts of a port that have no place of their own on its page."""
    told = {fact: getattr(port, fact) for fact in _FACTS}
    for fact, value in sort_facts({**told, **read_extras(port.extras)}, Entity.PORT):
        if text := fact_value(fact, value, Entity.PORT):
            name = full_fact_name(Entity.PORT, fact)
            yield DatedFact(fact_name(fact, Entity.PORT), text, collected.get(name), intervals.of(name))


def port_onus(port: PonPort, sort: str) -> QuerySet[Any]:
    """Return the ONUs of a port in the order of its list."""
    place = {"frame": port.frame, "slot": port.slot, "port": port.port}
    empty = {f"{name}__isnull": True for name, value in place.items() if value is None}
    known = {name: value for name, value in place.items() if value is not None}
    onus = Onu.objects.filter(olt=port.olt_id, address__isnull=False, **known, **empty)
    return _sort_onus(onus.annotate(power=POWER), sort)


def _sort_onus(onus: QuerySet[Any], sort: str) -> QuerySet[Any]:
    """Sort the ONUs; those without a value come last in both directions."""
    place = (F("onu_id").asc(nulls_last=True), "extra", "id")
    column = SORTS.get(sort.removeprefix("-"))
    if column is None:
        return onus.order_by(*place)
    return onus.order_by(OrderBy(F(column), descending=sort.startswith("-"), nulls_last=True), *place)


def _power_histogram(powers: Sequence[float], judged: int, weak: int, limit: float) -> PowerHistogram:
    bars = histogram(powers, _STEP_DB, weak_below=limit)
    return PowerHistogram(bars, _limit_position(powers, len(bars), limit), judged, weak)


def _limit_position(powers: Sequence[float], bars: int, weak: float) -> float | None:
    """Return the position of the limit among the bars, or None when it is outside."""
    if not bars:
        return None
    at = 100 * (weak - min(powers) // _STEP_DB * _STEP_DB) / (bars * _STEP_DB)
    return at if 0 <= at <= 100 else None


def _charts(port: PonPort, days: int, now: datetime) -> list[Chart]:
    """Return the chart of the traffic, and the others. A port known from its ONUs only has no values."""
    period = Period(now - timedelta(days=days), now, get_current_timezone())
    others = [fact for fact in history_facts(Subject.PORT) if fact not in _CHART_FACTS]
    facts = (*_CHART_FACTS, *others)
    series = Series([], {fact: [] for fact in facts})
    if not port._state.adding:
        series = subject_series(port.olt_id, port.pk, facts, period.start, period.end)
    optics = (
        _values(series, "tx_dbm", gettext("sent")),
        _values(series, "rx_dbm", gettext("received")),
    )
    return [
        chart_of_series(gettext("Traffic"), Subject.PORT, series, period),
        line_chart(gettext("Optical power"), "dBm", [each for each in optics if _has_values(each)], period),
        line_chart(
            gettext("Temperature"), "°C", [_values(series, "temperature_c", gettext("module"))], period
        ),
        line_chart(gettext("ONUs online"), "", [_values(series, "onus_online", gettext("online"))], period),
        *(_other_chart(fact, series, period) for fact in others),
    ]


def _other_chart(fact: str, series: Series, period: Period) -> Chart:
    name, unit = fact_name(fact, Entity.PORT), fact_unit(fact, Entity.PORT)
    return line_chart(name, unit, [_values(series, fact, "")], period)


def _values(series: Series, fact: str, name: str) -> Values:
    return Values(name, *series.samples(fact))


def _has_values(values: Values) -> bool:
    return any(value is not None for value in values.values)


def _events(port: PonPort, now: datetime) -> list[OnuEvent]:
    """Return the events of the last days: the index of events is by time, not by place."""
    here = Q(place=port.place) | Q(place__startswith=f"{port.place}:")
    return list(OnuEvent.objects.filter(here, olt=port.olt_id, at__gte=now - _EVENTS_SINCE)[:_EVENTS_SHOWN])
