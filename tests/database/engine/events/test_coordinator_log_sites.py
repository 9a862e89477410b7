"""What the engine tells in the coordinator's log, from the places where it happens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.executions.models import Execution, State
from facho.apps.zabbix_pollers.models import PollerStats, Worker
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.process.leases import StartedExecution
from facho.engine.record.suspension import resume_node, resume_olt, suspend_node, suspend_olt
from facho.engine.schedule.recovery import extend_leases_after_clock_jump, recover
from facho.engine.schedule.runner import Runtime, abandon_execution, write_poller_stats
from facho.engine.schedule.slots import reset_slots_too_far_ahead
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
MINUTE = timedelta(minutes=1)
CONFIG = Config()
Logged = Callable[[], list[CoordinatorLog]]


def told(logged: Logged) -> list[tuple[str, int | None, dict[str, Any]]]:
    return [(row.event_type, row.olt_id, row.details) for row in logged()]


def test_an_olt_that_is_suspended_and_comes_back(logged: Logged) -> None:
    olt = make_olt()
    suspend_olt(olt, text_reason("no answer"), NOW, MINUTE, Config())
    resume_olt(olt.id, NOW)
    resume_olt(olt.id, NOW)
    assert told(logged) == [
        ("OLT_SUSPENDED", olt.id, {"reason": "no answer"}),
        ("OLT_BACK", olt.id, {}),
    ]


def test_a_node_that_is_suspended_and_comes_back(logged: Logged) -> None:
    node = make_node(job=make_job("optics"))
    suspend_node(node, text_reason("tooBig"), NOW, MINUTE)
    resume_node(node.id, NOW)
    about = {"node_id": node.id, "job": "optics"}
    assert told(logged) == [
        ("NODE_SUSPENDED", node.olt_id, {**about, "reason": "tooBig"}),
        ("NODE_BACK", node.olt_id, about),
    ]


def test_what_a_dead_process_left(logged: Logged) -> None:
    make_execution(make_node(), NOW - MINUTE, State.RUNNING)
    make_execution(make_node(), NOW - MINUTE, State.PENDING)
    Worker.objects.create(name="w", pollers=1, started_at=NOW - MINUTE, seen_at=NOW - MINUTE)
    recover(NOW, CONFIG)
    recover(NOW, CONFIG)
    assert told(logged) == [("RECOVERED", None, {"unstarted": 1, "abandoned": 1, "workers": 1})]


def test_a_clock_that_was_set(logged: Logged) -> None:
    extend_leases_after_clock_jump(NOW, timedelta(hours=1), CONFIG)
    make_node(next_run_at=NOW + timedelta(hours=2, minutes=4), job=make_job(interval=300))
    reset_slots_too_far_ahead(NOW, CONFIG)
    assert told(logged) == [
        ("CLOCK_CHANGED", None, {"seconds": 3600.0}),
        ("CLOCK_CHANGED", None, {"seconds": -7140.0}),
    ]
    assert [row.message for row in logged()] == [
        "el reloj se adelantó unos 1 h",
        "el reloj se atrasó unos 119 min",
    ]


def test_the_beginning_and_the_end_of_saturation(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = iter([10.0, 80.0, 90.0, 20.0, 20.0])
    monkeypatch.setattr("facho.apps.zabbix_pollers.selectors.busy_percentage", lambda *_: next(busy))
    for minute in range(5):
        write_poller_stats(NOW + minute * MINUTE, CONFIG)
    assert PollerStats.objects.count() == 5
    assert [(row.event_type, row.timestamp) for row in logged()] == [
        ("SATURATION_BEGINS", NOW + MINUTE),
        ("SATURATION_ENDS", NOW + 3 * MINUTE),
    ]


def given_up(execution: Execution, *, stopping: bool = False) -> None:
    assert execution.node_id is not None
    started = StartedExecution(
        execution.id, 1, execution.olt_id, execution.node_id, execution.lease_token, 1, NOW, False, 0.0
    )
    runtime = Runtime(CONFIG, "w1", cast(Any, None), lambda: NOW)
    if stopping:
        runtime.stopping.set()
    abandon_execution(started, runtime)


def test_a_lease_that_was_lost_to_somebody_else(logged: Logged) -> None:
    execution = make_execution(make_node(), NOW, State.RUNNING, lease_token="mine")
    Execution.objects.update(lease_token="another one's")
    given_up(execution)
    about = {"execution_id": execution.id, "worker": "w1"}
    assert told(logged) == [("LEASE_LOST", execution.olt_id, about)]


@pytest.mark.parametrize("how", ["aborted", "stopping"])
def test_who_lets_go_in_order_has_lost_nothing(how: str, logged: Logged) -> None:
    execution = make_execution(make_node(), NOW, State.RUNNING)
    if how == "aborted":
        Execution.objects.update(state=State.ABORTED)
    given_up(execution, stopping=how == "stopping")
    assert told(logged) == []
