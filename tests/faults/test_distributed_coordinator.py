"""What is switched off or changed while workers are at it: by a command, and behind everybody's back."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.faults.distributed import JOBS, NODES, OLTS, TRIES, Site, run_site
from tests.faults.engines import Engine
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import comes_true, wait_until

# What a frozen worker was given stays with it, however long it is frozen: it is to be found there.
PATIENT: Final = {"FACHO_LEASE": "600", "FACHO_LEASE_RENEW": "0.4", "FACHO_WORKER_SEEN_WITHIN": "600"}
# Until steps of the scheduler have given it something, if there is anything to give.
GIVEN_WITHIN_S: Final = 15.0


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, shared_postgres: Postgres, shared_redis: Redis
) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("site")
    with run_site(folder, shared_postgres, shared_redis) as site:
        site.facho.settings.update(PATIENT)
        site.ready(workers=1)
        yield site


def change(site: Site, *statements: str) -> None:
    """As somebody with a terminal would, all at once."""
    with psycopg.connect(site.facho.database_url) as connection:
        for statement in statements:
            connection.execute(statement)


def logged(site: Site, since: datetime) -> set[tuple[str, str]]:
    """Events with their OLTs."""
    rows = site.facho.rows(
        "SELECT l.event_type, o.name FROM coordinator_logs l JOIN olts o ON o.id = l.olt_id "
        f"WHERE l.timestamp >= '{since}'"
    )
    return {(event, olt) for event, olt in rows}


def waits_for_log(site: Site, since: datetime, *expected: tuple[str, str]) -> float:
    """The log is written to the database a second later."""
    wanted = set(expected)
    return wait_until(
        lambda: wanted <= logged(site, since),
        what=lambda: f"{wanted - logged(site, since)} is logged\n{site.facho.picture()}",
    )


def open_of(site: Site, where: str) -> int:
    count = site.facho.one(
        "SELECT count(*) FROM snmp_executions e JOIN snmp_job_hosts n ON n.id = e.node_id "
        f"JOIN snmp_jobs j ON j.id = n.job_id JOIN olts o ON o.id = e.olt_id "
        f"WHERE e.state IN ('WAITING', 'PENDING', 'RUNNING') AND ({where})"
    )
    assert isinstance(count, int)
    return count


def trackers(site: Site, where: str) -> list[tuple[str, int]]:
    """Status, and what is pending, of the trackers that are open or were closed just now."""
    return [
        (status, pending)
        for status, pending in site.facho.rows(
            "SELECT t.status, t.quota_pending FROM quota_tracker t JOIN olts o ON o.id = t.olt_id "
            f"WHERE t.period_end > clock_timestamp() AND {where}"
        )
    ]


def have_ended(site: Site, worker: Engine, executions: set[int]) -> bool:
    return executions.isdisjoint(execution for execution, _ in site.running(worker))


@contextlib.contextmanager
def frozen_with(site: Site, worker: Engine, given: Callable[[], object]) -> Iterator[None]:
    """The worker is frozen while it has been given something, but has not begun it."""
    for _ in range(TRIES):
        worker.send(signal.SIGSTOP)
        begun = {execution for execution, _ in site.running(worker)}
        try:
            # It may have begun something on every OLT before it froze: then nothing more is given to it.
            if comes_true(given, GIVEN_WITHIN_S):
                yield
                return
        finally:
            worker.send(signal.SIGCONT)
        wait_until(
            partial(have_ended, site, worker, begun),
            what=lambda: f"it ends what it had begun\n{site.facho.picture()}",
        )
    raise AssertionError(f"the worker is given nothing\n{site.facho.picture()}")


def test_a_job_is_disabled_while_its_execution_is_on_its_way(site: Site) -> None:
    pending = (
        "SELECT e.id, e.attempt FROM snmp_executions e JOIN snmp_job_hosts n ON n.id = e.node_id "
        "JOIN snmp_jobs j ON j.id = n.job_id WHERE e.state = 'PENDING' AND j.name = 'discovery'"
    )
    # Its executions would be given to the worker first, and discoveries would wait behind them.
    site.facho.run("job", "disable", "state")
    with frozen_with(site, site.workers[0], lambda: site.facho.rows(pending)):
        (execution, attempt), since = site.facho.rows(pending)[0], site.now()

        site.facho.run("job", "disable", "discovery")

        assert site.facho.one(f"SELECT state FROM snmp_executions WHERE id = {execution}") == "ABORTED"
        assert open_of(site, "j.name = 'discovery' AND e.state <> 'RUNNING'") == 0
        running = open_of(site, "j.name = 'discovery'")
        assert sum(left for _, left in trackers(site, "t.task_type = 'discovery'")) == running
        waits_for_log(site, since, *(("TASK_REMOVED", f"olt-{number}") for number in range(OLTS)))

    for job in ("discovery", "state"):
        site.facho.run("job", "enable", job)
    site.runs_again(site.now())
    # The message that the worker had got was for nothing.
    assert site.facho.one(f"SELECT attempt FROM snmp_executions WHERE id = {execution}") == attempt
    assert all(left > 0 for _, left in trackers(site, "t.task_type = 'discovery'"))
    site.assert_sound()


def test_an_olt_is_disabled_while_it_is_walked(site: Site) -> None:
    with site.in_mid_walk() as (held, *_):
        olt = site.facho.one(
            f"SELECT o.name FROM olts o JOIN snmp_executions e ON e.olt_id = o.id WHERE e.id = {held}"
        )
        number = int(olt.removeprefix("olt-"))
        collected = (
            "SELECT datum, collected_at FROM olt_collected c JOIN olts o ON o.id = c.olt_id "
            f"WHERE o.name = '{olt}' ORDER BY datum"
        )
        before, since = site.facho.rows(collected), site.now()

        site.facho.run("olt", "disable", olt)

        assert site.facho.one(f"SELECT state FROM snmp_executions WHERE id = {held}") == "ABORTED"
        assert open_of(site, f"o.name = '{olt}'") == 0
        assert {status for status, _ in trackers(site, f"o.name = '{olt}'")} == {"INTERRUPTED"}
        lease = f"SELECT lease_token FROM snmp_executions WHERE id = {held}"
        wait_until(lambda: site.facho.one(lease) == "", what=lambda: f"it lets go\n{site.facho.picture()}")
        asked = site.fleet.report().olts[number].requests
    # The answer comes now, and the same worker goes on with the other OLTs.
    site.runs_again(site.now(), NODES - len(JOBS))
    assert site.fleet.report().olts[number].requests == asked
    assert site.facho.rows(collected) == before, "nothing was stored"
    waits_for_log(site, since, ("OLT_DISABLED", olt))

    site.facho.run("olt", "enable", olt)
    waits_for_log(site, since, ("OLT_ENABLED", olt))
    site.runs_again(site.now())
    site.assert_sound()


def test_changes_behind_everybodys_back_are_found(site: Site) -> None:
    of = (
        "(SELECT n.id FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id "
        "JOIN olts o ON o.id = n.olt_id WHERE j.name = '{}' AND o.name = '{}')"
    )
    since = site.now()

    change(
        site,
        f"UPDATE snmp_job_hosts SET interval_s = 4 WHERE id = {of.format('state', 'olt-0')}",
        f"UPDATE snmp_job_hosts SET enabled = false WHERE id = {of.format('state', 'olt-1')}",
        f"UPDATE snmp_job_hosts SET priority = 7 WHERE id = {of.format('state', 'olt-2')}",
        "UPDATE olts SET enabled = false WHERE name = 'olt-3'",
    )

    took = waits_for_log(
        site,
        since,
        ("TASK_INTERVAL_CHANGED", "olt-0"),
        ("TASK_REMOVED", "olt-1"),
        ("CONFIG_CHANGED", "olt-2"),
        ("OLT_DISABLED", "olt-3"),
    )
    print(f"changes by SQL were found, and in the log, after {took:.1f} s")
    assert (
        open_of(site, "o.name = 'olt-3' OR (o.name = 'olt-1' AND j.name = 'state' AND e.state <> 'RUNNING')")
        == 0
    )
    assert {status for status, _ in trackers(site, "o.name = 'olt-3'")} == {"INTERRUPTED"}
    assert {pending for _, pending in trackers(site, "o.name = 'olt-1' AND t.task_type = 'table_state'")} <= {
        0,
        1,
    }
