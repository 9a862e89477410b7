"""Several real workers and beats, on a PostgreSQL and a Redis of their own: what the fault tests break."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import psycopg

from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from tests.faults.engines import (
    COMES_WITHIN_S,
    STARTS_WITHIN_S,
    Engine,
    Facho,
    comes_true,
    set_up,
    wait_until,
)
from tests.services.postgres import Postgres
from tests.services.process import dies_with_us
from tests.services.redis import Redis

OLTS: Final = 4
ONUS: Final = 300
PLAIN: Final = PRESETS["plain"].scenario
# A discovery takes half a minute: long enough to do something to it.
UNHURRIED: Final = Scenario(latency_s=0.25, max_message=600)
JOBS: Final = (
    ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),
    ("state", "--kind", "table", "--brand", "huawei", "--interval", "3s", "--fact", "state"),
)
NODES: Final = OLTS * len(JOBS)
LEASE_S: Final = 2.0
# Until what was under way has ended, in no hurry, and a discovery has begun.
SOON_S: Final = 10.0
TRIES: Final = 4


@dataclass
class Site:
    """An installation on several machines, all of them here. What a test kills, the next one gets new."""

    facho: Facho
    fleet: FleetProcess
    workers: list[Engine] = field(default_factory=list)
    beats: list[Engine] = field(default_factory=list)

    def start(self, role: str, *options: str, **settings: str) -> Engine:
        log = self.facho.home.parent / f"{self.facho.home.name}.{role}"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*dies_with_us(), sys.executable, "-m", "facho", role, *options],
                env={**self.facho.environment, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        engine = Engine(process, log)
        self.facho.engines.append(engine)
        (self.beats if role == "beat" else self.workers).append(engine)
        return engine

    def ready(self, *, workers: int = 2, beats: int = 1) -> None:
        """So many of each, and every node has run lately: the state that a fault comes into."""
        self.fleet.set_scenario(PLAIN)
        began, all_were_here = self.now(), True
        for role, wanted in (("worker", workers), ("beat", beats)):
            living = self.beats if role == "beat" else self.workers
            living[:] = [each for each in living if each.process.poll() is None]
            for spare in living[wanted:]:
                spare.stop()
            del living[wanted:]
            for _ in range(wanted - len(living)):
                all_were_here = False
                self.start(role)
        for worker in self.workers:
            self.facho.wait_for(worker)
        for beat in self.beats:
            begun = partial(self._has_begun, beat)
            wait_until(begun, STARTS_WITHIN_S, what=lambda: f"the beat starts\n{self.facho.picture()}")
        # The test before has seen it.
        if workers and not all_were_here:
            self.runs_again(began)

    def _has_begun(self, beat: Engine) -> bool:
        assert beat.process.poll() is None, beat.log.read_text(errors="replace")
        log = self.facho.home / "logs" / "beat.log"
        return log.exists() and f"beat={beat.process.pid}" in log.read_text()

    def now(self) -> datetime:
        found = self.facho.one("SELECT clock_timestamp()")
        assert isinstance(found, datetime)
        return found

    def runs_again(self, since: datetime, seconds: float = COMES_WITHIN_S) -> float:
        """How long it took until every node had run for a slot that came later."""
        again = (
            "SELECT count(DISTINCT node_id) FROM snmp_executions "
            f"WHERE state = 'SUCCESS' AND slot > '{since}' AND started_at > '{since}'"
        )

        def all_did() -> bool:
            with contextlib.suppress(psycopg.OperationalError):
                return bool(self.facho.one(again) == NODES)
            return False

        return wait_until(all_did, seconds, what=lambda: f"every node runs again\n{self.facho.picture()}")

    def in_mid_walk(
        self, of: Engine | None = None, *, at_least: int = 1, scenario: Scenario = UNHURRIED
    ) -> list[int]:
        """Once so many executions run (of one worker), their ids; OLTs are in no hurry from here on."""
        found: list[int] = []

        def some_run() -> bool:
            self.assert_none_crashed()
            found[:] = self.running(of)
            return len(found) >= at_least

        for _ in range(TRIES):
            self.fleet.set_scenario(scenario)
            if comes_true(some_run, SOON_S):
                return found
            # Another worker was quicker to take them all, or they did not begin together. They end now.
            self.fleet.set_scenario(PLAIN)
            self.runs_again(self.now())
        raise AssertionError(f"no executions run that are wanted\n{self.facho.picture()}")

    def busy_with(self, of: Engine) -> int:
        """What it runs, whatever it is; waits until it runs something."""
        whose = f"worker LIKE '%:{of.process.pid}:%'"
        query = f"SELECT id FROM snmp_executions WHERE state = 'RUNNING' AND {whose}"
        wait_until(lambda: self.facho.rows(query), what=lambda: f"it is busy\n{self.facho.picture()}")
        found: int = self.facho.one(query)
        return found

    def running(self, of: Engine | None = None) -> list[int]:
        """Those that have their walk before them: begun just now."""
        whose = f"AND worker LIKE '%:{of.process.pid}:%'" if of is not None else ""
        rows = self.facho.rows(
            "SELECT e.id FROM snmp_executions e JOIN snmp_job_hosts n ON n.id = e.node_id "
            "JOIN snmp_jobs j ON j.id = n.job_id WHERE e.state = 'RUNNING' AND j.kind = 'discovery' "
            f"AND clock_timestamp() - e.started_at BETWEEN '0.3 s' AND '1.5 s' {whose}"
        )
        return [row[0] for row in rows]

    def onus(self) -> set[int]:
        return {row[0] for row in self.facho.rows("SELECT id FROM onu_data")}

    def log(self, role: str) -> str:
        return (self.facho.home / "logs" / f"{role}.log").read_text(errors="replace")

    def stop(self) -> None:
        for each in (*self.workers, *self.beats):
            each.process.terminate()
        for each in (*self.workers, *self.beats):
            each.end()
        self.workers.clear()
        self.beats.clear()

    def assert_none_crashed(self) -> None:
        """The next one would take up its work, and nobody would notice."""
        assert not any(each.crashed for each in (*self.workers, *self.beats)), self.facho.picture()

    def assert_sound(self) -> None:
        """Whatever happened: nothing twice, nothing at once, nothing lost, nothing stuck."""
        facho = self.facho
        self.assert_none_crashed()
        twice = facho.rows(
            "SELECT node_id, slot, count(*) FROM snmp_executions WHERE trigger <> 'run-now' "
            "GROUP BY node_id, slot HAVING count(*) > 1"
        )
        assert twice == []
        assert [olt.overlaps for olt in self.fleet.report().olts] == [0] * OLTS
        assert facho.one("SELECT count(*) FROM onu_data") == OLTS * ONUS
        assert facho.one("SELECT count(*) FROM onu_data WHERE presence <> 'present'") == 0
        assert facho.one("SELECT max(missed) FROM onu_data") == 0
        assert facho.rows("SELECT name, suspended_reason FROM olts WHERE suspended_reason <> ''") == []
        assert facho.rows("SELECT id FROM snmp_job_hosts WHERE suspended_reason <> ''") == []
        wait_until(self._nothing_is_stuck, what=lambda: f"nothing is stuck\n{facho.picture()}")

    def _nothing_is_stuck(self) -> bool:
        """A lease that ran out is taken back by the next step, and a worker that is gone is forgotten."""
        late = f"lease_expires_at < clock_timestamp() - interval '{LEASE_S} s'"
        stuck = self.facho.one(
            f"SELECT count(*) FROM snmp_executions WHERE {late} OR (state IN ('PENDING', 'RUNNING') "
            f"AND lease_expires_at IS NULL) OR (state = 'WAITING' AND lease_token <> '')"
        )
        gone = self.facho.one(
            "SELECT count(*) FROM pollers p LEFT JOIN workers w ON w.name = p.worker WHERE w.name IS NULL"
        )
        workers = self.facho.one("SELECT count(*) FROM workers")
        living = sum(each.process.poll() is None for each in self.workers)
        return (stuck, gone, workers) == (0, 0, living)


@contextlib.contextmanager
def run_site(folder: Path, postgres: Postgres, redis: Redis) -> Iterator[Site]:
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS)) as fleet:
        postgres.create_database("facho_faults")
        home = folder / "home"
        home.mkdir()
        facho = Facho(home, postgres.url("facho_faults"), {"FACHO_BROKER_URL": redis.url})
        set_up(facho, fleet, JOBS)
        site = Site(facho, fleet)
        try:
            yield site
        finally:
            site.stop()


def assert_all_ended_in_order(site: Site) -> None:
    """A moment after the last process stopped."""
    assert {"PENDING", "RUNNING"}.isdisjoint(site.facho.states())
    assert site.facho.one("SELECT count(*) FROM snmp_executions WHERE lease_token <> ''") == 0
    assert site.facho.one("SELECT count(*) FROM workers") == 0
    assert site.facho.one("SELECT count(*) FROM pollers") == 0


def told(what: str, seconds: float) -> None:
    print(f"{what}: every node ran again after {seconds:.1f} s")


def steps_go_on(site: Site, seconds: float) -> float:
    """The longest time between two looks at which a step had been made, in a while of so many seconds."""
    until, gap = time.monotonic() + seconds, 0.0
    last, at = None, time.monotonic()
    while time.monotonic() < until:
        found = site.facho.one("SELECT updated_at FROM coordinator_state WHERE name = 'scheduler'")
        if found != last:
            last, at = found, time.monotonic()
        gap = max(gap, time.monotonic() - at)
        time.sleep(0.1)
    return gap
