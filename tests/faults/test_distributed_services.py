"""A broker, a database or a network that goes away and comes back, and messages that come twice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from facho.backends.celery_names import EXECUTE
from facho.celery import settings
from facho.config import Config
from facho.core.pool import DEFAULT
from facho.sim.scenario import Scenario
from tests.faults.distributed import LEASE_S, PLAIN, Site, run_site, told
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, shared_postgres: Postgres, shared_redis: Redis
) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("site")
    with run_site(folder, shared_postgres, shared_redis) as site:
        yield site


@pytest.fixture
def app(shared_redis: Redis) -> Iterator[Any]:
    app = Celery("faults", set_as_current=False)
    app.config_from_object(settings(replace(Config(), broker_url=shared_redis.url)))
    yield app
    app.close()


def dropped(site: Site, execution: int) -> int:
    """How often a worker was told to start it, and did not."""
    return sum(
        "nothing_to_start" in line and f"execution_id={execution})" in line
        for line in site.log("worker").splitlines()
    )


def attempts(site: Site, execution: int) -> int:
    found: int = site.facho.one(f"SELECT count(*) FROM execution_attempts WHERE execution_id = {execution}")
    return found


def state_of(site: Site, execution: int) -> str:
    found: str = site.facho.one(f"SELECT state FROM snmp_executions WHERE id = {execution}")
    return found


def lease_of(site: Site, execution: int) -> datetime:
    """Until when it holds."""
    found = site.facho.one(f"SELECT lease_expires_at FROM snmp_executions WHERE id = {execution}")
    assert isinstance(found, datetime)
    return found


def wait_for_success(site: Site, execution: int) -> None:
    wait_until(
        lambda: state_of(site, execution) == "SUCCESS", what=lambda: f"it ends\n{site.facho.picture()}"
    )


def assert_the_same_live(site: Site) -> None:
    for each in (*site.workers, *site.beats):
        assert each.process.poll() is None, each.log.read_text(errors="replace")


def test_the_broker_is_away_for_longer_than_a_lease(site: Site, shared_redis: Redis) -> None:
    site.ready()
    before = site.onus()

    with site.in_mid_walk() as held:
        shared_redis.stop()
        a_lease_later = lease_of(site, held[0]) + timedelta(seconds=LEASE_S)
        wait_until(
            lambda: lease_of(site, held[0]) > a_lease_later,
            what=lambda: f"its lease is renewed\n{site.facho.picture()}",
        )
    # What runs needs no broker to end.
    wait_for_success(site, held[0])
    shared_redis.start()

    told("the broker was away", site.runs_again(site.now()))
    assert attempts(site, held[0]) == 1
    assert before <= site.onus()
    site.assert_sound()
    assert_the_same_live(site)


def test_the_broker_forgets_everything(site: Site, shared_redis: Redis) -> None:
    site.ready()

    with site.in_mid_walk(), shared_redis.client() as client:
        client.flushall()
        flushed_at = site.now()

    told("the broker was emptied", site.runs_again(flushed_at))
    site.assert_sound()
    assert_the_same_live(site)


def test_the_broker_restarts_and_has_forgotten_everything(site: Site, shared_redis: Redis) -> None:
    site.ready()

    with site.in_mid_walk():
        shared_redis.stop()
        shared_redis.start()
        restarted_at = site.now()

    told("the broker was restarted", site.runs_again(restarted_at))
    site.assert_sound()
    assert_the_same_live(site)


def test_the_database_restarts(site: Site, shared_postgres: Postgres) -> None:
    site.ready()
    before = site.onus()

    with site.in_mid_walk(at_least=2) as held:
        run_out = max(lease_of(site, each) for each in held) + timedelta(seconds=1)
        shared_postgres.stop(immediate=True)
        # Renewed until it went away, and by nobody since.
        wait_until(lambda: datetime.now(UTC) > run_out)
    shared_postgres.start()

    told("the database was restarted", site.runs_again(site.now()))
    assert before <= site.onus()
    site.assert_sound()
    assert_the_same_live(site)


def test_one_onu_is_read_now_by_a_worker(site: Site) -> None:
    site.ready()
    query = "SELECT u.serial, o.name FROM onu_data u JOIN olts o ON o.id = u.olt_id ORDER BY u.id LIMIT 1"
    ((serial, olt),) = site.facho.rows(query)

    answer = json.loads(site.facho.run("onu", "read", serial, "--olt", olt, "--json"))

    assert (answer["state"], answer["facts"]["serial"], answer["error"]) == ("SUCCESS", serial, None)
    row = f"FROM snmp_executions WHERE id = {answer['execution']}"
    ((trigger, onu, worker),) = site.facho.rows(f"SELECT trigger, onu_id IS NOT NULL, worker {row}")
    assert (trigger, onu) == ("run-now", True)
    assert any(f":{each.process.pid}:" in worker for each in site.workers)
    site.assert_sound()


def test_a_message_that_comes_twice(site: Site, app: Any) -> None:
    site.ready()

    with site.in_mid_walk() as (running, *_):
        app.send_task(EXECUTE, args=[running], queue=DEFAULT)
        wait_until(lambda: dropped(site, running) == 1, what="the second message is dropped while it runs")

    wait_for_success(site, running)
    app.send_task(EXECUTE, args=[running], queue=DEFAULT)
    wait_until(lambda: dropped(site, running) == 2, what="the third message is dropped after it ended")
    assert attempts(site, running) == 1
    told("messages came twice", site.runs_again(site.now()))
    site.assert_sound()


def test_all_packets_are_lost_for_a_while(site: Site) -> None:
    site.ready(workers=0)
    before = site.onus()
    impatient = site.start("worker", FACHO_REQUEST_TIMEOUT="1.5")
    site.facho.wait_for(impatient)

    with site.in_mid_walk():
        site.fleet.set_scenario(Scenario(silent=True))
    lost = "SELECT count(*) FROM olts WHERE NOT reachable"
    wait_until(lambda: site.facho.one(lost) > 0, what=lambda: f"it is noticed\n{site.facho.picture()}")
    site.fleet.set_scenario(PLAIN)

    told("packets were lost", site.runs_again(site.now()))
    assert before <= site.onus()
    site.assert_sound()
    impatient.stop()
