"""Measure pages and API answers with the rows of a large operator, and the load that one process serves."""

from __future__ import annotations

import http.client
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from bench.harness import (
    AsJson,
    DatabaseUrl,
    MeasurementFailed,
    Note,
    Spread,
    run_benchmark,
    table_of_numbers,
)
from bench.pages import Page, pages
from bench.polls import GOAL_MS, RATE, PollLoad, measure_polls
from bench.private_system import facho_process, private_system
from bench.process_groups import cpu_s_of
from bench.rows import Rows, insert_rows

HOST: Final = "127.0.0.1"
_PATIENCE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.1
_CONNECTIONS: Final = 8
# /health answers 503 while no engine runs.
_EXPECTED: Final = (http.client.OK, http.client.SERVICE_UNAVAILABLE)

# Returns the status and the body of a path.
Get = Callable[[str], tuple[int, bytes]]

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench web --database-url postgresql://me@/bench?host=/run/postgresql`  500 OLTs with 1,000,000 ONUs

`facho bench web --olts 20 --onus 20000 --rounds 5`  a small one, on SQLite

`facho bench web --json`  `pages`: `ms_p50`, `ms_p95`, `bytes` of each; `polls` and `load` of one process
"""


@dataclass(frozen=True, slots=True)
class Work:
    rows: Rows = field(default_factory=Rows)
    rounds: int = 40
    # Of load on one page.
    seconds: int = 5


@dataclass(frozen=True, slots=True)
class PageCost:
    page: Page
    ms: Spread
    # Of the web's process alone, for one of them: others may keep the machine busy.
    cpu_ms: float
    size: int

    @property
    def within_goal(self) -> bool:
        fits = self.page.most_bytes is None or self.size <= self.page.most_bytes
        return fits and self.ms.p95 <= self.page.goal_ms

    def as_json(self) -> dict[str, Any]:
        return {**self.ms.as_json("ms", 1), "cpu_ms": round(self.cpu_ms, 1), "bytes": self.size}


@dataclass(frozen=True, slots=True)
class PageLoad:
    """The load of one page that one process served."""

    page: Page
    requests_per_second: float
    errors: int


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    filled_s: float
    pages: tuple[PageCost, ...]
    # Pages that answered with an error, by name: the status.
    missing: Mapping[str, int]
    # Empty without wrk.
    loads: tuple[PageLoad, ...]
    polls: PollLoad | None = None

    def as_json(self) -> dict[str, Any]:
        rows = self.work.rows
        return {
            "database": self.database,
            "olts": rows.olts,
            "onus": rows.onus,
            "executions": rows.executions,
            "filled_s": round(self.filled_s, 1),
            "pages": {each.page.name: each.as_json() for each in self.pages},
            "missing": dict(self.missing),
            "polls": None if self.polls is None else self.polls.as_json(),
            "load": {
                each.page.name: {
                    "requests_per_second": round(each.requests_per_second, 1),
                    "errors": each.errors,
                }
                for each in self.loads
            },
        }

    def print(self) -> None:
        rows = self.work.rows
        title = f"{rows.onus:,} ONUs of {rows.olts:,} OLTs, {self.database}"
        table = table_of_numbers(title, "what", "p50", "p95", "goal", "CPU", "size")
        for each in self.pages:
            limit = f"{each.page.goal_ms:,.0f} ms"
            times = (f"{each.ms.p50:,.1f} ms", f"{each.ms.p95:,.1f} ms", limit, f"{each.cpu_ms:,.0f} ms")
            name = each.page.name if each.within_goal else f"{each.page.name} (over)"
            table.add_row(name, *times, f"{each.size / 1000:,.1f} kB")
        console = Console()
        console.print(table)
        console.print(f"The rows were made in {self.filled_s:,.0f} s.")
        for name, status in self.missing.items():
            console.print(f"{name}: not measured, the status was {status}.")
        if self.polls is not None:
            polls = self.polls
            console.print(
                f"{polls.polls_per_second:,.0f} polls of the dashboard a second: p50 {polls.ms.p50:,.1f} ms,"
                f" p95 {polls.ms.p95:,.1f} ms (goal: {GOAL_MS:,.0f} ms), {polls.cores:.2f} cores,"
                f" {polls.unchanged} of {polls.ms.count} unchanged."
            )
        for load in self.loads:
            rate = f"{load.requests_per_second:,.0f} requests a second"
            console.print(f"One process served {rate} of: {load.page.name}; {load.errors} errors.")
        if not self.loads:
            console.print("Load was not measured: wrk is not installed (Debian package wrk).")


POLLED: Final = "/coordinator/dashboard/live/"
LOADED: Final = ("dashboard, its poll", "ONUs", "executions")


@app.command(epilog=_EXAMPLES)
def web(
    olts: Annotated[int, typer.Option(min=1, help="OLTs; none of them is asked anything.")] = 500,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of all of them.")] = 1_000_000,
    executions: Annotated[
        int, typer.Option(min=1, help="Executions; there are as many events, and entries of the log.")
    ] = 300_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each page is asked for.")] = 40,
    seconds: Annotated[int, typer.Option(min=1, help="How long a page is asked for by many.")] = 5,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Ask for pages and answers of the API with very many rows, and measure how long they take."""
    work = Work(Rows(olts, onus, executions, executions, executions), rounds, seconds)
    run_benchmark(lambda note: measure(work, database_url, note), as_json=as_json)


def measure(work: Work, database_url: str, note: Note) -> Result:
    note("preparing the database")
    limits = ("api_requests_a_minute", "page_requests_a_minute", "address_requests_a_minute")
    with private_system(database_url, **dict.fromkeys(limits, "1000000")) as config:
        began = time.perf_counter()
        note(f"making {work.rows.onus:,} ONUs of {work.rows.olts:,} OLTs")
        insert_rows(work.rows)
        filled = time.perf_counter() - began
        headers = log_in(config.time_zone.key)
        with _running_web() as (port, cpu_s):
            costs, missing = measure_pages(
                pages(work.rows), work.rounds, http_get(port, headers), cpu_s, note
            )
            note(f"{RATE} polls a second")
            polls = measure_polls(HOST, port, POLLED, headers["/"], work.seconds, cpu_s)
            wanted = [each.page for each in costs if each.page.name in LOADED]
            loads = tuple(_measure_load(wanted, port, headers, work.seconds, note))
    from django.db import connection

    return Result(work, connection.vendor, filled, tuple(costs), missing, loads, polls)


def measure_pages(
    wanted: Sequence[Page], rounds: int, get: Get, cpu_s: Callable[[], float], note: Note
) -> tuple[list[PageCost], dict[str, int]]:
    costs, missing = [], {}
    for page in wanted:
        note(page.name)
        status, body = get(page.path)
        if status in _EXPECTED:
            began = cpu_s()
            ms = Spread.of(_request_ms(get, page.path) for _ in range(rounds))
            costs.append(PageCost(page, ms, 1000 * (cpu_s() - began) / rounds, len(body)))
        else:
            missing[page.name] = status
    return costs, missing


def _request_ms(get: Get, path: str) -> float:
    began = time.perf_counter()
    status, _body = get(path)
    if status not in _EXPECTED:
        raise MeasurementFailed(f"{path} was answered with {status} after it had been answered well")
    return (time.perf_counter() - began) * 1000


def log_in(zone: str) -> dict[str, dict[str, str]]:
    """Return the headers for each kind of page, by path: a session for people, a token for programs."""
    from django.contrib.auth.models import User
    from django.test import Client

    from facho.core.roles import Role

    person = User.objects.create_superuser(f"bench {zone}")
    client = Client()
    client.force_login(person)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return {
        "/": {"Cookie": cookies},
        "/api/": {"Authorization": f"Bearer {_token(person, Role.ADMINISTRATOR)}"},
        "/metrics": {"Authorization": f"Bearer {_token(person, Role.METRICS)}"},
    }


def _token(person: Any, role: Any) -> str:
    from facho.apps.access.models import ApiToken
    from facho.apps.access.selectors import digest_of
    from facho.apps.db.database import database_now

    secret, now = f"fd_{secrets.token_urlsafe(32)}", database_now()
    ApiToken.objects.create(
        owner=person,
        name=role.slug,
        role=role.slug,
        begins=secret[:8],
        digest=digest_of(secret),
        created_at=now,
        expires_at=now + timedelta(days=1),
    )
    return secret


def headers_for(headers: Mapping[str, dict[str, str]], path: str) -> dict[str, str]:
    return headers[max((begin for begin in headers if path.startswith(begin)), key=len)]


def http_get(port: int, headers: Mapping[str, dict[str, str]]) -> Get:
    """Return a function that gets paths on one connection, as a browser does."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_PATIENCE_S)

    def get(path: str) -> tuple[int, bytes]:
        connection.request("GET", path, headers=headers_for(headers, path))
        answer = connection.getresponse()
        return answer.status, answer.read()

    return get


@contextmanager
def _running_web() -> Iterator[tuple[int, Callable[[], float]]]:
    """Start one web process; yield its port, and a function that returns its CPU time."""
    port = free_port()
    with facho_process("web", "--address", f"{HOST}:{port}") as web:
        wait_for_web(port, web)
        yield port, lambda: cpu_s_of(web.pid)


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def wait_for_web(port: int, web: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + _PATIENCE_S
    while time.monotonic() < patience and web.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(_LOOK_EVERY_S)
    raise MeasurementFailed("the web did not start")


def _measure_load(
    wanted: Sequence[Page], port: int, headers: Mapping[str, dict[str, str]], seconds: int, note: Note
) -> Iterator[PageLoad]:
    wrk = shutil.which("wrk")
    if wrk is None:
        return
    for page in wanted:
        note(f"load: {page.name}")
        options = [f"-H{name}: {value}" for name, value in headers_for(headers, page.path).items()]
        load = [f"-c{_CONNECTIONS}", "-t1", f"-d{seconds}s", "--timeout=30s", *options]
        url = f"http://{HOST}:{port}{page.path}"
        done = subprocess.run([wrk, *load, url], capture_output=True, text=True, check=False)
        yield PageLoad(page, *parse_wrk(done.stdout))


def parse_wrk(output: str) -> tuple[float, int]:
    """Parse the output of wrk: requests a second, and the number of errors."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if rate is None:
        raise MeasurementFailed("wrk did not print a request rate")
    errors = re.findall(r"Non-2xx or 3xx responses: (\d+)|(?:connect|read|write|timeout) (\d+)", output)
    return float(rate[1]), sum(int(number) for pair in errors for number in pair if number)
