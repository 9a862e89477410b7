"""Reads of the traffic of OLTs: totals, tops, the utilisation of PONs, and rates that were dropped.

Each is made of one small row of each OLT and subject. Series over time are in the history.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.history.models import Subject
from facho.apps.history.store import moment_of
from facho.apps.traffic.models import OltTraffic
from facho.core.line_rates import line_rate
from facho.core.rates import MOST_INTERVALS, Drops
from facho.core.traffic import MOST_NAMED, TopRate, TrafficTotal, merge_tops

# The counters are large, and nobody but the recorder reads them.
_COLUMNS: Final = ("olt", "subject", "at", "interval_s", "in_bps", "out_bps", "top", "peaks")


@dataclass(frozen=True, slots=True)
class Top:
    """The highest rates of one subject over several OLTs: now, and each OLT's at its last peak."""

    now: list[TopRate] = field(default_factory=list)
    peak: list[TopRate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one subject of an OLT. `in` is what the OLT receives."""

    at: datetime
    in_bps: int
    out_bps: int
    top: list[TopRate]
    # In the last day; None when it has not been collected for longer.
    peak_at: datetime | None = None
    peak_in_bps: int = 0
    peak_out_bps: int = 0
    peak_top: list[TopRate] = field(default_factory=list)
    # The last collection was on time: what it says is about now.
    is_current: bool = True


@dataclass(frozen=True, slots=True)
class PonUse:
    """How much of its line rate a PON uses, as a part of one."""

    port_id: int
    in_bps: int
    out_bps: int
    technology: str

    @property
    def up(self) -> float:
        return self.in_bps / line_rate(self.technology).up_bps

    @property
    def down(self) -> float:
        return self.out_bps / line_rate(self.technology).down_bps


def traffic_tops(
    subject: str, now: datetime, *, olt_ids: Collection[int] | None = None, most: int = MOST_NAMED
) -> Top:
    """Return the ONUs, ports or uplinks with the highest rates, of all OLTs or of these.

    OLTs whose last collection is too long ago have no rates now.
    """
    found = [_traffic(row, now) for row in _rows(olt_ids).filter(subject=subject).values(*_COLUMNS)]
    return Top(
        merge_tops((each.top for each in found if each.is_current), most),
        merge_tops((each.peak_top for each in found), most),
    )


def olt_traffic(olt_id: int, now: datetime) -> dict[str, Traffic]:
    """Return the traffic of an OLT by subject, of those that had any rate."""
    return {row["subject"]: _traffic(row, now) for row in _rows([olt_id]).values(*_COLUMNS)}


def pon_use(olt_id: int, now: datetime) -> dict[int, PonUse]:
    """Return by the id of the port how much of its line rate each PON uses; nothing of an old collection."""
    rows = _rows([olt_id]).filter(subject=Subject.PORT).values("at", "interval_s", "ports")
    return {
        int(number): PonUse(int(number), received, sent, technology)
        for row in rows
        if _is_current(row["at"], row["interval_s"], now)
        for number, (received, sent, technology) in json.loads(row["ports"]).items()
    }


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


def _is_current(at: datetime, interval_s: int, now: datetime) -> bool:
    return now - at <= MOST_INTERVALS * timedelta(seconds=interval_s)


def _traffic(row: Mapping[str, Any], now: datetime) -> Traffic:
    top = [TopRate(*each) for each in json.loads(row["top"])]
    found = Traffic(
        row["at"],
        row["in_bps"],
        row["out_bps"],
        top,
        is_current=_is_current(row["at"], row["interval_s"], now),
    )
    peaks = (TrafficTotal.from_json(each) for each in json.loads(row["peaks"]))
    peak = next((each for each in peaks if moment_of(each.at) > now - timedelta(days=1)), None)
    if peak is None:
        return found
    return Traffic(
        found.at,
        found.in_bps,
        found.out_bps,
        top,
        moment_of(peak.at),
        peak.in_bps,
        peak.out_bps,
        list(peak.top),
        found.is_current,
    )
