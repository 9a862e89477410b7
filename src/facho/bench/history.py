"""What the history of numbers costs: to keep, in bytes, and to read for a chart.

A month of one large OLT. A few of its ports are made sample by sample, and charts are read from those. The
other ports get the hours of these again, so that tables and indexes are as large as they would be.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from facho.bench.own_system import own_system
from facho.bench.scheduler import Spread

if TYPE_CHECKING:
    from facho.apps.discovery.models import Onu

FACTS: Final = ("onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c")
EVERY: Final = timedelta(minutes=5)
PER_PORT: Final = 64
_PER_SLOT: Final = 16
_HOUR: Final = timedelta(hours=1)
# Where each fact lies, from the lowest ONU to the highest.
_RANGES: Final = {
    "onu_rx_dbm": (-27.0, -15.0),
    "onu_tx_dbm": (1.5, 3.5),
    "olt_rx_dbm": (-29.0, -17.0),
    "temperature_c": (35.0, 60.0),
}
# How much a reading shakes, of each ONU in its own way; and how much the thing itself moves between two.
_JITTER: Final = (0.1, 0.3)
_DRIFT: Final = 0.02
_OFFLINE: Final = 0.03
# The last ones go the whole way: each collection is appended, each hour closed. One more stays open.
_REAL_HOURS: Final = 5
_SEED: Final = 1

Note = Callable[[str], None]
Columns = dict[str, list[float | None]]


@dataclass(frozen=True, slots=True)
class Work:
    onus: int = 4000
    days: int = 30
    # Made sample by sample.
    ports: int = 4
    reads: int = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """Of doing something many times, in milliseconds: by the clock, and of our own CPU."""

    ms: Spread
    cpu_ms: Spread

    @classmethod
    def of(cls, doings: Iterable[Callable[[], object]]) -> Cost:
        clock, cpu = [], []
        for do in doings:
            began, cpu_began = time.perf_counter(), time.process_time()
            do()
            cpu.append(1000 * (time.process_time() - cpu_began))
            clock.append(1000 * (time.perf_counter() - began))
        return cls(Spread.of(clock), Spread.of(cpu))

    def as_json(self, name: str) -> dict[str, float]:
        return {**self.ms.as_json(f"{name}_ms", 2), **self.cpu_ms.as_json(f"{name}_cpu_ms", 2)}


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    rows: int
    samples: int
    database_bytes: int
    append: Cost
    close: Cost
    month: Cost
    both_powers: Cost
    port_day: Cost

    @property
    def bytes_per_sample(self) -> float:
        return self.database_bytes / self.samples

    def as_json(self) -> dict[str, Any]:
        return {
            "database": self.database,
            "onus": self.work.onus,
            "days": self.work.days,
            "ports_made_in_full": self.work.ports,
            "rows": self.rows,
            "samples": self.samples,
            "bytes_per_sample": round(self.bytes_per_sample, 3),
            **self.append.as_json("append"),
            **self.close.as_json("close"),
            **self.month.as_json("onu_month"),
            **self.both_powers.as_json("onu_month_both_powers"),
            **self.port_day.as_json("port_day"),
        }


class Optics:
    """Readings of so many ONUs that never stand still. A few have none: they are off."""

    def __init__(self, onus: int, noise: random.Random) -> None:
        self._noise = noise
        self._jitter = [noise.uniform(*_JITTER) for _ in range(onus)]
        self._off = [noise.random() < _OFFLINE for _ in range(onus)]
        self._centres = {
            fact: [noise.uniform(low, high) for _ in range(onus)] for fact, (low, high) in _RANGES.items()
        }

    def collections(self) -> Iterator[Columns]:
        while True:
            yield {fact: self._read(fact) for fact in FACTS}

    def _read(self, fact: str) -> list[float | None]:
        gauss, centres = self._noise.gauss, self._centres[fact]
        self._centres[fact] = [centre + gauss(0.0, _DRIFT) for centre in centres]
        return [
            None if off else centre + gauss(0.0, jitter)
            for centre, jitter, off in zip(centres, self._jitter, self._off, strict=True)
        ]


def measure(work: Work, database_url: str, note: Note) -> Result:
    with own_system(database_url):
        return _Month(work, note).measure()


class _Month:
    def __init__(self, work: Work, note: Note) -> None:
        self._work = work
        self._note = note
        self._noise = random.Random(_SEED)
        self._start = datetime(2026, 1, 1, tzinfo=UTC)
        self._end = self._start + timedelta(days=work.days)
        self._olt_id, self._onus = _make_onus(work.onus)
        self._ids = [onu.pk for onu in self._onus]

    def measure(self) -> Result:
        from django.db import connection

        from facho.apps.history.models import HistoryHour

        before = _database_bytes()
        samples = self._fill()
        hours = [self._end - number * _HOUR for number in range(_REAL_HOURS + 1, 0, -1)]
        optics = Optics(len(self._onus), self._noise).collections()
        collections = {hour + turn * EVERY: next(optics) for hour in hours for turn in range(_HOUR // EVERY)}
        self._note("appending collections and closing hours")
        append = Cost.of(partial(self._append, *each) for each in collections.items())
        close = Cost.of(partial(self._close, hour) for hour in hours[:-1])
        size = _database_bytes() - before
        _settle()
        return Result(
            self._work,
            connection.vendor,
            HistoryHour.objects.count(),
            samples + sum(_values_in(each) for at, each in collections.items() if at < hours[-1]),
            size,
            append,
            close,
            self._read_months(["onu_rx_dbm"]),
            self._read_months(["onu_rx_dbm", "olt_rx_dbm"]),
            self._read_port_days(),
        )

    @property
    def _made(self) -> Sequence[Onu]:
        """The ONUs of the ports that are made sample by sample."""
        return self._onus[: self._work.ports * PER_PORT]

    def _fill(self) -> int:
        """All hours but the last ones. How many values are in them."""
        optics = Optics(len(self._made), self._noise).collections()
        hour, until, samples = self._start, self._end - (_REAL_HOURS + 1) * _HOUR, 0
        while hour < until:
            if not hour.hour:
                self._note(f"filling {hour:%d.%m.%Y}")
            samples += self._fill_hour(hour, islice(optics, _HOUR // EVERY))
            hour += _HOUR
        return samples

    def _fill_hour(self, hour: datetime, collections: Iterator[Columns]) -> int:
        from facho.apps.db import sql
        from facho.apps.history.models import HistoryHour, Subject

        told = list(collections)
        sheets = _sheets(hour, self._made, told)
        found = list(sheets.values())
        ports = sorted({_place(onu) for onu in self._onus})
        rows = [
            HistoryHour(
                olt_id=self._olt_id,
                subject=Subject.ONU,
                place=place,
                hour=hour,
                data=sheets.get(place) or found[number % len(found)],
            )
            for number, place in enumerate(ports)
        ]
        with sql.write_transaction():
            HistoryHour.objects.bulk_create(rows)
        return round(sum(map(_values_in, told)) * len(self._onus) / len(self._made))

    def _append(self, at: datetime, columns: Columns) -> None:
        from facho.apps.db import sql
        from facho.apps.history.store import append_frame

        with sql.write_transaction():
            append_frame(self._olt_id, at, "onu", self._ids, columns)

    def _close(self, hour: datetime) -> None:
        from facho.apps.history.store import close_hours

        assert close_hours(hour + _HOUR, grace=timedelta(), most=1) == 1

    def _read_months(self, facts: Sequence[str]) -> Cost:
        self._note(f"reading {' and '.join(facts)}")
        onus = self._noise.choices(self._made, k=self._work.reads)
        return Cost.of(partial(self._read_month, onu.pk, facts) for onu in onus)

    def _read_month(self, onu: int, facts: Sequence[str]) -> None:
        from facho.apps.discovery.models import Onu
        from facho.apps.history.selectors import onu_series

        _forget()
        series = onu_series(Onu.objects.get(pk=onu), facts, self._start, self._end)
        assert len(series.times) == self._work.days * 24 * (_HOUR // EVERY), (
            "a month with holes is read sooner"
        )

    def _read_port_days(self) -> Cost:
        onus = self._noise.choices(self._made, k=max(1, self._work.reads // 10))
        return Cost.of(partial(self._read_port_day, _place(onu)) for onu in onus)

    def _read_port_day(self, place: str) -> None:
        from facho.apps.history.selectors import port_series

        _forget()
        found = port_series(self._olt_id, place, ["onu_rx_dbm"], self._end - timedelta(days=1), self._end)
        assert found


def fill_history(onus: Sequence[Onu], until: int, days: int) -> None:
    """Of ONUs of one OLT, every five minutes up to the last full hour before `until`."""
    from facho.apps.db import sql
    from facho.apps.history.models import HistoryHour, Subject

    end = datetime.fromtimestamp(until, UTC).replace(minute=0, second=0, microsecond=0)
    optics = Optics(len(onus), random.Random(_SEED)).collections()
    rows = [
        HistoryHour(olt_id=onus[0].olt_id, subject=Subject.ONU, place=place, hour=hour, data=data)
        for hour in (end - number * _HOUR for number in range(24 * days, 0, -1))
        for place, data in _sheets(hour, onus, islice(optics, _HOUR // EVERY)).items()
    ]
    with sql.write_transaction():
        HistoryHour.objects.bulk_create(rows, batch_size=500)


def _sheets(hour: datetime, onus: Sequence[Onu], collections: Iterable[Columns]) -> dict[str, bytes]:
    """By place, a closed hour of what was collected."""
    from facho.apps.history.times import milliseconds
    from facho.core.frames import read_sheet, write_frame
    from facho.core.hours import by_place

    ids = [onu.pk for onu in onus]
    frames = [
        write_frame(milliseconds(hour + turn * EVERY), ids, columns)
        for turn, columns in enumerate(collections)
    ]
    return dict(by_place([read_sheet(frame) for frame in frames], {onu.pk: _place(onu) for onu in onus}))


def _make_onus(count: int) -> tuple[int, list[Onu]]:
    from facho.apps.discovery.models import Onu
    from facho.apps.hosts.credentials import Credentials
    from facho.apps.hosts.models import Brand, Olt

    olt = Olt(name="bench", brand=Brand.objects.get(name="generic"), address="192.0.2.1")
    olt.credentials = Credentials(community="public")
    olt.save()
    seen = datetime(2026, 1, 1, tzinfo=UTC)
    ports = (divmod(number // PER_PORT, _PER_SLOT) for number in range(count))
    onus = [
        Onu(
            olt=olt,
            address=f"0/{slot}/{port}:{number % PER_PORT}",
            frame=0,
            slot=slot,
            port=port,
            onu_id=number % PER_PORT,
            first_seen=seen,
            last_seen=seen,
        )
        for number, (slot, port) in enumerate(ports)
    ]
    Onu.objects.bulk_create(onus, batch_size=1000)
    return olt.pk, list(Onu.objects.filter(olt=olt).order_by("id"))


def _place(onu: Onu) -> str:
    return f"{onu.frame}/{onu.slot}/{onu.port}"


def _values_in(columns: Columns) -> int:
    return sum(len(column) - column.count(None) for column in columns.values())


def _forget() -> None:
    """What is remembered of the read before: a person opens another page."""
    from facho.core import frames

    frames._ids.cache_clear()


def _database_bytes() -> int:
    """Of all tables and indexes: pages that are in use."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_total_relation_size('onu_history')")
            return int(cursor.fetchone()[0])
        numbers = {}
        for name in ("page_count", "freelist_count", "page_size"):
            cursor.execute(f"PRAGMA {name}")
            numbers[name] = int(cursor.fetchone()[0])
    return (numbers["page_count"] - numbers["freelist_count"]) * numbers["page_size"]


def _settle() -> None:
    """What a database does by itself, before it is asked."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE onu_history")
