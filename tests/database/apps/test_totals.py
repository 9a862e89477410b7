"""Totals of executions only ever grow: who draws curves of them must not see them go back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from facho.apps.executions import store
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, State
from facho.apps.executions.store import AttemptReport, EndedAttempt
from facho.core.reasons import NO_REASON
from facho.engine.schedule.recovery import recover
from tests.engine_day import Day
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = at("10:00")
LOAD = {"requests": 10, "timeouts": 2, "varbinds": 100, "bytes_sent": 5, "bytes_received": 7, "seconds": 1.5}


def late_execution() -> Execution:
    node = make_node(make_olt("Norte"), make_job(kind="get"))
    return make_execution(node, NOW, State.RUNNING, delay_ms=7_500, why_late="olt_busy")


def add_attempt(
    execution_id: int,
    state: State,
    number: int,
    seconds: float,
    load: Mapping[str, float] | None = None,
    *,
    ended: str = "10:04",
) -> None:
    report = AttemptReport(load=load or {})
    store.write_attempt_ends(
        [EndedAttempt(execution_id, number, state, NO_REASON, at(ended), seconds, report)]
    )


def test_each_end_is_added_to_what_was_before() -> None:
    execution = late_execution()
    add_attempt(execution.id, State.SUCCESS, 1, 4.0, LOAD)
    add_attempt(execution.id, State.FAILED, 1, 70.0, LOAD)
    row = ExecutionTotals.objects.get()
    assert (row.olt_id, row.kind, row.succeeded, row.failed, row.seconds) == (
        execution.olt_id, "get", 1, 1, 74.0
    )  # fmt: skip
    within = [getattr(row, f"within_{most}s") for most in store.WITHIN]
    assert within == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert (row.delayed, row.delay_seconds) == (2, 15.0)
    assert (row.requests, row.timeouts, row.varbinds, row.snmp_seconds) == (20, 4, 200, 3.0)
    assert (row.bytes_sent, row.bytes_received) == (10, 14)


def test_an_attempt_that_is_tried_again_counts_for_its_load_and_its_wait_alone() -> None:
    execution = late_execution()
    for number, (began, ended) in enumerate([("10:00", "10:01"), ("10:03", "10:04")], 1):
        Attempt.objects.create(execution=execution, number=number, started_at=at(began), ended_at=at(ended))
    add_attempt(execution.id, State.WAITING, 1, 60.0, LOAD, ended="10:01")
    row = ExecutionTotals.objects.get()
    assert (row.succeeded, row.failed, row.delayed, row.delay_seconds, row.seconds) == (0, 0, 0, 0.0, 0.0)
    assert (row.requests, row.retries) == (10, 0)
    add_attempt(execution.id, State.SUCCESS, 2, 60.0, {})
    row.refresh_from_db()
    assert (row.retries, timedelta(seconds=row.retry_wait_seconds)) == (1, timedelta(minutes=2))


@pytest.mark.usefixtures("brands")
def test_the_engine_adds_what_its_runs_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make_node(make_olt("Sur"), make_job(retry_delay_s=120, max_attempts=2), NOW)
    day = Day(NOW)
    assert day.run(lambda _job: "no such table", takes=3.0) == [State.WAITING]
    day.now += timedelta(seconds=120)
    assert day.run(takes=4.0) == [State.SUCCESS]
    row = ExecutionTotals.objects.get(olt=node.olt)
    assert (row.kind, row.succeeded, row.failed, row.seconds) == ("discovery", 1, 0, 4.0)
    assert (row.retries, row.retry_wait_seconds, row.requests, row.delayed) == (1, 120.0, 2, 1)


def test_a_lost_process_is_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    make_node(make_olt(), make_job(max_attempts=1), NOW)
    day = Day(NOW)
    day.queue()
    assert len(day.begin()) == 1
    recover(NOW + timedelta(minutes=1), day.config)
    row = ExecutionTotals.objects.get()
    assert (row.kind, row.failed, row.seconds) == ("discovery", 1, 60.0)


def test_what_people_collect_by_hand_has_no_kind() -> None:
    execution = make_execution(make_node(make_olt()), NOW, State.RUNNING)
    Execution.objects.update(node=None)
    add_attempt(execution.id, State.SUCCESS, 1, 1.0)
    assert ExecutionTotals.objects.get().kind == ""


def test_a_removed_olt_leaves_its_numbers_in_the_sums() -> None:
    execution = late_execution()
    add_attempt(execution.id, State.SUCCESS, 1, 1.0)
    execution.olt.delete()
    row = ExecutionTotals.objects.get()
    assert (row.olt_id, row.succeeded) == (None, 1)
