"""`facho worker` and `facho beat`: what they refuse to start with, and what the doctor says about it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.faults.engines import STARTS_WITHIN_S, Engine, Facho, set_up, wait_for_steps
from tests.integration.own_facho import OwnFacho, new_facho
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import wait_until

ROLES = ("worker", "beat")
# For the processes of a test, found on their path: who writes to the environment while pollers are lent is
# refused. A thread that connects to the database meanwhile would read what was freed, now and then.
NO_WRITING = """
import sys, threading

def refuse(event, _):
    if event in ("os.putenv", "os.unsetenv") and any(t.name == "keeper" for t in threading.enumerate()):
        raise RuntimeError("threads read the environment that is written here")

sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, shared_postgres: Postgres) -> OwnFacho:
    """A home with its key, and a database with its tables and an OLT that this key was used for."""
    shared_postgres.create_database("prepared")
    facho = OwnFacho(tmp_path_factory.mktemp("home"), {"FACHO_DATABASE_URL": shared_postgres.url("prepared")})
    facho.does("migrate")
    facho.does("olt", "add", "olt-1", "127.0.0.1:9", "--brand", "huawei", "--no-test")
    return facho


@pytest.fixture
def new_database(shared_postgres: Postgres) -> str:
    name = f"facho_{uuid4().hex}"
    shared_postgres.create_database(name)
    return shared_postgres.url(name)


def reason(facho: OwnFacho, *words: str, **environment: str) -> str:
    """The sentence of a system that is not well: one line, and nothing on standard output."""
    done = facho.run(*words, **environment)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("role", ROLES)
def test_not_on_sqlite(tmp_path_factory: pytest.TempPathFactory, role: str) -> None:
    line = reason(new_facho(tmp_path_factory), role, FACHO_BROKER_URL="redis://127.0.0.1:1/0")
    assert "need PostgreSQL: set FACHO_DATABASE_URL" in line


@pytest.mark.parametrize("role", ROLES)
def test_not_without_a_broker(prepared: OwnFacho, role: str) -> None:
    assert "set FACHO_BROKER_URL to redis://" in reason(prepared, role)


def test_not_with_a_broker_of_another_kind(prepared: OwnFacho) -> None:
    line = reason(prepared, "worker", FACHO_BROKER_URL="amqp://127.0.0.1/")
    assert "FACHO_BROKER_URL" in line
    assert "redis://" in line


@pytest.mark.parametrize("role", ROLES)
def test_not_while_the_broker_does_not_answer(prepared: OwnFacho, role: str) -> None:
    line = reason(prepared, role, FACHO_BROKER_URL="redis://:s3cret@127.0.0.1:1/0")
    assert "the broker of FACHO_BROKER_URL does not answer" in line
    assert "s3cret" not in line


@pytest.mark.parametrize("role", ROLES)
def test_not_on_tables_of_another_version(
    prepared: OwnFacho, new_database: str, shared_redis: Redis, role: str
) -> None:
    line = reason(prepared, role, FACHO_DATABASE_URL=new_database, FACHO_BROKER_URL=shared_redis.url)
    assert "run facho migrate" in line


@pytest.mark.parametrize("role", ROLES)
def test_not_with_another_key(prepared: OwnFacho, shared_redis: Redis, tmp_path: Path, role: str) -> None:
    """A machine that was given the database but not the keys makes one of its own, which opens nothing."""
    line = reason(prepared, role, FACHO_HOME=str(tmp_path / "other"), FACHO_BROKER_URL=shared_redis.url)
    assert "every machine needs the same keys" in line


def test_a_queue_that_does_not_exist_is_bad_use(prepared: OwnFacho, shared_redis: Redis) -> None:
    line = prepared.refuses("worker", "--queues", "snmp_urgent", FACHO_BROKER_URL=shared_redis.url)
    assert "there is no queue snmp_urgent; there are snmp_highprio, snmp_default, snmp_retry" in line


@pytest.mark.parametrize("command", ["up", "engine", "demo"])
def test_an_engine_does_not_start_beside_workers(
    prepared: OwnFacho, shared_redis: Redis, command: str
) -> None:
    line = reason(prepared, command, FACHO_BROKER_URL=shared_redis.url)
    assert "run facho worker, facho beat and facho web" in line


def examined(facho: OwnFacho, **environment: str) -> dict[str, tuple[str, str]]:
    done = facho.run("doctor", "--json", **environment)
    return {each["what"]: (each["level"], each["told"]) for each in json.loads(done.stdout)["findings"]}


def test_the_doctor_looks_at_the_broker(prepared: OwnFacho, shared_redis: Redis) -> None:
    found = examined(prepared, FACHO_BROKER_URL=shared_redis.url)
    assert found["broker"] == ("ok", "it answers")
    assert found["celery"][0] == "ok"
    told = prepared.run("doctor", FACHO_BROKER_URL=shared_redis.url).stdout
    assert "facho beat, and facho worker" in " ".join(told.split())


def test_the_doctor_says_that_the_broker_is_away(prepared: OwnFacho) -> None:
    level, told = examined(prepared, FACHO_BROKER_URL="redis://127.0.0.1:1/0")["broker"]
    assert level == "error"
    assert "does not answer" in told


def test_the_doctor_says_that_a_broker_is_of_no_use_on_sqlite(
    tmp_path_factory: pytest.TempPathFactory, shared_redis: Redis
) -> None:
    level, told = examined(new_facho(tmp_path_factory), FACHO_BROKER_URL=shared_redis.url)["broker"]
    assert level == "error"
    assert "PostgreSQL" in told


def test_the_doctor_of_one_machine_asks_for_no_broker(prepared: OwnFacho) -> None:
    assert {"broker", "celery"}.isdisjoint(examined(prepared))


@pytest.fixture
def distributed(tmp_path: Path, new_database: str, shared_redis: Redis) -> Facho:
    for name in ("home", "hooks"):
        (tmp_path / name).mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(NO_WRITING)
    settings = {"FACHO_BROKER_URL": shared_redis.url, "PYTHONPATH": str(tmp_path / "hooks")}
    return Facho(tmp_path / "home", new_database, settings)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    engines: list[Engine] = []

    def start(facho: Facho, *words: str) -> Engine:
        log = tmp_path / f"{len(engines)}.out"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env=facho.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        engines.append(Engine(process, log))
        facho.engines.append(engines[-1])
        return engines[-1]

    yield start
    for engine in engines:
        engine.end()


def test_a_plain_celery_worker_lends_pollers_too(distributed: Facho, started: Callable[..., Engine]) -> None:
    facho = distributed
    with FleetProcess(FleetConfig(olts=1, onus=10)) as fleet:
        discovery = ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s")
        set_up(facho, fleet, [discovery])
        worker = started(facho, "celery", "-A", "facho", "worker", "--concurrency", "3")
        facho.wait_for(worker)
        assert facho.one("SELECT pollers FROM workers") == 3
        assert facho.one("SELECT count(*) FROM pollers") == 3
        beat = started(facho, "facho", "beat")
        wait_until(
            lambda: facho.states().get("SUCCESS", 0) >= 1,
            STARTS_WITHIN_S,
            what=lambda: f"it collects\n{facho.picture()}",
        )
        assert facho.one("SELECT count(*) FROM onu_data") == 10
        beat.stop()
        worker.stop()
    assert facho.one("SELECT count(*) FROM workers") == 0


def test_a_plain_celery_worker_without_its_tables_ends(
    distributed: Facho, started: Callable[..., Engine]
) -> None:
    """Else it would take messages and have nobody to run them."""
    worker = started(distributed, "celery", "-A", "facho", "worker")
    assert worker.process.wait(STARTS_WITHIN_S) == 1
    assert "changes that this version needs: run facho migrate" in worker.log.read_text()


def test_a_worker_that_cannot_register_ends(
    prepared: OwnFacho, shared_postgres: Postgres, shared_redis: Redis
) -> None:
    """All was well until Celery had set itself up."""
    with psycopg.connect(shared_postgres.url("prepared")) as connection:
        connection.execute("ALTER TABLE workers RENAME TO elsewhere")
    done = prepared.run("worker", FACHO_BROKER_URL=shared_redis.url)
    with psycopg.connect(shared_postgres.url("prepared")) as connection:
        connection.execute("ALTER TABLE elsewhere RENAME TO workers")
    assert done.returncode == 1
    refused = "\nError: this worker cannot start its pollers: the database cannot be used: relation"
    assert refused in done.stderr


def test_a_worker_for_what_is_urgent_leaves_the_rest_alone(
    distributed: Facho, started: Callable[..., Engine]
) -> None:
    facho = distributed
    with FleetProcess(FleetConfig(olts=1, onus=10)) as fleet:
        set_up(facho, fleet, [("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s")])
        worker = started(facho, "facho", "worker", "--queues", "snmp_highprio")
        beat = started(facho, "facho", "beat")
        facho.wait_for(worker)
        assert facho.one("SELECT queues FROM workers") == "snmp_highprio"
        wait_until(lambda: facho.states() == {"WAITING": 1}, STARTS_WITHIN_S, what=facho.picture)
        wait_for_steps(facho, 3)
        assert facho.states() == {"WAITING": 1}

        facho.rows("UPDATE snmp_executions SET run_now = TRUE, trigger = 'run-now' RETURNING id")

        wait_until(lambda: facho.states().get("SUCCESS") == 1, what=facho.picture)
        beat.stop()
        worker.stop()
