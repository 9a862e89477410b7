"""Measure what the history of numbers costs: to keep, in bytes, and to read for a chart.

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
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from bench.harness import AsJson, DatabaseUrl, Note, Spread, run_benchmark, table_of_numbers
from bench.optics import EVERY, HOUR, PER_PORT, Columns, Optics, encode_hour, place_of
from bench.private_system import private_system
from bench.rates import Rates

if TYPE_CHECKING:
    from facho.apps.discovery.models import Onu

_PER_SLOT: Final = 16
# The last ones go the whole way: each collection is appended, each hour closed. One more stays open.
_REAL_HOURS: Final = 5
# Of traffic.
_RATE_HOURS: Final = 24
_SEED: Final = 1

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench history`  a month of 4,000 ONUs on SQLite: bytes a sample, and how quickly charts are read

`facho bench history --json`  `bytes_per_sample`, `onu_month_ms_p95`, `append_ms_p50`, `close_ms_p50`

`facho bench history --ports 63`  with every port made sample by sample, which takes some minutes
"""


@dataclass(frozen=True, slots=True)
class Work:
    onus: int = 4000
    days: int = 30
    # Made sample by sample.
    ports: int = 4
    reads: int = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of an operation done many times: by the clock, and of our own CPU."""

    ms: Spread
    cpu_ms: Spread

    @classmethod
    def of(cls, operations: Iterable[Callable[[], object]]) -> Cost:
        clock, cpu = [], []
        for operation in operations:
            began, cpu_began = time.perf_counter(), time.process_time()
            operation()
            cpu.append(1000 * (time.process_time() - cpu_began))
            clock.append(1000 * (time.perf_counter() - began))
        return cls(Spread.of(clock), Spread.of(cpu))

    def as_json(self, name: str) -> dict[str, float]:
        return {**self.ms.as_json(f"{name}_ms", 2), **self.cpu_ms.as_json(f"{name}_cpu_ms", 2)}


@dataclass(frozen=True, slots=True)
class RateCost:
    """A day of the rates of all ONUs, both ways: the size of closed hours, and the work of a collection."""

    samples: int
    database_bytes: int
    append: Cost

    @property
    def bytes_per_sample(self) -> float:
        return self.database_bytes / self.samples


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
    # Of the rates of ONUs.
    rates: RateCost

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
            "bytes_per_rate_sample": round(self.rates.bytes_per_sample, 3),
            **self.rates.append.as_json("append_rates"),
        }

    def print(self) -> None:
        work = self.work
        title = f"{work.onus:,} ONUs, 4 facts every 5 minutes, {work.days} days, {self.database}"
        table = table_of_numbers(title, "what", "how many", "p50", "p95", "largest", "our CPU, p50")
        for what, cost in (
            ("read one ONU's power", self.month),
            ("read both its powers", self.both_powers),
            ("read a port's last day", self.port_day),
            ("append a collection", self.append),
            ("append the rates of a collection", self.rates.append),
            ("close an hour", self.close),
        ):
            numbers = (cost.ms.p50, cost.ms.p95, cost.ms.largest, cost.cpu_ms.p50)
            table.add_row(what, f"{cost.ms.count:,}", *(f"{number:,.1f} ms" for number in numbers))
        console = Console()
        console.print(table)
        console.print(
            f"{self.bytes_per_sample:.2f} bytes a sample in the database, with its indexes: {self.samples:,} "
            f"samples in {self.rows:,} rows. {work.ports} ports were made sample by sample, and read from; "
            f"the others have copies of their hours."
        )
        console.print(
            f"{self.rates.bytes_per_sample:.2f} bytes a sample of the traffic of ONUs: "
            f"{self.rates.samples:,} samples."
        )


@app.command(epilog=_EXAMPLES)
def history(
    onus: Annotated[int, typer.Option(min=64, help="ONUs of the OLT.")] = 4000,
    days: Annotated[int, typer.Option(min=1, help="Days of history, a collection every 5 minutes.")] = 30,
    ports: Annotated[
        int, typer.Option(min=1, help="Ports that are made sample by sample; the others get copies of these.")
    ] = 4,
    reads: Annotated[int, typer.Option(min=1, help="Charts to read.")] = 200,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Keep a month of one large OLT's numbers, and read charts from it."""
    run_benchmark(lambda note: measure(Work(onus, days, ports, reads), database_url, note), as_json=as_json)


def measure(work: Work, database_url: str, note: Note) -> Result:
    with private_system(database_url):
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
        hours = [self._end - number * HOUR for number in range(_REAL_HOURS + 1, 0, -1)]
        optics = Optics(len(self._onus), self._noise).collections()
        collections = {hour + turn * EVERY: next(optics) for hour in hours for turn in range(HOUR // EVERY)}
        self._note("appending collections and closing hours")
        append = Cost.of(partial(self._append, *each) for each in collections.items())
        close = Cost.of(partial(self._close, hour) for hour in hours[:-1])
        size = _database_bytes() - before
        _analyze()
        return Result(
            self._work,
            connection.vendor,
            HistoryHour.objects.count(),
            samples + sum(_count_values(each) for at, each in collections.items() if at < hours[-1]),
            size,
            append,
            close,
            self._read_months(["onu_rx_dbm"]),
            self._read_months(["onu_rx_dbm", "olt_rx_dbm"]),
            self._read_port_days(),
            self._measure_rates(),
        )

    @property
    def _made(self) -> Sequence[Onu]:
        """The ONUs of the ports that are made sample by sample."""
        return self._onus[: self._work.ports * PER_PORT]

    def _fill(self) -> int:
        """Store all hours but the last ones; return the number of their values."""
        optics = Optics(len(self._made), self._noise).collections()
        hour, until, samples = self._start, self._end - (_REAL_HOURS + 1) * HOUR, 0
        while hour < until:
            if not hour.hour:
                self._note(f"filling {hour:%d.%m.%Y}")
            samples += self._fill_hour(hour, islice(optics, HOUR // EVERY))
            hour += HOUR
        return samples

    def _fill_hour(self, hour: datetime, collections: Iterator[Columns]) -> int:
        from facho.apps.db import sql
        from facho.apps.history.models import HistoryHour, Subject

        hour_columns = list(collections)
        sheets = encode_hour(hour, self._made, hour_columns)
        found = list(sheets.values())
        ports = sorted({place_of(onu) for onu in self._onus})
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
        return round(sum(map(_count_values, hour_columns)) * len(self._onus) / len(self._made))

    def _append(self, at: datetime, columns: Columns) -> None:
        from facho.apps.db import sql
        from facho.apps.history.store import append_frame

        with sql.write_transaction():
            append_frame(self._olt_id, at, "onu", self._ids, columns)

    def _close(self, hour: datetime) -> None:
        from facho.apps.history.store import close_hours

        assert close_hours(hour + HOUR, grace=timedelta(), most=1) == 1

    def _measure_rates(self) -> RateCost:
        """Store a day of rates in closed hours, and some collections of it."""
        self._note("filling a day of traffic")
        before, samples = _database_bytes(), 0
        traffic = Rates(len(self._made))
        first = self._end + timedelta(days=1)
        for number in range(_RATE_HOURS):
            hour = first + number * HOUR
            samples += self._fill_hour(hour, traffic.collections(hour))
        size = _database_bytes() - before
        hour = first + _RATE_HOURS * HOUR
        collections = enumerate(Rates(len(self._onus)).collections(hour))
        append = Cost.of(partial(self._append, hour + turn * EVERY, each) for turn, each in collections)
        return RateCost(samples, size, append)

    def _read_months(self, facts: Sequence[str]) -> Cost:
        self._note(f"reading {' and '.join(facts)}")
        onus = self._noise.choices(self._made, k=self._work.reads)
        return Cost.of(partial(self._read_month, onu.pk, facts) for onu in onus)

    def _read_month(self, onu: int, facts: Sequence[str]) -> None:
        from facho.apps.discovery.models import Onu
        from facho.apps.history.selectors import onu_series

        _clear_cache()
        series = onu_series(Onu.objects.get(pk=onu), facts, self._start, self._end)
        assert len(series.times) == self._work.days * 24 * (HOUR // EVERY), (
            "a month with holes is read sooner"
        )

    def _read_port_days(self) -> Cost:
        onus = self._noise.choices(self._made, k=max(1, self._work.reads // 10))
        return Cost.of(partial(self._read_port_day, place_of(onu)) for onu in onus)

    def _read_port_day(self, place: str) -> None:
        from facho.apps.history.selectors import port_series

        _clear_cache()
        found = port_series(self._olt_id, place, ["onu_rx_dbm"], self._end - timedelta(days=1), self._end)
        assert found


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


def _count_values(columns: Columns) -> int:
    return sum(len(column) - column.count(None) for column in columns.values())


def _clear_cache() -> None:
    """Forget the read before, as when a person opens another page."""
    from facho.core import frames

    frames._ids.cache_clear()


def _database_bytes() -> int:
    """Return the size of all tables and indexes."""
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


def _analyze() -> None:
    """Do what a database does by itself after so many rows."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE onu_history")
