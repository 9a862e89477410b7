"""Real engine processes on a real database, against simulated OLTs: what the fault tests break."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from facho.sim.process import FleetProcess
from tests.services import pattern, warm
from tests.waiting import PATIENCE_S, wait_until

# Everything that a person would wait for is shortened; nothing else is different from the real thing. What
# would run out by itself on a busy machine is long: a test that waits for it to run out says so.
QUICK = {
    "FACHO_LEASE": "10",
    "FACHO_LEASE_RENEW": "0.4",
    "FACHO_WORKER_SEEN_WITHIN": "10",
    "FACHO_FIRST_RUN_DELAY": "0.2",
    "FACHO_SPREAD_LIMIT": "0.5",
    "FACHO_REQUEST_TIMEOUT": "120",
    "FACHO_REQUEST_RETRIES": "1",
    "FACHO_RETRY_DELAY": "1",
    "FACHO_PROBE_AFTER": "1,2",
    "FACHO_STOP_WITHIN": "3",
    "FACHO_POLLERS": "4",
}

# Of imports, most of it, which says nothing about anything: on a busy machine they take long.
STARTS_WITHIN_S: Final = 180.0


def zone_amid_an_hour(now: datetime) -> str:
    """No hour of quotas turns while a test looks at it: some zone is always in the middle of one."""
    return "UTC" if 1 <= now.minute < 45 else "Asia/Kolkata"


@dataclass
class Facho:
    """One installation: a home and a database, with commands and engines to run on it."""

    home: Path
    database_url: str
    settings: dict[str, str] = field(default_factory=dict)
    zone: str = field(default_factory=lambda: zone_amid_an_hour(datetime.now(UTC)))
    engines: list[Engine] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("FACHO_")}
        return {
            **ours,
            **QUICK,
            # One that crashes says where.
            "PYTHONFAULTHANDLER": "1",
            "FACHO_TIME_ZONE": self.zone,
            **self.settings,
            "FACHO_HOME": str(self.home),
            "FACHO_DATABASE_URL": self.database_url,
        }

    def run(self, *arguments: str, check: bool = True) -> str:
        done = warm.run(arguments, env=self.environment)
        if check:
            assert done.returncode == 0, f"facho {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def engine(self, settings: Mapping[str, str] | None = None) -> Iterator[Engine]:
        # Not where the disk may be full.
        log = self.home.parent / f"{self.home.name}.engine"
        with log.open("ab") as output:
            process = warm.start(["engine"], env={**self.environment, **(settings or {})}, output=output)
        engine = Engine(process, log)
        self.engines.append(engine)
        try:
            yield engine
        finally:
            engine.end()

    def wait_for(self, engine: Engine) -> None:
        """Until it has said that it is there."""
        named = f"SELECT count(*) FROM workers WHERE name LIKE '%:{engine.process.pid}:%'"

        def is_there() -> bool:
            assert engine.process.poll() is None, engine.log.read_text(errors="replace")
            return bool(self.one(named))

        wait_until(is_there, STARTS_WITHIN_S, what=lambda: f"the engine starts\n{self.picture()}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What is in the database, read from outside of everything."""
        if self.database_url.startswith("sqlite:///"):
            path = self.database_url.removeprefix("sqlite:///")
            with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
                return list(connection.execute(query))
        with psycopg.connect(self.database_url) as connection:
            return list(connection.execute(query))

    def change(self, statement: str) -> None:
        """Write to the database, behind everybody's back."""
        if self.database_url.startswith("sqlite:///"):
            path = self.database_url.removeprefix("sqlite:///")
            with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection, connection:
                connection.execute(statement)
        else:
            with psycopg.connect(self.database_url) as server:
                server.execute(statement)

    def expire(self, dead: Engine) -> None:
        """Let the time pass at once after which a process that was killed is not believed in any more."""
        assert dead.process.poll() is not None, "one that lives believes in its leases"
        self.expire_process(dead.process.pid)

    def expire_process(self, pid: int) -> None:
        whose = f"LIKE '%:{pid}:%'"
        self.change(f"UPDATE workers SET seen_at = '2000-01-01 00:00:00' WHERE name {whose}")
        self.change(
            "UPDATE snmp_executions SET lease_expires_at = '2000-01-01 00:00:00' "
            f"WHERE state = 'PENDING' OR (lease_token <> '' AND worker {whose})"
        )

    def is_locked(self) -> bool:
        """Whether somebody has the one right to write in SQLite. PostgreSQL takes it from the frozen."""
        if not self.database_url.startswith("sqlite:///"):
            return False
        path = self.database_url.removeprefix("sqlite:///")
        with contextlib.closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            connection.execute("ROLLBACK")
        return False

    def one(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def picture(self) -> str:
        """For who must find out why a test failed."""
        executions = self.rows(
            "SELECT id, node_id, olt_id, state, trigger, attempt, slot, not_before, started_at, ended_at, "
            "lease_expires_at, worker, error FROM snmp_executions ORDER BY id DESC LIMIT 40"
        )
        nodes = self.rows("SELECT id, olt_id, next_run_at, suspended_reason FROM snmp_job_hosts ORDER BY id")
        olts = self.rows("SELECT id, suspended_reason, reachable, next_probe_at FROM olts ORDER BY id")
        lost = self.rows(
            "SELECT execution_id, number, worker, started_at, ended_at, error FROM execution_attempts "
            "WHERE error <> '' ORDER BY id DESC LIMIT 10"
        )
        workers = self.rows("SELECT name, seen_at FROM workers")
        rows = map(str, [*executions, *nodes, *olts, *lost, *workers])
        # What matters most comes last: of a long report, the end is kept.
        return "\n".join([*rows, *self._last_words(), *map(str, self.engines)])

    def _last_words(self) -> Iterator[str]:
        """What the processes said in their logs, and on their standard error."""
        spoken = sorted({each.log for each in self.engines})
        for log in (*sorted(self.home.glob("logs/*.log")), *spoken):
            yield f"--- {log.name}"
            yield from log.read_text(errors="replace").splitlines()[-20:]

    def states(self) -> dict[str, int]:
        return dict(self.rows("SELECT state, count(*) FROM snmp_executions GROUP BY state"))


@dataclass
class Engine:
    process: subprocess.Popen[bytes] | warm.Process
    log: Path

    def __str__(self) -> str:
        ended = self.process.poll()
        return f"process {self.process.pid} {'lives' if ended is None else f'ended with {ended}'}"

    @property
    def crashed(self) -> bool:
        """It ended, and neither in order nor killed by us."""
        return self.process.poll() not in (None, 0, -signal.SIGKILL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self, seconds: float = PATIENCE_S) -> None:
        """As an operator would: it must end by itself."""
        self.process.terminate()
        assert self.process.wait(seconds) == 0, self.log.read_text(errors="replace")

    def end(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def wait_for_steps(facho: Facho, count: int) -> None:
    """Until the scheduler has made so many more steps."""
    query = "SELECT updated_at FROM coordinator_state WHERE name = 'scheduler'"
    for _ in range(count):
        last = facho.rows(query)
        wait_until(
            lambda last=last: facho.rows(query) != last,  # type: ignore[misc]
            what=lambda: f"the scheduler steps\n{facho.picture()}",
        )


def set_up(
    facho: Facho,
    fleet: FleetProcess,
    jobs: Sequence[Sequence[str]],
    *,
    hostile: FleetProcess | None = None,
) -> None:
    """Adds the OLTs of `fleet` as olt-0 ..., of `hostile` as hostile-0 ..., and the jobs on all."""
    pattern.put_tables(facho.database_url)
    facho.run("migrate")
    olts = facho.home / "olts.csv"
    lines = [
        f"{name}-{number},{host},{port},huawei,public"
        for name, each in (("olt", fleet), ("hostile", hostile))
        if each is not None
        for number, (host, port) in enumerate(each.addresses)
    ]
    olts.write_text("\n".join(["name,address,port,brand,community", *lines]))
    facho.run("olt", "import", str(olts), "--no-test")
    for job in jobs:
        facho.run("job", "add", *job, "--all")
