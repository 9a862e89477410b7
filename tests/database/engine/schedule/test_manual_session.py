"""A person's own conversation with an OLT: under its lease, and with a trace of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError

from facho.apps.db.database import database_now
from facho.apps.executions.models import Execution, State
from facho.cli.manual_execution import wait_for_turn
from facho.config import current
from facho.core.reasons import text_reason
from facho.engine.collect.column_reader import Guard
from facho.engine.collect.part_results import PartResult
from facho.engine.commands.runs import collect_all
from facho.engine.process.leases import LeaseLost, StartedExecution
from facho.engine.record.no_collection import record_by_hand
from facho.engine.schedule import manual_session, runner
from facho.engine.schedule.assign import claim_execution
from facho.engine.schedule.manual_session import ManualResult, Questions, run_manual_session
from facho.engine.schedule.runner import Runtime, SnmpLoop
from facho.snmp import Client, Load
from facho.snmp.errors import AddressError
from tests.factories import make_olt
from tests.waiting import PATIENCE_S

# On a server the connection is given back while the OLT is asked, and a test's own transaction with it.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with SnmpLoop() as snmp:
        yield Runtime(current(), "by hand", snmp, database_now)


@pytest.fixture
def claimed() -> Execution:
    execution_id = collect_all(make_olt("norte").name, database_now())
    assert claim_execution(execution_id, database_now(), current())
    return Execution.objects.get(id=execution_id)


def after(claimed: Execution, runtime: Runtime, conversation: Questions) -> tuple[bool, Execution]:
    whole = run_manual_session(claimed.pk, runtime, "record", conversation)
    claimed.refresh_from_db()
    assert claimed.lease_token == "" or claimed.state == State.RUNNING
    return whole, claimed


@pytest.mark.parametrize(("error", "state"), [("", State.SUCCESS), ("the OLT is gone", State.FAILED)])
def test_what_came_is_told_and_the_olt_is_free_again(
    claimed: Execution, runtime: Runtime, error: str, state: State
) -> None:
    async def conversation(_client: Client, guard: Guard, tag: int) -> ManualResult:
        guard()
        assert tag > 0
        return ManualResult(7, text_reason(error), Load(requests=3))

    whole, execution = after(claimed, runtime, conversation)
    (part,) = execution.parts
    assert (whole, execution.state, str(execution.error)) == (True, state, error)
    assert (part["job"], part["rows"], execution.load["requests"]) == ("record", 7, 3)
    assert execution.attempts.get().ended_at == execution.ended_at


def test_an_olt_that_cannot_even_be_asked_is_free_again(claimed: Execution, runtime: Runtime) -> None:
    async def conversation(_client: Client, _guard: Guard, _tag: int) -> ManualResult:
        raise AddressError("nobody knows that name")

    with pytest.raises(AddressError):
        run_manual_session(claimed.pk, runtime, "record", conversation)
    claimed.refresh_from_db()
    assert (claimed.state, str(claimed.error)) == (State.FAILED, "nobody knows that name")


def test_who_lost_the_olt_asks_nothing_more_and_writes_nothing(claimed: Execution, runtime: Runtime) -> None:
    asked = []

    async def conversation(_client: Client, guard: Guard, _tag: int) -> ManualResult:
        runtime.stopping.set()
        runtime.leases.lose_all()
        guard()
        asked.append("something")
        return ManualResult(7)

    whole, execution = after(claimed, runtime, conversation)
    assert (whole, asked, execution.state, execution.parts) == (False, [], State.ABORTED, [])


def test_what_somebody_else_started_is_not_asked_twice(claimed: Execution, runtime: Runtime) -> None:
    Execution.objects.filter(id=claimed.pk).update(state=State.ABORTED)

    async def conversation(_client: Client, _guard: Guard, _tag: int) -> ManualResult:
        raise AssertionError("it was asked")

    assert not run_manual_session(claimed.pk, runtime, "record", conversation)


def test_who_lost_an_olt_that_cannot_be_asked_is_told_so(claimed: Execution, runtime: Runtime) -> None:
    async def conversation(_client: Client, _guard: Guard, _tag: int) -> ManualResult:
        raise AddressError("nobody knows that name")

    def lost(*_: object) -> None:
        raise LeaseLost("it was disabled")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manual_session, "record_by_hand", lost)
        assert not run_manual_session(claimed.pk, runtime, "record", conversation)


def test_what_came_is_not_lost_with_a_database_that_is_locked_for_a_moment(
    claimed: Execution, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def conversation(_client: Client, _guard: Guard, _tag: int) -> ManualResult:
        return ManualResult(7)

    troubles = [OperationalError("database is locked")]

    def store(started: StartedExecution, outcome: PartResult, now: datetime) -> None:
        if troubles:
            raise troubles.pop()
        record_by_hand(started, outcome, now)

    monkeypatch.setattr(runner, "_PAUSE_S", 0)
    monkeypatch.setattr(manual_session, "record_by_hand", store)
    whole, execution = after(claimed, runtime, conversation)
    assert (whole, execution.state) == (True, State.SUCCESS)


def test_the_olt_is_taken_back_from_a_process_that_died_also_without_an_engine() -> None:
    olt, now = make_olt("norte"), database_now()
    dead = Execution.objects.create(
        olt=olt,
        state=State.RUNNING,
        attempt=1,
        slot=now,
        not_before=now,
        queued_at=now,
        lease_token="of the dead",
        lease_expires_at=now,
    )
    waiting = collect_all(olt.name, now)
    # Where it never comes, the wait is ended instead of the test hanging.
    stopping = threading.Event()
    patience = threading.Timer(PATIENCE_S, stopping.set)
    patience.start()
    wait_for_turn(waiting, replace(current(), lease_renew=timedelta(0)), stopping)
    patience.cancel()
    dead.refresh_from_db()
    assert (dead.state, Execution.objects.get(id=waiting).state) == (State.FAILED, State.PENDING)
