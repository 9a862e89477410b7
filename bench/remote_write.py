"""Measure the sender of remote write: how many samples it encodes and sends in a second of its CPU.

OLTs with ONUs of eight facts collect every minute. The sender reads their collections from the database, and
sends them to a receiver of this process that takes everything, or to a real one.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from bench.harness import AsJson, DatabaseUrl, Note, run_benchmark, table_of_numbers
from bench.private_system import private_system

if TYPE_CHECKING:
    from facho.config import Config
    from facho.engine.remote_write.sender import Sender

_SEED: Final = 1
_EVERY: Final = timedelta(minutes=1)
_PER_PORT: Final = 128
_FACTS: Final = {
    "onu_rx_dbm": (-28.0, -15.0),
    "onu_tx_dbm": (1.0, 4.0),
    "olt_rx_dbm": (-30.0, -18.0),
    "temperature_c": (30.0, 60.0),
    "voltage_v": (3.2, 3.4),
    "bias_ma": (5.0, 30.0),
    "up_bps": (0.0, 5e6),
    "down_bps": (0.0, 9e7),
}
_EXAMPLES: Final = """
**Examples**

`facho bench remote-write`  20 OLTs with 1,000 ONUs of eight facts: samples for a second of CPU

`facho bench remote-write --url http://127.0.0.1:9090/api/v1/write`  to a Prometheus that is running
"""

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Work:
    olts: int = 20
    onus: int = 1000
    minutes: int = 5
    url: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    samples: int
    requests: int
    octets: int
    cpu_s: float
    seconds: float

    @property
    def samples_per_cpu_s(self) -> float:
        return self.samples / self.cpu_s

    def as_json(self) -> dict[str, Any]:
        return {
            "database": self.database,
            "olts": self.work.olts,
            "onus_per_olt": self.work.onus,
            "samples": self.samples,
            "requests": self.requests,
            "bytes_per_sample": round(self.octets / self.samples, 1) if self.octets else None,
            "samples_per_cpu_s": round(self.samples_per_cpu_s),
            "samples_per_s": round(self.samples / self.seconds),
        }

    def print(self) -> None:
        work = self.work
        title = f"{work.olts} OLTs of {work.onus:,} ONUs with 8 facts, {self.database}"
        table = table_of_numbers(title, "what", "number")
        for what, text in (
            ("samples sent", f"{self.samples:,}"),
            ("for a second of our CPU", f"{self.samples_per_cpu_s:,.0f}"),
            ("in a second by the clock", f"{self.samples / self.seconds:,.0f}"),
            ("bytes a sample", f"{self.octets / self.samples:.1f}" if self.octets else "-"),
        ):
            table.add_row(what, text)
        console = Console()
        console.print(table)
        most = self.samples / self.seconds * _EVERY.total_seconds() / len(_FACTS)
        console.print(f"With 8 facts a minute that is {most:,.0f} ONUs for one connection of a sender.")


@app.command(name="remote-write", epilog=_EXAMPLES)
def remote_write(
    olts: Annotated[int, typer.Option(min=1, help="OLTs.")] = 20,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of each.")] = 1000,
    minutes: Annotated[int, typer.Option(min=1, max=30, help="Collections of each.")] = 5,
    url: Annotated[str, typer.Option(help="A receiver; one of this process if not given.")] = "",
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Send the numbers of a fleet by remote write."""
    work = Work(olts, onus, minutes, url)
    run_benchmark(lambda note: measure(work, database_url, note), as_json=as_json)


def measure(work: Work, database_url: str, note: Note) -> Result:
    with _receiving(work.url) as (url, taken), private_system(database_url, remote_write_url=url) as config:
        return _measure(work, config, taken, note)


@dataclass(slots=True)
class _Taken:
    """What the receiver of this process took, and its own CPU."""

    requests: int = 0
    octets: int = 0
    cpu_s: float = 0.0


def _measure(work: Work, config: Config, taken: _Taken, note: Note) -> Result:
    from django.db import connection

    from facho.apps.db.database import database_now
    from facho.apps.remote_write.selectors import read_remote_write
    from facho.engine.remote_write.sender import LabelCache, ReceiverState, Sender

    clock = _Clock(database_now() - work.minutes * _EVERY)
    sender = Sender(config, clock, LabelCache(), ReceiverState(), threading.Event())
    note("making the fleet")
    fleet = _make_fleet(work, clock.now)
    sender.step()
    _collect(work, fleet, clock, note)
    note("sending")
    before, began, cpu = read_remote_write(clock.now).sent, time.perf_counter(), time.process_time()
    taken.cpu_s = 0.0
    _send_all(sender)
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu - taken.cpu_s
    samples = read_remote_write(clock.now).sent - before
    sender.close()
    return Result(work, connection.vendor, samples, taken.requests, taken.octets, cpu_s, seconds)


def _send_all(sender: Sender) -> None:
    while not sender.step():
        pass


@dataclass(slots=True)
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def _make_fleet(work: Work, now: datetime) -> dict[int, list[int]]:
    from facho.apps.discovery.models import Onu
    from facho.apps.hosts.credentials import Credentials
    from facho.apps.hosts.models import Brand, Olt

    brand = Brand.objects.get(name="generic")
    fleet = {}
    for number in range(work.olts):
        olt = Olt(name=f"olt-{number}", site=f"site-{number % 9}", brand=brand, address="192.0.2.1")
        olt.credentials = Credentials(community="public")
        olt.save()
        Onu.objects.bulk_create(
            Onu(
                olt=olt,
                address=f"0/{each // _PER_PORT // 16}/{each // _PER_PORT % 16}:{each % _PER_PORT}",
                frame=0,
                slot=each // _PER_PORT // 16,
                port=each // _PER_PORT % 16,
                serial=f"HWTC{number:04X}{each:04X}",
                first_seen=now,
                last_seen=now,
            )
            for each in range(work.onus)
        )
        fleet[olt.pk] = list(Onu.objects.filter(olt=olt).order_by("id").values_list("id", flat=True))
    return fleet


def _collect(work: Work, fleet: dict[int, list[int]], clock: _Clock, note: Note) -> None:
    from facho.apps.db import sql
    from facho.apps.history.store import append_frame

    noise = random.Random(_SEED)
    for minute in range(work.minutes):
        note(f"collecting, minute {minute + 1}")
        clock.now += _EVERY
        for olt_id, ids in fleet.items():
            columns = {
                fact: [round(noise.uniform(*limits), 1) for _ in ids] for fact, limits in _FACTS.items()
            }
            with sql.write_transaction():
                append_frame(olt_id, clock.now, "onu", ids, columns)


@contextmanager
def _receiving(url: str) -> Iterator[tuple[str, _Taken]]:
    """Yield the URL of a receiver, and what it takes if it is ours."""
    taken = _Taken()
    if url:
        yield url, taken
        return

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            began = time.thread_time()
            taken.octets += len(self.rfile.read(int(self.headers["Content-Length"])))
            taken.requests += 1
            self.send_response(204)
            self.end_headers()
            taken.cpu_s += time.thread_time() - began

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/write", taken
        finally:
            server.shutdown()
            thread.join()
