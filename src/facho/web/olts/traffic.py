"""The traffic of an OLT: of its uplinks and its PON ports over time, and who moves the most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _

from facho.apps.history.models import Subject
from facho.apps.history.selectors import several_series, subject_series
from facho.apps.hosts.models import Olt
from facho.apps.traffic.selectors import (
    NamedRate,
    Traffic,
    dropped_rates,
    name_rates,
    olt_traffic,
    subject_names,
)
from facho.core.rates import Drops
from facho.core.traffic import TOTAL_NUMBER
from facho.vendors import GENERIC, profile_of_family
from facho.web.components.charts import Chart, Period
from facho.web.components.traffic_charts import IN_AND_OUT, chart_of_series
from facho.web.traffic.data import ROWS


@dataclass(frozen=True, slots=True)
class TopRates:
    """The ONUs, ports or uplinks with the highest rates: now, and at the last peak."""

    subject: str
    traffic: Traffic
    now: Sequence[NamedRate]
    peak: Sequence[NamedRate]


@dataclass(frozen=True, slots=True)
class OltTrafficPage:
    now: datetime
    olt_id: int
    hours: int
    # All ports together, and all uplinks: those that have rates.
    totals: Sequence[Chart]
    uplinks: Sequence[Chart]
    tops: Sequence[TopRates]
    drops: Drops
    # Its ports are the interfaces of a device that no profile knows: they are not added up.
    has_interfaces: bool


def read_olt_traffic(olt_id: int, hours: int, now: datetime) -> OltTrafficPage:
    """Read the tab in a fixed number of queries."""
    period = Period(now - timedelta(hours=hours), now, get_current_timezone())
    ports = subject_series(olt_id, TOTAL_NUMBER, IN_AND_OUT, period.start, period.end)
    links = several_series(olt_id, Subject.UPLINK, IN_AND_OUT, period.start, period.end)
    totals = [(Subject.PORT, _("PON ports, all together"), ports)]
    if TOTAL_NUMBER in links:
        totals.append((Subject.UPLINK, _("Uplinks, all together"), links.pop(TOTAL_NUMBER)))
    charts = [chart_of_series(title, subject, series, period) for subject, title, series in totals]
    names = subject_names(Subject.UPLINK, links)
    uplinks = [
        chart_of_series(names[number].place, Subject.UPLINK, series, period)
        for number, series in links.items()
        if number in names
    ]
    family = Olt.objects.values_list("brand__name", flat=True).get(id=olt_id)
    return OltTrafficPage(
        now,
        olt_id,
        hours,
        [chart for chart in charts if not chart.is_empty],
        [chart for chart in uplinks if not chart.is_empty],
        list(_tops(olt_traffic(olt_id, now))),
        dropped_rates([olt_id]).get(olt_id, Drops()),
        profile_of_family(family).name == GENERIC,
    )


def _tops(known: Mapping[str, Traffic]) -> Iterator[TopRates]:
    for subject in (Subject.ONU, Subject.PORT, Subject.UPLINK):
        if subject in known:
            traffic = known[subject]
            now = traffic.top[:ROWS] if traffic.is_current else []
            yield TopRates(subject, traffic, *name_rates(subject, now, traffic.peak_top[:ROWS]))
