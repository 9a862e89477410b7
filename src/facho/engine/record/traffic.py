"""Turns the counters of a collection into rates, and stores what the next collection needs of them.

The rates go into the frame of the collection with its other numbers. The counters themselves are kept for
each OLT, not for each ONU: they change with every collection.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from facho.apps.discovery.store import FrameValues
from facho.apps.history.facts import counters
from facho.apps.history.models import Subject
from facho.apps.history.store import milliseconds
from facho.apps.traffic.store import KnownTraffic, PortRates, load_traffic, traffic_row
from facho.core.line_rates import LineRate, line_rate, uplink_rate
from facho.core.rates import (
    Computed,
    Counter,
    Drops,
    Limits,
    RateRule,
    Rates,
    Reading,
    Snapshot,
    compute_rates,
    counter_column,
    forget_subjects,
)
from facho.core.traffic import DIRECTIONS, keep_peaks, sum_traffic
from facho.engine.record.execution_row import Recording
from facho.snmp.values import Counter32, TimeTicks
from facho.snmp.walk import restarted
from facho.vendors import Profile

# Of an OLT that is collected by hand before any job did.
_USUAL_INTERVAL_S: Final = 300
_TICKS_PER_S: Final = 100


def add_rates(recording: Recording, subject: Subject, frame: FrameValues) -> FrameValues:
    """Return the numbers of a collection with the rates since the one before, and keep its counters.

    A reading of one ONU makes no rate.
    """
    if recording.planned.reading is not None:
        return frame
    columns = _counter_columns(frame, counters(subject))
    if not columns and not frame.renewed:
        return frame
    known = load_traffic(recording.olt_id, subject)
    forget_subjects(known.snapshots, frame.renewed)
    if not columns:
        if known.snapshots:
            recording.writes.traffic.append(traffic_row(recording.olt_id, subject, known))
        return frame
    collection, at = recording.collection, milliseconds(recording.now)
    reading = Reading(at, collection.uptime_s, array("q", frame.ids), columns)
    interval_s = recording.planned.interval_s or known.interval_s or _USUAL_INTERVAL_S
    limits = Limits(
        1000 * interval_s,
        _line_rates(subject, frame, recording.planned.work.profile),
        _has_restarted(known.snapshots, reading),
    )
    computed = compute_rates(known.snapshots, reading, counters(subject), limits)
    after = _after(replace(known, interval_s=interval_s), recording, subject, frame, computed)
    recording.writes.traffic.append(traffic_row(recording.olt_id, subject, after))
    return replace(frame, columns={**frame.columns, **computed.rates})


def _counter_columns(frame: FrameValues, known: Mapping[str, RateRule]) -> dict[Counter, array[int]]:
    found: dict[Counter, array[int]] = {}
    for fact in known:
        if fact in frame.columns:
            found |= _by_width(fact, frame.columns[fact])
    return found


def _by_width(fact: str, values: Sequence[object]) -> dict[Counter, array[int]]:
    """Return the counters of a fact in columns of 32 and of 64 bits; mostly all have the same width.

    What is no Counter32 is never taken for one that came round.
    """
    types = set(map(type, values)) - {type(None)}
    if not types:
        return {}
    narrow = types & {Counter32}
    if len(types) == 1 or not narrow:
        return {Counter(fact, 32 if narrow else 64): _column(values)}
    split: dict[int, list[object]] = {
        32: [each if type(each) is Counter32 else None for each in values],
        64: [None if type(each) is Counter32 else each for each in values],
    }
    return {Counter(fact, bits): _column(column) for bits, column in split.items()}


def _column(values: Sequence[object]) -> array[int]:
    """Return counters as whole numbers, which nearly all are already; of a scaled one the floor."""
    if any(issubclass(kind, float) for kind in set(map(type, values))):
        return counter_column([int(each) if isinstance(each, int | float) else None for each in values])
    return counter_column(cast(Sequence[int | None], values))


def _line_rates(subject: Subject, frame: FrameValues, profile: Profile) -> dict[str, int | Sequence[int]]:
    """Return by counter of octets what its subjects can move: the line rate of their PON, or their speed."""
    rates = _rates_of_uplinks(frame) if subject is Subject.LINK else _rates_of_pons(frame, profile)
    found: dict[str, int | Sequence[int]] = {}
    for fact, rule in counters(subject).items():
        if rule.rate in DIRECTIONS:
            each = [rate.down_bps if DIRECTIONS[rule.rate] else rate.up_bps for rate in rates]
            found[fact] = each[0] if len(set(each)) == 1 else each
    return found


def _rates_of_pons(frame: FrameValues, profile: Profile) -> list[LineRate]:
    usual = _only_technology(profile)
    return [line_rate(each or usual) for each in frame.technologies or [usual]]


def _rates_of_uplinks(frame: FrameValues) -> list[LineRate]:
    return [uplink_rate(each) for each in frame.speeds_mbps]


def _only_technology(profile: Profile) -> str:
    """Return the technology of a family that has only one, also where its table does not say it."""
    known = {table.technology for table in profile.tables if table.technology}
    return known.pop() if len(known) == 1 else ""


def _has_restarted(before: Sequence[Snapshot], reading: Reading) -> bool:
    last = before[0].reading if before else None
    if last is None or last.uptime_s is None or reading.uptime_s is None:
        return False
    then, now = (TimeTicks(int(each * _TICKS_PER_S)) for each in (last.uptime_s, reading.uptime_s))
    return restarted(then, now, (reading.at - last.at) / 1000)


def _after(
    known: KnownTraffic, recording: Recording, subject: Subject, frame: FrameValues, computed: Computed
) -> KnownTraffic:
    drops = Drops()
    drops.add(known.drops)
    drops.add(computed.drops)
    after = replace(known, drops=drops, snapshots=computed.snapshots)
    total = sum_traffic(milliseconds(recording.now), frame.ids, computed.rates)
    if total is None:
        return after
    ports: dict[int, PortRates] = {}
    if subject is not Subject.ONU:
        usual = _only_technology(recording.planned.work.profile) if subject is Subject.PORT else ""
        ports = _rates_of_ports(frame, usual, computed.rates)
    peaks = keep_peaks(known.peaks, total)
    return replace(after, at=recording.now, total=total, ports=ports, peaks=peaks)


def _rates_of_ports(frame: FrameValues, usual: str, rates: Mapping[str, Rates]) -> dict[int, PortRates]:
    ids = frame.ids
    received, sent = (rates.get(name, [None] * len(ids)) for name in ("in_bps", "out_bps"))
    rows = zip(ids, received, sent, frame.technologies or [""] * len(ids), strict=True)
    return {
        number: (int(one or 0), int(other or 0), technology or usual)
        for number, one, other, technology in rows
        if one is not None or other is not None
    }
