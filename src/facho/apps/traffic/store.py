"""Stores the last counters of an OLT, and the traffic that they show, in the transaction of a collection."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.core.counter_blob import decode_snapshots, encode_snapshots
from facho.core.history_facts import Damaged
from facho.core.rates import Drops, Snapshot
from facho.core.traffic import DropsOfHour, LastRate, TrafficTotal

log = logging.getLogger(__name__)


# What a port receives and sends, None where it has no rate, and its technology.
PortRates = tuple[int | None, int | None, str]


@dataclass(frozen=True, slots=True)
class KnownTraffic:
    """The stored traffic of the ONUs, of the ports or of the uplinks of an OLT."""

    interval_s: int | None = None
    at: datetime | None = None
    total: TrafficTotal | None = None
    ports: Mapping[int, PortRates] = field(default_factory=dict)
    peaks: Sequence[TrafficTotal] = ()
    drops: Drops = field(default_factory=Drops)
    # The hours of the last day.
    drops_by_hour: Sequence[DropsOfHour] = ()
    snapshots: Sequence[Snapshot] = ()
    missing: Sequence[LastRate] = ()
    # The fewest bits of the last counters of octets.
    counter_bits: int = 64


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """A row to write, with the values as the columns hold them."""

    olt_id: int
    subject: str
    at: datetime | None
    interval_s: int
    in_bps: int | None
    out_bps: int | None
    counter_bits: int
    over: int
    resets: int
    gaps: int
    top: str
    ports: str
    peaks: str
    missing: str
    drops_by_hour: str
    counters: bytes


def load_traffic(olt_id: int, subject: str) -> KnownTraffic:
    """Return what is stored. Counters that cannot be read are none: the next rates begin anew."""
    found = sql.fetch_with_blobs(_KNOWN, [olt_id, subject])
    if not found:
        return KnownTraffic()
    at, interval_s, in_bps, out_bps, counter_bits, over, resets, gaps, *texts, counters = found[0]
    top, ports, peaks, missing, drops_by_hour = texts
    moment = None if at is None else sql.parse_time(at)
    return KnownTraffic(
        interval_s,
        moment,
        None if moment is None else _read_total(moment, in_bps, out_bps, top),
        {int(number): tuple(rates) for number, rates in json.loads(ports).items()},
        [TrafficTotal.from_json(each) for each in json.loads(peaks)],
        Drops(over, resets, gaps),
        read_drops(drops_by_hour),
        _read_counters(olt_id, bytes(counters)),
        [LastRate(*each) for each in json.loads(missing)],
        counter_bits,
    )


_KNOWN: Final = (
    "SELECT at, interval_s, in_bps, out_bps, counter_bits, over, resets, gaps,"
    " top, ports, peaks, missing, drops_by_hour, counters"
    " FROM olt_traffic WHERE olt_id = %s AND subject = %s"
)


def _read_total(at: datetime, in_bps: int | None, out_bps: int | None, top: str) -> TrafficTotal:
    return TrafficTotal.from_json([round(1000 * at.timestamp()), in_bps, out_bps, json.loads(top)])


def read_drops(text: str) -> list[DropsOfHour]:
    return [DropsOfHour(*each) for each in json.loads(text)]


def _read_counters(olt_id: int, data: bytes) -> list[Snapshot]:
    try:
        return decode_snapshots(data)
    except Damaged as error:
        log.error(
            "counters lost", extra={"action": "counters_damaged", "olt_id": olt_id, "error": str(error)}
        )
        return []


def traffic_row(olt_id: int, subject: str, known: KnownTraffic) -> TrafficRow:
    assert known.interval_s is not None
    total = known.total
    return TrafficRow(
        olt_id,
        subject,
        known.at,
        known.interval_s,
        None if total is None else total.in_bps,
        None if total is None else total.out_bps,
        known.counter_bits,
        known.drops.over,
        known.drops.resets,
        known.drops.gaps,
        _json([] if total is None else [list(each) for each in total.top]),
        _json(known.ports),
        _json([each.as_json() for each in known.peaks]),
        _json(known.missing),
        _json(known.drops_by_hour),
        encode_snapshots(known.snapshots),
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def upsert_traffic(rows: Sequence[TrafficRow]) -> None:
    """Write the rows, in the order of the OLTs: two transactions that write several wait for no cycle."""
    if not rows:
        return
    values = [
        [sql.db_time(each) if isinstance(each, datetime) else each for each in _values(row)]
        for row in sorted(rows, key=lambda row: (row.olt_id, row.subject))
    ]
    if is_embedded():
        for row in values:
            sql.execute_prepared(_upsert_statement(), row)
    else:
        sql.execute_prepared(_upsert_statement(), list(map(list, zip(*values, strict=True))))


def _values(row: TrafficRow) -> list[Any]:
    return [getattr(row, name) for name in _COLUMNS]


_COLUMNS: Final = tuple(each.name for each in fields(TrafficRow))
_TYPES: Final = (
    "bigint", "text", "timestamptz", "integer", *["bigint"] * 2, "smallint", *["bigint"] * 3, *["text"] * 5,
    "bytea",
)  # fmt: skip


@cache
def _upsert_statement() -> str:
    columns = ", ".join(_COLUMNS)
    if is_embedded():
        given = f"VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
    else:
        given = f"SELECT * FROM unnest({', '.join(f'%s::{each}[]' for each in _TYPES)})"  # noqa: S608
    sets = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:])
    return f"INSERT INTO olt_traffic ({columns}) {given} ON CONFLICT (olt_id, subject) DO UPDATE SET {sets}"
