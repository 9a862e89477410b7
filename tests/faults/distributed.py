"""Several real workers and beats, on a PostgreSQL and a Redis of their own: what the fault tests break."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import psycopg

from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.process import FleetGate, FleetProcess
from tests.faults.engines import QUICK, STARTS_WITHIN_S, Engine, Facho, set_up, wait_for_steps
from tests.services import warm
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import wait_until

OLTS: Final = 4
ONUS: Final = 300
PLAIN: Final = PRESETS["plain"].scenario
# What discoveries read, and the other jobs do not.
SERIALS: Final = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"
JOBS: Final = (
    ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),
    ("state", "--kind", "table", "--brand", "huawei", "--interval", "3s", "--fact", "state"),
)
NODES: Final = OLTS * len(JOBS)
LEASE_S: Final = float(QUICK["FACHO_LEASE"])
TRIES: Final = 20


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
            process = warm.start([role, *options], env={**self.facho.environment, **settings}, output=output)
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

    def runs_again(self, since: datetime, nodes: int = NODES) -> float:
        """Wait until so many nodes, or all, have run for a slot that came later; how long that took."""
        again = (
            "SELECT count(DISTINCT node_id) FROM snmp_executions "
            f"WHERE state = 'SUCCESS' AND slot > '{since}' AND started_at > '{since}'"
        )

        def all_did() -> bool:
            with contextlib.suppress(psycopg.OperationalError):
                return bool(self.facho.one(again) >= nodes)
            return False

        return wait_until(all_did, what=lambda: f"every node runs again\n{self.facho.picture()}")

    @contextlib.contextmanager
    def in_mid_walk(self, of: Engine | None = None, *, at_least: int = 1) -> Iterator[list[int]]:
        """Hold walks in the middle until the end of the block; the ids of those held (of one worker)."""
        for _ in range(TRIES):
            with self.holding(SERIALS, skip=1) as gates:
                found = self.held(gates, of, at_least=at_least, kind="discovery")
                if found:
                    yield found
                    return
            # Another worker was quicker to take them all. They end now.
            self.runs_again(self.now())
        raise AssertionError(f"no executions run that are wanted\n{self.facho.picture()}")

    @contextlib.contextmanager
    def holding(self, under: str = "", *, skip: int = 0) -> Iterator[list[FleetGate]]:
        """Hold the requests to every OLT until the end of the block."""
        with contextlib.ExitStack() as gates:
            yield [
                gates.enter_context(self.fleet.hold(number, under=under, skip=skip)) for number in range(OLTS)
            ]

    def held(
        self, gates: list[FleetGate], of: Engine | None = None, *, at_least: int = 1, kind: str = ""
    ) -> list[int]:
        """Wait until so many executions (of one worker) are held; none if others hold every OLT."""
        found: list[int] = []

        def are_held() -> bool:
            self.assert_none_crashed()
            olts = {f"olt-{number}" for number, gate in enumerate(gates) if gate.held}
            found[:] = [execution for execution, olt in self.running(of, kind) if olt in olts]
            return len(found) >= at_least or len(olts) == OLTS

        wait_until(are_held, what=lambda: f"executions are held\n{self.facho.picture()}")
        return found if len(found) >= at_least else []

    def running(self, of: Engine | None = None, kind: str = "") -> list[tuple[int, str]]:
        """Executions that run (of one worker), with their OLTs."""
        whose = f"AND e.worker LIKE '%:{of.process.pid}:%'" if of is not None else ""
        rows = self.facho.rows(
            "SELECT e.id, o.name FROM snmp_executions e JOIN snmp_job_hosts n ON n.id = e.node_id "
            "JOIN snmp_jobs j ON j.id = n.job_id JOIN olts o ON o.id = e.olt_id "
            f"WHERE e.state = 'RUNNING' AND j.kind LIKE '{kind or '%'}' {whose}"
        )
        return [(execution, olt) for execution, olt in rows]

    def wait_for_steps(self, count: int) -> None:
        wait_for_steps(self.facho, count)

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
        wait_until(self._nothing_is_suspended, what=lambda: f"nothing is suspended\n{facho.picture()}")
        wait_until(self._nothing_is_stuck, what=lambda: f"nothing is stuck\n{facho.picture()}")

    def _nothing_is_suspended(self) -> bool:
        """An OLT that a busy machine was too slow to hear comes back by itself."""
        return not any(
            self.facho.one(f"SELECT count(*) FROM {table} WHERE suspended_reason <> ''")
            for table in ("olts", "snmp_job_hosts")
        )

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
    """Nothing is left that a process would have to come back for.

    A beat that stopped after the workers may have given them something: the next one takes it back when its
    lease has run out.
    """
    assert "RUNNING" not in site.facho.states()
    pending = "SELECT count(*) FROM snmp_executions WHERE state = 'PENDING' AND lease_expires_at IS NULL"
    assert site.facho.one(pending) == 0
    assert site.facho.one("SELECT count(*) FROM snmp_executions WHERE lease_token <> ''") == 0
    assert site.facho.one("SELECT count(*) FROM workers") == 0
    assert site.facho.one("SELECT count(*) FROM pollers") == 0


def told(what: str, seconds: float) -> None:
    print(f"{what}: every node ran again after {seconds:.1f} s")
