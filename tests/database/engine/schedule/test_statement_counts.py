"""How many statements the engine needs: for an execution, and for steps, whatever the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from facho.apps.discovery.models import Onu
from facho.apps.executions.models import State
from facho.apps.snmp_jobs.models import SnmpJob
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.coordinate.coordinator import coordinator_step
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.runner import Runtime, run_execution
from facho.engine.schedule.scheduler import scheduler_step
from facho.sim.fleet import FleetConfig
from tests.factories import at, make_execution, make_job, make_node, make_olt
from tests.virtual_fleet import VirtualFleet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

CONFIG = Config()
# From the claim to the recorded result.
MOST_OF_AN_EXECUTION = 14
SOON = timedelta(milliseconds=100)


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the statements of this thread, without those that begin and end transactions."""
    found: list[str] = []

    def look(execute: Any, statement: str, values: Any, many: bool, context: Any) -> Any:
        if not statement.startswith(("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")):
            found.append(statement)
        return execute(statement, values, many, context)

    with connection.execute_wrapper(look):
        yield found


def listed(statements: list[str]) -> str:
    return "\n".join(f"{number:3} {each[:140]}" for number, each in enumerate(statements, 1))


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=8)) as fleet:
        yield fleet


JOBS = {
    "a table": lambda: make_job("state", kind="table", facts=["state"]),
    "a get": lambda: make_job("distance", kind="get", facts=["distance_m"]),
}


@pytest.mark.parametrize("what", JOBS)
def test_an_execution_needs_few_statements(fleet: VirtualFleet, what: str) -> None:
    olt = make_olt("north", port=fleet.addresses[0][1])
    now = at("10:00")
    run_one(make_job("discovery"), olt, fleet, now)
    job = JOBS[what]()
    # The first ones find what the OLT does not have and stands, and store what nobody knew. They follow at
    # once: the OLT's time does not pass between them, and otherwise it would seem to have restarted.
    for number in range(1, 4):
        run_one(job, olt, fleet, now + number * SOON)
    statements = run_one(job, olt, fleet, now + 4 * SOON)
    assert Onu.objects.count() == 8
    assert len(statements) <= MOST_OF_AN_EXECUTION, listed(statements)


def run_one(job: SnmpJob, olt: Any, fleet: VirtualFleet, now: datetime) -> list[str]:
    node = job.nodes.first() or make_node(olt, job)
    execution = make_execution(node, now, owes=[[node.id, job.task_type, 300]])
    register_worker("here", 1, now)
    with counted() as statements:
        (claimed,) = claim_executions(now, CONFIG)
        done = run_execution(claimed, Runtime(CONFIG, "here", fleet.snmp, lambda: now))
    assert done is not None
    assert (claimed, done.state) == (execution.id, State.SUCCESS)
    return statements


def make_nodes(count: int, next_run_at: datetime) -> None:
    job = SnmpJob.objects.filter(name="many").first() or make_job("many", kind="table", facts=["state"])
    for _ in range(count):
        make_node(make_olt(), job, next_run_at=next_run_at)


def test_a_step_of_the_scheduler_needs_no_more_statements_for_more_nodes() -> None:
    make_nodes(3, at("10:01"))
    quiet = count_scheduler_step(at("10:00:01"))
    few = count_scheduler_step(at("10:01"))
    make_nodes(20, at("10:02"))
    many = count_scheduler_step(at("10:02"))
    # SQLite has a statement for each row of these, which the wrapper sees as one.
    assert len(many) <= len(few), listed(many)
    assert len(quiet) <= 9, listed(quiet)
    assert len(few) <= 20, listed(few)


def count_scheduler_step(now: datetime) -> list[str]:
    # The once-a-minute parts come in every minute; here they would be counted by chance.
    scheduler_step(now - timedelta(seconds=0.5), CONFIG)
    with counted() as statements:
        scheduler_step(now, CONFIG)
    return statements


def test_a_step_of_the_coordinator_needs_no_more_statements_for_more_olts() -> None:
    make_nodes(3, at("10:30"))
    few = count_coordinator_step(at("10:00"))
    make_nodes(20, at("10:30"))
    many = count_coordinator_step(at("10:01"))
    assert len(many) == len(few), listed(many)
    assert len(few) <= 16, listed(few)


def count_coordinator_step(now: datetime) -> list[str]:
    """Count a step in which nothing has changed since the last one."""
    for second in range(3):
        coordinator_step(now + timedelta(seconds=second), CONFIG)
    with counted() as statements:
        coordinator_step(now + timedelta(seconds=5), CONFIG)
    return statements
