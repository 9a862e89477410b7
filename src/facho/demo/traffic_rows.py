"""Writes the traffic of an OLT in the last week of a past, and the health of its parts in all of it.

The rates are those that the simulated OLT goes on with, so that charts have no seam where the live ones
begin. The counters of the first collection stay as they are: the first live rates begin with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from facho.apps.chassis.models import OltHealth, PonPort, Uplink
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import interface_of
from facho.apps.history.models import Subject
from facho.apps.history.store import FrameRow, hour_of, make_frame, milliseconds
from facho.apps.hosts.models import Olt
from facho.apps.traffic.store import KnownTraffic, PortRates, load_traffic, traffic_row, upsert_traffic
from facho.core.event_groups import port_of_place
from facho.core.frames import write_sheet
from facho.core.history_facts import FACTS
from facho.core.rates import Rates
from facho.core.traffic import TOTAL_NUMBER, TrafficTotal, keep_peaks, sum_rates, sum_traffic, whole_rate
from facho.demo.onu_story import OnuStory
from facho.demo.readings import SilentOnus
from facho.demo.story import Story
from facho.sim.model import OltModel
from facho.sim.traffic import DOWN, UP, UPLINK_SHARES, busyness

_TRAFFIC: Final = timedelta(days=7)
_EVERY: Final = timedelta(minutes=15)
_DAY: Final = timedelta(days=1)
# Before the first collection nothing said how often traffic is read.
_INTERVAL_S: Final = 60
_PART_NUMBERS: Final = (
    "cpu_pct", "memory_pct", "temperature_c", "power_w", "voltage_v", "speed_rpm", "speed_pct",
)  # fmt: skip
_LINK_NUMBERS: Final = ("tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma")
# Of a fan, for each degree.
_RPM_PER_C: Final = 60.0

# By the name of the rate: one for each subject.
RatesByName = Mapping[str, Rates]


@dataclass(frozen=True, slots=True)
class _Counted:
    """Subjects with rates, in the order of the simulator; and the technologies of ports."""

    subject: Subject
    ids: Sequence[int]
    technologies: Sequence[str] = ()


def write_traffic(
    olt: Olt, onus: Sequence[Onu], onu_story: OnuStory, model: OltModel, story: Story
) -> list[FrameRow]:
    """Store the last rates and peaks of what the family counts; return the frames with all rates."""
    frames: list[FrameRow] = []
    counted = [each for each in _counted(olt, onus, model) if each.ids]
    week = list(_read_week(model, onu_story, story, olt.name)) if counted else []
    for each in counted:
        for hour, readings in groupby(week, key=lambda reading: hour_of(reading[0])):
            rates = [(moment, found[each.subject]) for moment, found in readings]
            if hour < hour_of(story.now):
                frames.append(_hour_frame(olt.id, each, rates))
            else:
                frames += (row for moment, found in rates for row in _frame(olt.id, each, moment, found))
        if week:
            _store_last(olt, each, [(moment, rates[each.subject]) for moment, rates in week])
    return frames


def _counted(olt: Olt, onus: Sequence[Onu], model: OltModel) -> Iterator[_Counted]:
    """Yield what the first collection found counters of. Ports without have the traffic of their ONUs."""
    counts = {each for each in Subject.values if load_traffic(olt.id, each).snapshots}
    if Subject.ONU in counts:
        yield _Counted(Subject.ONU, [onu.id for onu in onus])
    if {Subject.ONU, Subject.PORT} & counts:
        stored = {port.place: port for port in PonPort.objects.filter(olt=olt)}
        firsts = (onus[model.shape.rows_of_port(port)[0]] for port in range(model.shape.ports))
        ports = [stored.get(port_of_place(interface_of(onu))) for onu in firsts]
        known = [port for port in ports if port is not None]
        if len(known) == len(ports):
            yield _Counted(Subject.PORT, [port.id for port in known], [port.technology for port in known])
    if Subject.UPLINK in counts:
        yield _Counted(Subject.UPLINK, _links(olt))


def _links(olt: Olt) -> list[int]:
    """Return the uplinks of an OLT, the one with the most traffic first, as the simulator has them."""
    ids = list(Uplink.objects.filter(olt=olt).order_by("id").values_list("id", flat=True))
    octets: dict[int, int] = {}
    for snapshot in load_traffic(olt.id, Subject.UPLINK).snapshots:
        for counter, column in snapshot.reading.columns.items():
            if counter.fact == "in_octets":
                octets.update(zip(snapshot.reading.ids, column, strict=True))
    return sorted(ids, key=lambda number: -octets.get(number, 0))


def _read_week(
    model: OltModel, onu_story: OnuStory, story: Story, olt: str
) -> Iterator[tuple[datetime, Mapping[str, RatesByName]]]:
    """Yield the rates of all subjects for each collection of the last week."""
    silent = SilentOnus(model, onu_story, story)
    outages = story.outages_of(olt)
    for number in range(min(_TRAFFIC, story.now - story.start) // _EVERY - 1, -1, -1):
        moment = story.now - number * _EVERY
        if not any(outage.covers(moment) for outage in outages):
            yield moment, _read_rates(model, moment, silent.silent(moment.timestamp()))


def _read_rates(model: OltModel, moment: datetime, silent: set[int]) -> Mapping[str, RatesByName]:
    until = moment.timestamp()
    since = until - _EVERY.total_seconds()
    onus = [model.traffic.onu_rates(direction, since, until) for direction in (UP, DOWN)]
    for rates in onus:
        for row in silent:
            rates[row] = 0.0
    rows = [model.shape.rows_of_port(port) for port in range(model.shape.ports)]
    up, down = ([sum(rates[each.start : each.stop]) for each in rows] for rates in onus)
    return {
        Subject.ONU: {"up_bps": list(onus[UP]), "down_bps": list(onus[DOWN])},
        Subject.PORT: {"in_bps": list(up), "out_bps": list(down)},
        Subject.UPLINK: {
            "in_bps": [share * sum(down) for share in UPLINK_SHARES],
            "out_bps": [share * sum(up) for share in UPLINK_SHARES],
            **{name: list(rates) for name, rates in model.traffic.uplink_events(since, until).items()},
        },
    }


def _frame(olt_id: int, counted: _Counted, moment: datetime, rates: RatesByName) -> list[FrameRow]:
    return make_frame(olt_id, moment, counted.subject, _ids(counted), _columns(counted, rates))


def _hour_frame(olt_id: int, counted: _Counted, rates: Sequence[tuple[datetime, RatesByName]]) -> FrameRow:
    """Return the collections of an hour in one frame, which costs less than one for each."""
    columns: dict[str, dict[int, Sequence[int]]] = {}
    for moment, found in rates:
        for name, column in _columns(counted, found).items():
            columns.setdefault(name, {})[milliseconds(moment)] = FACTS[name].quantised(column)
    return olt_id, counted.subject, rates[0][0], write_sheet(_ids(counted), columns)


def _ids(counted: _Counted) -> list[int]:
    """Return the ids in a frame: of ports and uplinks also that of their total."""
    return [*counted.ids, *([] if counted.subject is Subject.ONU else [TOTAL_NUMBER])]


def _columns(counted: _Counted, rates: RatesByName) -> dict[str, Rates]:
    if counted.subject is Subject.ONU:
        return dict(rates)
    return {
        name: [*_all_of(counted, found), sum_rates(found) if name.endswith("_bps") else None]
        for name, found in rates.items()
    }


def _all_of(counted: _Counted, rates: Rates) -> Rates:
    """Return a rate for each subject: uplinks that stand by have none of their own."""
    return [*rates, *[0.0] * (len(counted.ids) - len(rates))][: len(counted.ids)]


def _store_last(olt: Olt, counted: _Counted, week: Sequence[tuple[datetime, RatesByName]]) -> None:
    """Store the last rates, and the peaks of the last day."""
    known = load_traffic(olt.id, counted.subject)
    now, rates = week[-1]
    total: TrafficTotal | None = None
    peaks: list[TrafficTotal] = []
    for moment, found in week:
        if (
            moment > now - _DAY
            and (total := sum_traffic(milliseconds(moment), counted.ids, found)) is not None
        ):
            peaks = keep_peaks(peaks, total)
    ports: dict[int, PortRates] = {}
    if counted.subject is not Subject.ONU:
        received, sent = (_all_of(counted, rates[name]) for name in ("in_bps", "out_bps"))
        technologies = counted.technologies or [""] * len(counted.ids)
        rows = zip(counted.ids, received, sent, technologies, strict=True)
        ports = {number: (whole_rate(one), whole_rate(other), kind) for number, one, other, kind in rows}
    after: KnownTraffic = replace(
        known, interval_s=known.interval_s or _INTERVAL_S, at=now, total=total, ports=ports, peaks=peaks
    )
    upsert_traffic([traffic_row(olt.id, counted.subject, after)])


def write_health(olt: Olt, model: OltModel, moments: Sequence[datetime], now: datetime) -> list[FrameRow]:
    """Return the numbers of the OLT, its boards, fans and power supplies, and the optics of its uplinks.

    They follow the traffic and the time of day up to what they are now.
    """
    parts = list(OltHealth.objects.filter(olt=olt))
    links = list(Uplink.objects.filter(olt=olt))
    frames: list[FrameRow] = []
    live = now.timestamp()
    for moment in moments:
        then = moment.timestamp()
        warmth = model.warmth_c(then) - model.warmth_c(live)
        load = model.motion.daily_cpu * (busyness(then) - busyness(live))
        moves = {
            "temperature_c": warmth,
            "cpu_pct": load,
            "speed_rpm": _RPM_PER_C * warmth,
            "speed_pct": warmth,
        }
        for subject, rows, names in (
            (Subject.PART, parts, _PART_NUMBERS),
            (Subject.UPLINK, links, _LINK_NUMBERS),
        ):
            columns = {name: [_moved(getattr(row, name), moves.get(name)) for row in rows] for name in names}
            frames += make_frame(olt.id, moment, subject, [row.id for row in rows], columns)
    return frames


def _moved(value: float | None, by: float | None) -> float | None:
    return value if value is None or by is None else max(0, round(value + by))
