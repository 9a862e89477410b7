"""Turns the counters of a collection into rates, and stores what the next collection needs of them.

The rates go into the frame of the collection with its other numbers. The counters themselves are kept for
each OLT, not for each ONU: they change with every collection.

Sums that charts show over time are stored with them: of all ports and of all uplinks of an OLT, and of the
ONUs of each port where the OLT does not count at its ports. To add up the ONUs of a port for each chart
would take seconds: a week of 64 ONUs is 260,000 samples.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from facho.apps.chassis.selectors import NamedPort, ports_by_place
from facho.apps.discovery.selectors import technologies_of_ports
from facho.apps.discovery.store import FrameValues
from facho.apps.history.facts import ENTITIES, counters
from facho.apps.history.models import Subject
from facho.apps.history.store import make_frame, milliseconds
from facho.apps.traffic.store import KnownTraffic, PortRates, load_traffic, traffic_row
from facho.core.line_rates import LineRate, line_rate, port_technology, uplink_rate
from facho.core.rates import (
    MOST_INTERVALS,
    NONE,
    Counter,
    CounterReading,
    Drops,
    Limits,
    RateResult,
    RateRule,
    Rates,
    Snapshot,
    compute_rates,
    counter_column,
    forget_subjects,
)
from facho.core.traffic import (
    DIRECTIONS,
    TOTAL_NUMBER,
    LastRate,
    TopRate,
    count_drops,
    keep_peaks,
    missing_rates,
    sum_by_place,
    sum_traffic,
    whole_rate,
    without_missing,
)
from facho.engine.collect.part_results import Collection, PartResult
from facho.engine.record.execution_row import Recording
from facho.snmp.values import Counter32, TimeTicks
from facho.snmp.walk import restarted
from facho.vendors import GENERIC, Entity, Profile

# Of an OLT that is collected by hand before any job did.
_USUAL_INTERVAL_S: Final = 300
_TICKS_PER_S: Final = 100
_WIDE: Final = 64


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
    if columns:
        return _store_rates(recording, subject, frame, columns, known)
    if known.snapshots:
        recording.writes.traffic.append(traffic_row(recording.olt_id, subject, known))
    return frame


def _store_rates(
    recording: Recording,
    subject: Subject,
    frame: FrameValues,
    columns: Mapping[Counter, array[int]],
    known: KnownTraffic,
) -> FrameValues:
    """Return the numbers with the rates, and store the totals, the tops and the counters of the OLT."""
    ports = ports_by_place(recording.olt_id) if subject in (Subject.ONU, Subject.PORT) else {}
    technologies = _technologies(subject, frame, ports, recording.planned.work.profile)
    frame = replace(frame, technologies=technologies)
    known, computed = _compute(recording, subject, frame, columns, known)
    read = columns.values() if subject is Subject.ONU else None
    last = _last_rates(known, subject, milliseconds(recording.now))
    missing = missing_rates(last, frame.ids, computed.rates, read)
    after = _after(known, recording, subject, frame, computed, missing)
    recording.writes.traffic.append(traffic_row(recording.olt_id, subject, after))
    found = replace(frame, columns={**frame.columns, **computed.rates})
    if after.at != recording.now:
        # Nobody has a rate.
        return found
    if subject is not Subject.ONU:
        return _with_total(found, after)
    if not _counts_at_ports(recording):
        _add_sums_of_ports(recording, found, computed.rates, after, ports)
    return found


def _compute(
    recording: Recording,
    subject: Subject,
    frame: FrameValues,
    columns: Mapping[Counter, array[int]],
    known: KnownTraffic,
) -> tuple[KnownTraffic, RateResult]:
    """Return what is known with the interval, the width and the drops of this collection, and its rates."""
    rules, collection, at = counters(subject), recording.collection, milliseconds(recording.now)
    uptime_s, ages_ms = _uptime_at_end(collection), _ages_of_counters(collection.parts, subject)
    reading = CounterReading(at, uptime_s, array("q", frame.ids), columns, ages_ms)
    interval_s = recording.planned.interval_s or known.interval_s or _USUAL_INTERVAL_S
    has_restarted = _has_restarted(known.snapshots, reading)
    limits = Limits(1000 * interval_s, _line_rates(subject, frame), has_restarted)
    computed = compute_rates(known.snapshots, reading, rules, limits)
    values = sum(len(column) - column.count(NONE) for column in columns.values())
    drops_by_hour = count_drops(known.drops_by_hour, at, values, computed.drops)
    bits = _fewest_bits(columns, rules)
    known = replace(known, interval_s=interval_s, counter_bits=bits, drops_by_hour=drops_by_hour)
    return known, computed


def _technologies(
    subject: Subject, frame: FrameValues, ports: Mapping[str, NamedPort], profile: Profile
) -> list[str]:
    """Return the technology of each ONU or port, or one for all: that of its table, or what the port says."""
    if subject not in (Subject.ONU, Subject.PORT):
        return []
    usual = _only_technology(profile)
    of_tables = [each or usual for each in frame.technologies or [usual]]
    known = {
        each: {place: port_technology(port.name, each) for place, port in ports.items()}
        for each in set(of_tables)
    }
    if all(set(by_place.values()) <= {each} for each, by_place in known.items()):
        return of_tables
    by_number = {port.number: place for place, port in ports.items()}
    of_onus = subject is Subject.ONU
    places = map(_port_of_address, frame.addresses) if of_onus else map(by_number.get, frame.ids)
    each_of_tables = _one_for_each(replace(frame, technologies=of_tables))
    return [known[each].get(place or "", each) for each, place in zip(each_of_tables, places, strict=True)]


def _uptime_at_end(collection: Collection) -> float | None:
    """Return the uptime of the agent when the last part ended; it may have been read in an earlier one."""
    since = 0.0
    for part in reversed(collection.parts):
        if part.uptime_s is not None:
            return part.uptime_s + since
        since += part.seconds
    return collection.uptime_s


def _ages_of_counters(parts: Sequence[PartResult], subject: Subject) -> tuple[int, int]:
    """Return how many milliseconds before the end of the last part the first and the last of the counters of
    this subject were read: the parts that come after them may take long.
    """
    first = last = 0.0
    since, is_last = 0.0, True
    for part in reversed(parts):
        if _has_counters(part, subject):
            first, last = since + part.seconds, since if is_last else last
            is_last = False
        since += part.seconds
    return round(1000 * first), round(1000 * last)


def _has_counters(part: PartResult, subject: Subject) -> bool:
    decoded = part.decoded
    return decoded is not None and any(
        not decoded[entity].columns.keys().isdisjoint(counters(subject)) for entity in ENTITIES[subject]
    )


def _with_total(frame: FrameValues, after: KnownTraffic) -> FrameValues:
    """Return the numbers of ports or uplinks, and those of all together as far as they are known."""
    totals = _totals(after)
    columns = {name: [*values, totals.get(name)] for name, values in frame.columns.items()}
    return replace(frame, ids=[*frame.ids, TOTAL_NUMBER], columns=columns)


def _totals(known: KnownTraffic) -> dict[str, int | None]:
    assert known.total is not None
    return {"in_bps": known.total.in_bps, "out_bps": known.total.out_bps}


def were_read_lately(recording: Recording, entity: Entity, facts: Iterable[str]) -> bool:
    """Return whether some of these are counters that were read within the last three intervals."""
    subject = next((each for each, entities in ENTITIES.items() if entity in entities), None)
    if subject is None or counters(subject).keys().isdisjoint(facts):
        return False
    known = load_traffic(recording.olt_id, subject)
    since = milliseconds(recording.now) - 1000 * MOST_INTERVALS * (known.interval_s or 0)
    readings = (each.reading for each in known.snapshots if each.reading.at >= since)
    read = {counter.fact for reading in readings for counter in reading.columns}
    return not read.isdisjoint(facts)


def _counts_at_ports(recording: Recording) -> bool:
    """Return whether the ports of the OLT have counters of their own: in this collection, or lately."""
    if any(
        (each.olt_id, each.subject) == (recording.olt_id, Subject.PORT) for each in recording.writes.traffic
    ):
        return True
    return were_read_lately(recording, Entity.PORT, counters(Subject.PORT))


def _add_sums_of_ports(
    recording: Recording,
    frame: FrameValues,
    rates: Mapping[str, Rates],
    of_onus: KnownTraffic,
    known_ports: Mapping[str, NamedPort],
) -> None:
    """Store as the traffic of each port what its ONUs have together, and that of all ONUs as the total."""
    olt_id = recording.olt_id
    places = list(map(_port_of_address, frame.addresses))
    sums = {place: each for place, each in sum_by_place(places, rates).items() if place in known_ports}
    ids = [known_ports[place].number for place in sums]
    columns: dict[str, Rates] = {
        name: [*(each[side] for each in sums.values()), total]
        for side, (name, total) in enumerate(_totals(of_onus).items())
    }
    recording.writes.frames += make_frame(olt_id, recording.now, Subject.PORT, [*ids, TOTAL_NUMBER], columns)
    named = dict(zip(places, frame.technologies, strict=False)) if len(frame.technologies) > 1 else {}
    usual = frame.technologies[0] if len(frame.technologies) == 1 else ""
    ports = FrameValues(ids, technologies=[named.get(place, usual) for place in sums])
    of_ports = {name: column[:-1] for name, column in columns.items()}
    known = replace(
        load_traffic(olt_id, Subject.PORT),
        interval_s=of_onus.interval_s,
        counter_bits=_WIDE,
    )
    rates_of_ports = RateResult(of_ports, list(known.snapshots))
    after = _after(known, recording, Subject.PORT, ports, rates_of_ports, of_onus.missing)
    # What is missing are ONUs, which the row of the ONUs has.
    after = replace(after, missing=())
    recording.writes.traffic.append(traffic_row(olt_id, Subject.PORT, after))


@lru_cache(maxsize=1 << 16)
def _port_of_address(address: str | None) -> str | None:
    """Return the port of a place such as 0/1/7:3. The places of OLTs are much the same."""
    found = re.match(r"[^: ]+(?=[: ])", address or "")
    return found and found.group()


def _counter_columns(frame: FrameValues, known: Mapping[str, RateRule]) -> dict[Counter, array[int]]:
    found: dict[Counter, array[int]] = {}
    for fact in known:
        if fact in frame.columns:
            found |= _by_width(fact, frame.columns[fact])
    return found


def _fewest_bits(columns: Mapping[Counter, array[int]], known: Mapping[str, RateRule]) -> int:
    return min((counter.bits for counter in columns if known[counter.fact].of_octets), default=_WIDE)


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


def _line_rates(subject: Subject, frame: FrameValues) -> dict[str, int | Sequence[int]]:
    """Return by counter what its subjects can move: the line rate of their PON, or their speed."""
    match subject:
        case Subject.UPLINK:
            rates = [uplink_rate(each) for each in frame.speeds_mbps]
        case Subject.PART:
            # A board has many PONs: no more than the fastest uplink passes through it.
            rates = [uplink_rate(None)]
        case _:
            rates = _rates_of_pons(frame)
    found: dict[str, int | Sequence[int]] = {}
    for fact, rule in counters(subject).items():
        side = DIRECTIONS.get(rule.rate)
        each = [max(rate) if side is None else rate[side] for rate in rates]
        found[fact] = each[0] if len(set(each)) == 1 else each
    return found


def _rates_of_pons(frame: FrameValues) -> list[LineRate]:
    """Return the line rates of PONs. A port without a technology may be a faster one than any PON."""
    if not any(frame.speeds_mbps):
        return [line_rate(each) for each in frame.technologies]
    return [
        max(line_rate(technology), uplink_rate(speed)) if speed and not technology else line_rate(technology)
        for technology, speed in zip(_one_for_each(frame), frame.speeds_mbps, strict=True)
    ]


def _one_for_each(frame: FrameValues) -> list[str]:
    """Return the technology of each id."""
    technologies = frame.technologies or [""]
    return technologies * len(frame.ids) if len(technologies) == 1 else technologies


def _only_technology(profile: Profile) -> str:
    """Return the technology of a family that has only one, also where its table does not say it."""
    known = {table.technology for table in profile.tables if table.technology}
    return known.pop() if len(known) == 1 else ""


def _has_restarted(before: Sequence[Snapshot], reading: CounterReading) -> bool:
    """Return whether the OLT has started since one of the readings before; not all know the uptime."""
    return any(_has_restarted_since(each.reading, reading) for each in before)


def _has_restarted_since(last: CounterReading, reading: CounterReading) -> bool:
    if last.uptime_s is None or reading.uptime_s is None:
        return False
    then, now = (TimeTicks(int(each * _TICKS_PER_S)) for each in (last.uptime_s, reading.uptime_s))
    return restarted(then, now, (reading.at - last.at) / 1000)


def _after(
    known: KnownTraffic,
    recording: Recording,
    subject: Subject,
    frame: FrameValues,
    computed: RateResult,
    missing: Sequence[LastRate],
) -> KnownTraffic:
    drops = Drops()
    drops.add(known.drops)
    drops.add(computed.drops)
    after = replace(known, drops=drops, snapshots=computed.snapshots)
    if _are_interfaces(recording, subject):
        return replace(after, at=None, total=None, ports={}, peaks=(), missing=())
    total = sum_traffic(milliseconds(recording.now), frame.ids, computed.rates)
    if total is None:
        return after
    ports: dict[int, PortRates] = {}
    if subject is not Subject.ONU:
        of_onus = _technologies_of_onus(recording.olt_id, frame) if subject is Subject.PORT else {}
        ports = _rates_of_ports(frame, of_onus, computed.rates)
    complete = without_missing(total, missing)
    peaks = keep_peaks(known.peaks, total) if complete == total else known.peaks
    return replace(after, at=recording.now, total=complete, ports=ports, peaks=peaks, missing=missing)


def _last_rates(known: KnownTraffic, subject: Subject, at: int) -> list[LastRate]:
    """Return the last rates of ports, of uplinks, or of the ONUs with the highest; none of long ago."""
    if known.total is None or known.interval_s is None:
        return []
    rates = known.total.top
    if subject is not Subject.ONU:
        rates = [TopRate(number, *sides) for number, (*sides, _) in known.ports.items()]
    last = [
        *known.missing,
        *(
            LastRate(number, side, known.total.at, bps)
            for number, *sides in rates
            for side, bps in enumerate(sides)
            if bps
        ),
    ]
    return [each for each in last if at - each.at <= 1000 * MOST_INTERVALS * known.interval_s]


def _are_interfaces(recording: Recording, subject: Subject) -> bool:
    """Return whether the ports are all interfaces of a device, and no PONs.

    They are not added up: what goes through a port counts in its LAG and its VLAN too.
    """
    return subject is Subject.PORT and recording.planned.work.profile.name == GENERIC


def _technologies_of_onus(olt_id: int, frame: FrameValues) -> Mapping[int, str]:
    """Return by id the technology of the ONUs of ports, if neither tables nor names say that of all ports."""
    if all(_one_for_each(frame)):
        return {}
    ports = ports_by_place(olt_id)
    found = technologies_of_ports(olt_id).items()
    return {ports[place].number: technology for place, technology in found if place in ports}


def _rates_of_ports(
    frame: FrameValues, of_onus: Mapping[int, str], rates: Mapping[str, Rates]
) -> dict[int, PortRates]:
    ids = frame.ids
    received, sent = (rates.get(name, [None] * len(ids)) for name in ("in_bps", "out_bps"))
    rows = zip(ids, received, sent, _one_for_each(frame), strict=True)
    return {
        number: (whole_rate(one), whole_rate(other), technology or of_onus.get(number, ""))
        for number, one, other, technology in rows
        if one is not None or other is not None
    }
