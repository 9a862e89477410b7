"""Charts of traffic: what goes to the customers above zero, and what comes from them below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from facho.apps import localized_numbers
from facho.apps.history.selectors import Series
from facho.apps.traffic.selectors import to_and_from_customers
from facho.core.frames import Samples
from facho.core.percentile import highest, percentile
from facho.core.rates import MOST_INTERVALS
from facho.web.components.charts import Chart, Level, Period, Span, Values, draw_line, time_axis, value_axis

# The facts of ports and uplinks that are drawn.
IN_AND_OUT: Final = ("in_bps", "out_bps")
# Labels that are nearer than this, in percent of the height, would cover each other.
_LABEL_HEIGHT: Final = 8.0
# A line without any traffic has an axis of whole bits too.
_LEAST_PEAK: Final = 1000.0
# Of the distances between samples, so many per cent are no gap.
_USUALLY: Final = 90.0
_SHORTEST_GAP: Final = timedelta(minutes=10)


class _Direction(NamedTuple):
    # 1 for the one above zero, -1 for the one below.
    sign: int
    samples: Values
    peak: float
    # What it stays below for 95 % of the time.
    usual: float

    @property
    def drawn(self) -> Values:
        values = [None if value is None else self.sign * value for value in self.samples.values]
        return replace(self.samples, values=values)


def traffic_chart(
    title: str,
    to_customers: Samples,
    from_customers: Samples,
    period: Period,
) -> Chart:
    """Draw both directions mirrored around zero, with the 95th percentile and the maximum of each.

    A line breaks where nothing came for more than three intervals: nobody knows what was moved then.
    """
    named = ((1, _("to the customers"), to_customers), (-1, _("from the customers"), from_customers))
    found = [_direction(sign, Values(name, *samples)) for sign, name, samples in named]
    shown = [each for each in found if each is not None]
    axis, rows = value_axis(
        [0.0, *(each.sign * max(each.peak, _LEAST_PEAK) for each in shown)],
        label=lambda value: localized_numbers.short_bit_rate(abs(value)),
    )
    gap = _longest_gap(sorted({*to_customers.times, *from_customers.times}))
    return Chart(
        title,
        "bit/s",
        [replace(draw_line(each.drawn, period, axis, gap), figures=_figures(each)) for each in shown],
        rows,
        time_axis(period),
        levels=[level for number, each in enumerate(shown, 1) for level in _levels(each, number, axis)],
    )


def chart_of_series(title: str, subject: str, series: Series, period: Period) -> Chart:
    """Draw the traffic of ports or uplinks, as the OLT receives and sends it."""
    return traffic_chart(title, *to_and_from_customers(subject, *map(series.samples, IN_AND_OUT)), period)


def _direction(sign: int, samples: Values) -> _Direction | None:
    peak, usual = highest(samples.values), percentile(samples.values)
    return None if peak is None or usual is None else _Direction(sign, samples, peak, usual)


def _figures(direction: _Direction) -> list[tuple[str, str]]:
    last = next(value for value in reversed(direction.samples.values) if value is not None)
    return [
        (pgettext("traffic", "last"), localized_numbers.bit_rate(last)),
        (_("95th percentile"), localized_numbers.bit_rate(direction.usual)),
        (pgettext("traffic", "maximum"), localized_numbers.bit_rate(direction.peak)),
    ]


def _levels(direction: _Direction, series: int, axis: Span) -> list[Level]:
    """Return the lines of the maximum and of the percentile; where both are near, the percentile has a label.

    Where the maximum is can be seen without one.
    """
    sign, name = direction.sign, direction.samples.name
    peak, usual = (100 - axis.percent(sign * value) for value in (direction.peak, direction.usual))
    _last, ninety_five, maximum = _figures(direction)
    mark = "" if abs(peak - usual) < _LABEL_HEIGHT else pgettext("traffic", "max.")
    return [
        Level(peak, f"{name}: {maximum[0]} {maximum[1]}", series, mark),
        Level(usual, f"{name}: {ninety_five[0]} {ninety_five[1]}", series, pgettext("traffic", "95 %")),
    ]


def _longest_gap(times: Sequence[int]) -> timedelta:
    """Return how far apart two samples of one line may be, by the distance that they usually have."""
    usual = percentile((later - earlier for earlier, later in pairwise(times)), _USUALLY) or 0
    return max(_SHORTEST_GAP, timedelta(milliseconds=(MOST_INTERVALS + 0.5) * usual))
