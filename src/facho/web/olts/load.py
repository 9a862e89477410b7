"""The load of an OLT: its SNMP load hour by hour, and its health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.utils.timezone import localtime
from django.utils.translation import ngettext

from facho.apps.executions.models import Execution
from facho.apps.localized_times import minute_clock
from facho.web.components.charts import Bar

HOURS: Final = 24
_HOUR: Final = timedelta(hours=1)
# Bars between two labels.
_LABEL_EVERY: Final = 4


@dataclass(slots=True)
class HourLoad:
    start: datetime
    requests: int = 0
    timeouts: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class OltLoad:
    hours: Sequence[HourLoad]

    @property
    def requests(self) -> int:
        return sum(hour.requests for hour in self.hours)

    @property
    def timeouts(self) -> int:
        return sum(hour.timeouts for hour in self.hours)

    @property
    def most_requests(self) -> int:
        return max(hour.requests for hour in self.hours)

    @property
    def busiest_minutes(self) -> float:
        return max(hour.seconds for hour in self.hours) / 60

    @property
    def pace_ms(self) -> float | None:
        """Return the mean time from one request to the next; several may be in flight at once."""
        seconds = sum(hour.seconds for hour in self.hours)
        return 1000 * seconds / self.requests if self.requests else None

    @property
    def request_bars(self) -> list[Bar]:
        return _bars(self.hours, [hour.requests for hour in self.hours])

    @property
    def minute_bars(self) -> list[Bar]:
        return _bars(self.hours, [round(hour.seconds / 60, 2) for hour in self.hours])


def read_olt_load(olt_id: int, now: datetime) -> OltLoad:
    """Return the load of the last 24 hours; an execution counts in the hour in which it ended."""
    last = localtime(now).replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    first = last - (HOURS - 1) * _HOUR
    hours = [HourLoad(first + number * _HOUR) for number in range(HOURS)]
    rows = Execution.objects.filter(olt=olt_id, ended_at__gte=first, ended_at__lte=now)
    for ended_at, load in rows.values_list("ended_at", "load"):
        if ended_at is not None:
            _add_load(hours[min(HOURS - 1, (ended_at - first) // _HOUR)], load)
    return OltLoad(hours)


def _add_load(hour: HourLoad, load: dict[str, float]) -> None:
    hour.requests += int(load.get("requests", 0))
    hour.timeouts += int(load.get("timeouts", 0))
    hour.seconds += load.get("seconds", 0.0)


def _bars(hours: Sequence[HourLoad], values: Sequence[float]) -> list[Bar]:
    """Draw a bar for each hour; hours with timeouts are marked as weak."""
    most = max(values) or 1
    width = 100 / len(hours)
    return [
        Bar(
            left=number * width,
            width=width,
            height=100 * value / most,
            count=value,
            label=_label(hour),
            weak=hour.timeouts > 0,
            edge="" if number % _LABEL_EVERY else minute_clock(hour.start),
        )
        for number, (hour, value) in enumerate(zip(hours, values, strict=True))
    ]


def _label(hour: HourLoad) -> str:
    """`10:00 (3 timeouts)`."""
    clock = minute_clock(hour.start)
    if not hour.timeouts:
        return clock
    lost = ngettext("%(number)s timeout", "%(number)s timeouts", hour.timeouts)
    return f"{clock} ({lost % {'number': hour.timeouts}})"
