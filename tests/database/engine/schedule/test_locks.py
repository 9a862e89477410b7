"""Who stores results holds rows for a while: what others do meanwhile."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from facho.apps.db.database import database_now
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.process.leases import HeldLease, LeaseKeeper, LeaseLost, StartedExecution, start_execution
from facho.engine.record import no_collection
from facho.engine.record.execution_row import ExecutionBefore, check_lease
from facho.engine.record.no_collection import hand_back, record_failure
from facho.engine.schedule.recovery import Recovered, recover
from facho.engine.schedule.slots import queue_due_slots
from tests.factories import at, make_execution, make_node
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
CONFIG = Config()


@pytest.fixture(autouse=True)
def only_where_rows_are_locked(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite writers take turns")
    with connection.cursor() as cursor:
        # Who waits for a row says so at once.
        cursor.execute("SET lock_timeout = '500ms'")


def running(number: int = 1) -> StartedExecution:
    started = start_execution(
        make_execution(make_node(), at("10:00"), State.PENDING).id, f"worker-{number}", database_now, CONFIG
    )
    assert started is not None
    return started


@contextmanager
def aside(work: Callable[[Event, Event], object]) -> Iterator[Future[object]]:
    """In a thread with a connection of its own. It sets the first event when it is where it should be."""
    there, go_on = Event(), Event()

    def run() -> object:
        try:
            return work(there, go_on)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(run)
        try:
            assert there.wait(PATIENCE_S)
            yield working
        finally:
            go_on.set()


def recording(started: StartedExecution, monkeypatch: pytest.MonkeyPatch) -> Callable[[Event, Event], object]:
    """A store that takes as long as the test wants."""

    def work(there: Event, go_on: Event) -> object:
        def check_and_wait(ours: StartedExecution, now: datetime) -> ExecutionBefore:
            before = check_lease(ours, now)
            there.set()
            assert go_on.wait(PATIENCE_S)
            return before

        monkeypatch.setattr(no_collection, "check_lease", check_and_wait)
        return record_failure(started, text_reason("no answer"), datetime.now(UTC), CONFIG)

    return work


def held_by(keeper: LeaseKeeper, every: list[StartedExecution], stack: ExitStack) -> list[HeldLease]:
    return [stack.enter_context(keeper.holding(each, lambda: None)) for each in every]


def run_out(started: StartedExecution) -> None:
    Execution.objects.filter(id=started.execution_id).update(
        lease_expires_at=datetime.now(UTC) - timedelta(seconds=1)
    )


def test_a_long_store_keeps_no_other_lease_from_being_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, other = running(1), running(2)
    before = Execution.objects.get(id=other.execution_id).lease_expires_at
    with ExitStack() as stack:
        keeper = LeaseKeeper(CONFIG, database_now)
        held = held_by(keeper, [stored, other], stack)
        with aside(recording(stored, monkeypatch)) as working:
            keeper.renew()
            for each in held:
                each.check()
        assert working.result(PATIENCE_S) == State.WAITING
    after = Execution.objects.get(id=other.execution_id).lease_expires_at
    assert before is not None
    assert after is not None
    assert after > before


def test_who_was_aborted_during_the_store_of_another_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, aborted = running(1), running(2)
    with ExitStack() as stack:
        keeper = LeaseKeeper(CONFIG, database_now)
        held = held_by(keeper, [stored, aborted], stack)
        with aside(recording(stored, monkeypatch)):
            Execution.objects.filter(id=aborted.execution_id).update(state=State.ABORTED)
            keeper.renew()
            held[0].check()
            with pytest.raises(LeaseLost):
                held[1].check()


def test_what_is_being_stored_is_not_taken_back_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lease runs out meanwhile: nobody could renew it."""
    stored, dead = running(1), running(2)
    with aside(recording(stored, monkeypatch)) as working:
        run_out(dead)
        now = datetime.now(UTC) + CONFIG.lease
        assert recover(now, CONFIG) == Recovered(abandoned=1)
        assert Execution.objects.get(id=stored.execution_id).state == State.RUNNING
    assert working.result(PATIENCE_S) == State.WAITING
    assert str(Attempt.objects.get(execution=stored.execution_id).error) == "no answer"


def test_a_slot_is_skipped_because_of_what_is_being_stored_without_waiting_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The skipped slot refers to the execution, and the recorder wants the node that the scheduler has."""
    node = make_node(next_run_at=at("10:10"))
    started = start_execution(
        make_execution(node, at("10:00"), State.PENDING).id, "worker-1", database_now, CONFIG
    )
    assert started is not None
    with aside(recording(started, monkeypatch)) as working:
        assert queue_due_slots(at("10:10"), CONFIG).skipped == 1
    assert working.result(PATIENCE_S) == State.WAITING
    assert SkippedSlots.objects.get().execution_id == started.execution_id


def fail(started: StartedExecution) -> None:
    record_failure(started, text_reason("no answer"), datetime.now(UTC), CONFIG)


def stop(started: StartedExecution) -> None:
    hand_back(started, datetime.now(UTC), CONFIG)


def disappear(started: StartedExecution) -> None:
    assert recover(datetime.now(UTC) + CONFIG.lease, CONFIG).abandoned == 1


def locked(queries: CaptureQueriesContext) -> list[str]:
    """The tables of which the last transaction locked rows, each once, in that order."""
    statements = [query["sql"] for query in queries.captured_queries]
    last = statements[len(statements) - statements[::-1].index("BEGIN") :]
    locks = [each for each in last if re.search("^UPDATE|FOR (NO KEY )?UPDATE", each)]
    tables = [re.findall(r"snmp_executions|olts|snmp_job_hosts", each)[:1] for each in locks]
    return list(dict.fromkeys(table for found in tables for table in found))


@pytest.mark.parametrize(
    ("end", "order"),
    [
        (fail, ["snmp_executions", "olts", "snmp_job_hosts"]),
        (disappear, ["snmp_executions", "olts", "snmp_job_hosts"]),
        (stop, ["snmp_executions", "snmp_job_hosts"]),
    ],
)
def test_all_who_end_an_execution_lock_it_first_then_its_olt_then_its_node(
    end: Callable[[StartedExecution], None], order: list[str]
) -> None:
    """In two orders, two of them could wait for each other until the database ends one."""
    started = running()
    with CaptureQueriesContext(connection) as queries:
        end(started)
    assert locked(queries) == order
