"""The traffic of OLTs, stored as a collection stores it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from facho.apps.history.models import Subject
from facho.apps.history.store import insert_past_frames, make_frame, milliseconds
from facho.apps.traffic.store import KnownTraffic, TrafficRow, traffic_row, upsert_traffic
from facho.core.rates import Drops
from facho.core.traffic import TopRate, TrafficTotal

MBIT = 1_000_000
INTERVAL_S = 300


def traffic_of(
    olt_id: int,
    subject: str,
    at: datetime,
    rates: Mapping[int, tuple[int | None, int | None]],
    *,
    counter_bits: int = 64,
    peak_at: datetime | None = None,
    drops: Drops | None = None,
) -> TrafficRow:
    """Return a row: by the id of each ONU, port or uplink, what the OLT receives and sends.

    The total is not known in a direction in which one of them has no rate.

    With `peak_at` everything was twice as much then.
    """
    total = _total(at, rates)
    doubled = {number: (2 * (received or 0), 2 * (sent or 0)) for number, (received, sent) in rates.items()}
    peaks = [*([] if peak_at is None else [_total(peak_at, doubled)]), total]
    ports = {} if subject == Subject.ONU else {number: (*sides, "gpon") for number, sides in rates.items()}
    known = KnownTraffic(INTERVAL_S, at, total, ports, peaks, drops or Drops(), counter_bits=counter_bits)
    return traffic_row(olt_id, subject, known)


def add_traffic(*rows: TrafficRow) -> None:
    upsert_traffic(rows)


def _total(at: datetime, rates: Mapping[int, tuple[int | None, int | None]]) -> TrafficTotal:
    top = sorted((TopRate(number, *sides) for number, sides in rates.items()), key=lambda rate: -rate.total)
    received, sent = (_sum([sides[side] for sides in rates.values()]) for side in (0, 1))
    return TrafficTotal(milliseconds(at), received, sent, top[:20])


def _sum(rates: Sequence[int | None]) -> int | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def add_history(
    olt_id: int,
    subject: str,
    facts: Sequence[str],
    samples: Mapping[datetime, Mapping[int, tuple[float, float]]],
    now: datetime,
) -> None:
    """Store collections of two facts of each ONU, port or uplink, with the hours that are over closed."""
    frames = []
    for at, values in samples.items():
        columns = {fact: [sides[place] for sides in values.values()] for place, fact in enumerate(facts)}
        frames += make_frame(olt_id, at, subject, list(values), columns)
    insert_past_frames(frames, now)


def every_five_minutes(since: datetime, until: datetime) -> list[datetime]:
    count = int((until - since) / timedelta(seconds=INTERVAL_S))
    return [since + number * timedelta(seconds=INTERVAL_S) for number in range(count)]
