"""Pages and answers with the rows of a large operator: what they take, and how many one process bears."""

from __future__ import annotations

import http.client
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from facho.bench.many_rows import Rows, make
from facho.bench.own_system import CannotMeasure, own_system
from facho.bench.pages import Page, pages
from facho.bench.scheduler import Spread

HOST: Final = "127.0.0.1"
_PATIENCE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.1
_CONNECTIONS: Final = 8
# The health of a system without an engine is not well, and that is an answer.
_WELL: Final = (http.client.OK, http.client.SERVICE_UNAVAILABLE)

Note = Callable[[str], None]
# The status and the body of what is at a path.
Get = Callable[[str], tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Work:
    rows: Rows = field(default_factory=Rows)
    rounds: int = 40
    # Of load on one page.
    seconds: int = 5


@dataclass(frozen=True, slots=True)
class Took:
    page: Page
    ms: Spread
    # Of the web's process alone, for one of them: others may keep the machine busy.
    cpu_ms: float
    size: int

    @property
    def well(self) -> bool:
        fits = self.page.most_bytes is None or self.size <= self.page.most_bytes
        return fits and self.ms.p95 <= self.page.goal_ms

    def as_json(self) -> dict[str, Any]:
        return {**self.ms.as_json("ms", 1), "cpu_ms": round(self.cpu_ms, 1), "bytes": self.size}


@dataclass(frozen=True, slots=True)
class Bore:
    """What one process bore of one page."""

    page: Page
    requests_per_second: float
    errors: int


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    filled_s: float
    took: tuple[Took, ...]
    # By name, what answered with an error.
    missing: Mapping[str, int]
    # Empty without wrk.
    bore: tuple[Bore, ...]

    def as_json(self) -> dict[str, Any]:
        rows = self.work.rows
        return {
            "database": self.database,
            "olts": rows.olts,
            "onus": rows.onus,
            "executions": rows.executions,
            "filled_s": round(self.filled_s, 1),
            "pages": {each.page.name: each.as_json() for each in self.took},
            "missing": dict(self.missing),
            "load": {
                each.page.name: {
                    "requests_per_second": round(each.requests_per_second, 1),
                    "errors": each.errors,
                }
                for each in self.bore
            },
        }


LOADED: Final = ("dashboard, its poll", "ONUs", "executions")


def measure(work: Work, database_url: str, note: Note) -> Result:
    note("preparing the database")
    limits = ("api_requests_a_minute", "page_requests_a_minute", "address_requests_a_minute")
    with own_system(database_url, **dict.fromkeys(limits, "1000000")) as config:
        began = time.perf_counter()
        note(f"making {work.rows.onus:,} ONUs of {work.rows.olts:,} OLTs")
        make(work.rows)
        filled = time.perf_counter() - began
        headers = log_in(config.time_zone.key)
        with _served() as (port, cpu_s):
            took, missing = look(pages(work.rows), work.rounds, _asking(port, headers), cpu_s, note)
            wanted = [each.page for each in took if each.page.name in LOADED]
            bore = tuple(_bear(wanted, port, headers, work.seconds, note))
    from django.db import connection

    return Result(work, connection.vendor, filled, tuple(took), missing, bore)


def look(
    wanted: Sequence[Page], rounds: int, get: Get, cpu_s: Callable[[], float], note: Note
) -> tuple[list[Took], dict[str, int]]:
    took, missing = [], {}
    for page in wanted:
        note(page.name)
        status, body = get(page.path)
        if status in _WELL:
            began = cpu_s()
            ms = Spread.of(_timed(get, page.path) for _ in range(rounds))
            took.append(Took(page, ms, 1000 * (cpu_s() - began) / rounds, len(body)))
        else:
            missing[page.name] = status
    return took, missing


def _timed(get: Get, path: str) -> float:
    began = time.perf_counter()
    status, _body = get(path)
    if status not in _WELL:
        raise CannotMeasure(f"{path} was answered with {status}, and had been well before")
    return (time.perf_counter() - began) * 1000


def log_in(zone: str) -> dict[str, dict[str, str]]:
    """What each kind of page wants to be shown: a session for people, a token for programs."""
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
    from facho.apps.db.clock import database_now

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


def shown(headers: Mapping[str, dict[str, str]], path: str) -> dict[str, str]:
    return headers[max((begin for begin in headers if path.startswith(begin)), key=len)]


def _asking(port: int, headers: Mapping[str, dict[str, str]]) -> Get:
    """On one connection, as a browser does."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_PATIENCE_S)

    def get(path: str) -> tuple[int, bytes]:
        connection.request("GET", path, headers=shown(headers, path))
        answer = connection.getresponse()
        return answer.status, answer.read()

    return get


@contextmanager
def _served() -> Iterator[tuple[int, Callable[[], float]]]:
    """One process of the web: its port, and the seconds of CPU that it has used."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = int(free.getsockname()[1])
    argv = [sys.executable, "-m", "facho", "web", "--address", f"{HOST}:{port}"]
    with subprocess.Popen(argv, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
        try:
            _wait_for(port, web)
            yield port, lambda: _cpu_s(web.pid)
        finally:
            web.terminate()


def _cpu_s(pid: int) -> float:
    numbers = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for(port: int, web: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + _PATIENCE_S
    while time.monotonic() < patience and web.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(_LOOK_EVERY_S)
    raise CannotMeasure("the web did not start")


def _bear(
    wanted: Sequence[Page], port: int, headers: Mapping[str, dict[str, str]], seconds: int, note: Note
) -> Iterator[Bore]:
    wrk = shutil.which("wrk")
    if wrk is None:
        return
    for page in wanted:
        note(f"load: {page.name}")
        shows = [f"-H{name}: {value}" for name, value in shown(headers, page.path).items()]
        load = [f"-c{_CONNECTIONS}", "-t1", f"-d{seconds}s", "--timeout=30s", *shows]
        url = f"http://{HOST}:{port}{page.path}"
        done = subprocess.run([wrk, *load, url], capture_output=True, text=True, check=False)
        yield Bore(page, *read_wrk(done.stdout))


def read_wrk(said: str) -> tuple[float, int]:
    """Requests a second, and how many were not answered well."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if rate is None:
        raise CannotMeasure("wrk did not say how many requests there were")
    errors = re.findall(r"Non-2xx or 3xx responses: (\d+)|(?:connect|read|write|timeout) (\d+)", said)
    return float(rate[1]), sum(int(number) for pair in errors for number in pair if number)
