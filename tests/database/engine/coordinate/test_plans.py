"""Executions are kept for a month: what is asked every few seconds must not look through all of them."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.executions.models import State
from facho.apps.zabbix_pollers.models import PollerStats
from facho.apps.zabbix_pollers.selectors import poller_stats
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.process.leases import start_execution
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.recovery import extend_leases_after_clock_jump, recover
from facho.engine.schedule.slots import queue_due_slots
from facho.web.dashboard.data import read_live, read_overview
from tests.factories import at, make_execution, make_node

pytestmark = pytest.mark.django_db
CONFIG = Config()
NOW = at("10:00")
LAST = PollerStats(timestamp=NOW - timedelta(minutes=1), total_tasks_completed=0, total_tasks_delayed=0)


def claim_some() -> None:
    register_worker("here", 10, NOW)
    assert claim_executions(NOW, CONFIG)


def start_late() -> None:
    late = make_execution(make_node(), NOW - timedelta(minutes=10), State.PENDING)
    assert start_execution(late.id, "here", lambda: NOW, CONFIG) is not None


ASKED: dict[str, Callable[[], object]] = {
    "the dashboard": lambda: (read_live(NOW, CONFIG), read_overview(NOW, CONFIG)),
    "the row of poller stats": lambda: poller_stats(NOW, CONFIG, LAST),
    "the scheduler": lambda: queue_due_slots(NOW, CONFIG),
    "the claim": claim_some,
    "the recovery": lambda: recover(NOW, CONFIG),
    "a clock set forward": lambda: extend_leases_after_clock_jump(NOW, timedelta(hours=1), CONFIG),
    "a late start": start_late,
}


def plans(queries: CaptureQueriesContext) -> Iterator[tuple[str, str]]:
    """Each statement that looks for executions, with its plan."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        # Of a table without rows the plan would be another one.
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        for query in list(queries.captured_queries):
            statement = query["sql"]
            if "snmp_executions" in statement and re.match("SELECT|UPDATE", statement):
                cursor.execute(f"{explain} {statement}")
                yield statement, "\n".join(str(row[-1]) for row in cursor.fetchall())


def wrong(statement: str, plan: str) -> bool:
    """The index of leases is short. That by state is long for those that ended, which are nearly all."""
    looks_through = re.search(r"Seq Scan on snmp_executions|SCAN (snmp_executions|e)\b(?!.*_leased)", plan)
    asks_ended = re.search(r"IN \('SUCCESS'", statement) is not None and "snmp_executions_by_state" in plan
    # Of one OLT, all that ever ran there.
    asks_olt = re.search(r"snmp_executions USING INDEX \w*olt_id\w* \(olt_id=\?\)", plan)
    return bool(looks_through or asks_ended or asks_olt)


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_all_the_time_is_found_by_an_index(asked: str) -> None:
    for state in (State.RUNNING, State.WAITING):
        node = make_node(next_run_at=NOW)
        make_execution(node, NOW - timedelta(minutes=1), state)
    with CaptureQueriesContext(connection) as queries:
        ASKED[asked]()
    found = list(plans(queries))
    assert found
    for statement, plan in found:
        assert not wrong(statement, plan), f"{statement}\n{plan}"
