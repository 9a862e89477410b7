"""Reads of the traffic of OLTs: totals, tops, the utilisation of PONs, and rates that were dropped.

Each is made of one small row of each OLT and subject. Series over time are in the history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import add
from typing import Any, Final, NamedTuple, TypeVar

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.discovery.models import Onu
from facho.apps.discovery.roster import interface
from facho.apps.history.models import Subject
from facho.apps.history.store import moment_of
from facho.apps.hosts.models import Olt
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.store import read_drops
from facho.core.line_rates import line_rate
from facho.core.rates import Drops, certain_rate, is_on_time
from facho.core.traffic import MOST_NAMED, TopRate, TrafficTotal, merge_tops

# The counters are large, and nobody but the recorder reads them.
_TOTALS: Final = ("olt", "subject", "at", "interval_s", "in_bps", "out_bps")
_COLUMNS: Final = (*_TOTALS, "counter_bits", "top", "peaks")
_DAY: Final = timedelta(days=1)
T = TypeVar("T")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Top:
    """The highest rates of one subject over several OLTs: now, and each OLT's at its last peak."""

    now: list[TopRate] = field(default_factory=list)
    peak: list[TopRate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one subject of an OLT. `in` is what the OLT receives."""

    at: datetime
    # None when it is not known: who had a part of it has no rate.
    in_bps: int | None
    out_bps: int | None
    top: list[TopRate]
    # In the last day; None when it has not been collected for longer.
    peak_at: datetime | None = None
    peak_in_bps: int | None = None
    peak_out_bps: int | None = None
    peak_top: list[TopRate] = field(default_factory=list)
    # The last collection was on time: what it says is about now.
    is_current: bool = True
    # The highest rate that is certain; None if that is any, as of counters of 64 bits.
    certain_to_bps: int | None = None


@dataclass(frozen=True, slots=True)
class PonUse:
    """How much of its line rate a PON uses, as a part of one; None in a direction without a rate."""

    port_id: int
    in_bps: int | None
    out_bps: int | None
    technology: str

    @property
    def up(self) -> float | None:
        return None if self.in_bps is None else self.in_bps / line_rate(self.technology).up_bps

    @property
    def down(self) -> float | None:
        return None if self.out_bps is None else self.out_bps / line_rate(self.technology).down_bps


class OltTotal(NamedTuple):
    """The traffic of the ONUs, ports or uplinks of one OLT together, as the OLT receives and sends it."""

    olt_id: int
    subject: str
    at: datetime
    # As in Traffic.
    in_bps: int | None
    out_bps: int | None
    # The last collection was on time: what it says is about now.
    is_current: bool


@dataclass(frozen=True, slots=True)
class DropsOfDay:
    """The rates of an OLT that were not stored in the last day."""

    olt_id: int
    olt: str
    # Counters that were read.
    values: int
    drops: Drops

    @property
    def share(self) -> float:
        """Return the part of the counters that have no rate."""
        return (self.drops.over + self.drops.resets + self.drops.gaps) / self.values if self.values else 0.0


class SubjectName(NamedTuple):
    """What people call an ONU, a port or an uplink."""

    olt_id: int
    olt: str
    site: str
    # The interface of an ONU, the place of a port, the name of an uplink.
    place: str
    # The serial or MAC of an ONU; the name of a port that is more than its place.
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class NamedRate:
    """The traffic of one ONU, port or uplink, with what people call it."""

    olt_id: int
    olt: str
    site: str
    number: int
    # As in SubjectName.
    place: str
    name: str
    description: str
    to_customers_bps: int | None
    from_customers_bps: int | None


def traffic_tops(
    subject: str, now: datetime, *, olt_ids: Collection[int] | None = None, most: int = MOST_NAMED
) -> Top:
    """Return the ONUs, ports or uplinks with the highest rates, of all OLTs or of these.

    OLTs whose last collection is too long ago have no rates now.
    """
    rows = _rows(olt_ids).filter(subject=subject).values_list("at", "interval_s", "top", "peaks")
    current, peaks = [], []
    for at, interval_s, top, kept in rows:
        if is_on_time(at, interval_s, now):
            current.append(_read_top(top))
        if (peak := _last_peak(kept, now)) is not None:
            peaks.append(peak.top)
    return Top(merge_tops(current, most), merge_tops(peaks, most))


def drops_of_last_day(now: datetime) -> list[DropsOfDay]:
    """Return what was dropped in the last day, of the enabled OLTs of which counters were read in it."""
    sums: dict[tuple[int, str], list[int]] = {}
    rows = OltTraffic.objects.filter(olt__enabled=True).order_by("olt__name", "subject")
    for olt_id, name, drops_by_hour in rows.values_list("olt", "olt__name", "drops_by_hour"):
        for each in read_drops(drops_by_hour):
            if moment_of(each.hour) > now - _DAY:
                known = sums.setdefault((olt_id, name), [0] * 4)
                sums[olt_id, name] = list(map(add, known, each[1:]))
    return [DropsOfDay(*olt, values, Drops(*drops)) for olt, (values, *drops) in sums.items()]


def name_rates(subject: str, *tops: Sequence[TopRate]) -> list[list[NamedRate]]:
    """Return each list with names, in one query; what is not stored any more is left out."""
    names = subject_names(subject, {each.number for top in tops for each in top})
    return [
        [_named(subject, each, names[each.number]) for each in top if each.number in names] for top in tops
    ]


def subject_names(subject: str, numbers: Collection[int]) -> dict[int, SubjectName]:
    """Return what people call these ONUs, ports or uplinks."""
    return _NAMES[subject](numbers) if numbers else {}


def to_and_from_customers(subject: str, in_bps: T, out_bps: T) -> tuple[T, T]:
    """Return what goes to the customers and what comes from them: an uplink receives what ports send."""
    return (in_bps, out_bps) if subject == Subject.UPLINK else (out_bps, in_bps)


def olt_totals(now: datetime, olt_ids: Collection[int] | None = None) -> list[OltTotal]:
    """Return the totals of all OLTs or of these, of those that had any rate."""
    return [
        OltTotal(olt_id, subject, at, in_bps, out_bps, is_on_time(at, interval_s, now))
        for olt_id, subject, at, interval_s, in_bps, out_bps in _rows(olt_ids).values_list(*_TOTALS)
    ]


def olt_traffic(olt_id: int, now: datetime) -> dict[str, Traffic]:
    """Return the traffic of an OLT by subject, of those that had any rate."""
    return {row["subject"]: _traffic(row, now) for row in _rows([olt_id]).values(*_COLUMNS)}


def pon_use(olt_id: int, now: datetime) -> dict[int, PonUse]:
    """Return by the id of the port how much of its line rate each PON uses; nothing of an old collection."""
    rows = _rows([olt_id]).filter(subject=Subject.PORT).values("at", "interval_s", "ports")
    return {
        int(number): PonUse(int(number), received, sent, technology)
        for row in rows
        if is_on_time(row["at"], row["interval_s"], now)
        for number, (received, sent, technology) in json.loads(row["ports"]).items()
    }


def named_pon_uses(olt_id: int, now: datetime) -> list[tuple[str, PonUse]]:
    """Return the places of the PONs and how much of their line rates they use, in the order of the ports."""
    uses = pon_use(olt_id, now)
    rows = PonPort.objects.filter(olt=olt_id).values_list("id", "place")
    return [(place, uses[number]) for number, place in rows if number in uses]


def olts_of(olt_id: int | None, site: str) -> list[int] | None:
    """Return the OLTs that a list is about: one, those of a site, one if it is of a site, or None for all."""
    if not site:
        return None if olt_id is None else [olt_id]
    rows = Olt.objects.filter(site=site) if olt_id is None else Olt.objects.filter(site=site, id=olt_id)
    return list(rows.values_list("id", flat=True))


def dropped_rates(olt_ids: Collection[int] | None = None) -> dict[int, Drops]:
    """Return by OLT how many rates were not stored since it was first collected, of OLTs that had any."""
    total: dict[int, Drops] = {}
    rows = OltTraffic.objects.all() if olt_ids is None else OltTraffic.objects.filter(olt__in=olt_ids)
    for olt_id, *counts in rows.values_list("olt", "over", "resets", "gaps"):
        total.setdefault(olt_id, Drops()).add(Drops(*counts))
    return {olt_id: drops for olt_id, drops in total.items() if drops != Drops()}


def _rows(olt_ids: Iterable[int] | None) -> Any:
    rows = OltTraffic.objects.filter(at__isnull=False).order_by("olt", "subject")
    return rows if olt_ids is None else rows.filter(olt__in=olt_ids)


def _traffic(row: Mapping[str, Any], now: datetime) -> Traffic:
    top, peak = _read_top(row["top"]), _last_peak(row["peaks"], now)
    is_current = is_on_time(row["at"], row["interval_s"], now)
    found = Traffic(
        row["at"],
        row["in_bps"],
        row["out_bps"],
        top,
        is_current=is_current,
        certain_to_bps=certain_rate(row["counter_bits"], row["interval_s"]),
    )
    if peak is None:
        return found
    at = moment_of(peak.at)
    return replace(
        found, peak_at=at, peak_in_bps=peak.in_bps, peak_out_bps=peak.out_bps, peak_top=list(peak.top)
    )


def _read_top(text: str) -> list[TopRate]:
    return [TopRate(*each) for each in json.loads(text)]


def _last_peak(text: str, now: datetime) -> TrafficTotal | None:
    """Return the highest of the last day: the first that is not older. The others are not even decoded."""
    place = 1
    while place < len(text) - 1:
        found, place = _DECODER.raw_decode(text, place)
        peak = TrafficTotal.from_json(found)
        if moment_of(peak.at) > now - _DAY:
            return peak
        # After the comma.
        place += 1
    return None


def _named(subject: str, rate: TopRate, name: SubjectName) -> NamedRate:
    sides = to_and_from_customers(subject, rate.in_bps, rate.out_bps)
    return NamedRate(*name[:3], rate.number, *name[3:], *sides)


def _onu_names(numbers: Collection[int]) -> dict[int, SubjectName]:
    rows = Onu.objects.filter(pk__in=numbers).order_by()
    place = ("frame", "slot", "port", "onu_id", "extra", "raw_index")
    return {
        row[0]: SubjectName(row[1], row[2], row[3], interface(*row[4:10]), row[10] or row[11], row[12])
        for row in rows.values_list("id", *_OLT, *place, "serial", "mac", "description")
    }


def _port_names(numbers: Collection[int]) -> dict[int, SubjectName]:
    rows = PonPort.objects.filter(pk__in=numbers).order_by()
    return {
        row[0]: SubjectName(row[1], row[2], row[3], row[4], row[5] if row[5] != row[4] else "", "")
        for row in rows.values_list("id", *_OLT, "place", "name")
    }


def _uplink_names(numbers: Collection[int]) -> dict[int, SubjectName]:
    rows = Uplink.objects.filter(pk__in=numbers).order_by()
    return {
        row[0]: SubjectName(row[1], row[2], row[3], row[4] or row[5], "", row[6])
        for row in rows.values_list("id", *_OLT, "name", "place", "description")
    }


_OLT: Final = ("olt_id", "olt__name", "olt__site")
_NAMES: Final[Mapping[str, Callable[[Collection[int]], dict[int, SubjectName]]]] = {
    Subject.ONU: _onu_names,
    Subject.PORT: _port_names,
    Subject.UPLINK: _uplink_names,
}
