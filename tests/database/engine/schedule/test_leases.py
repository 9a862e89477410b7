"""One process at a time has an OLT, and what a dead one left is taken back."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from facho.apps.db.database import ClockJumpDetector
from facho.apps.executions.models import Attempt, Execution, State, Trigger
from facho.apps.executions.subjects import read_started
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.models import Poller, Worker
from facho.apps.zabbix_pollers.store import register_worker, unregister_worker, update_heartbeat
from facho.config import Config
from facho.core.reasons import Reason, text_reason
from facho.engine.commands.runs import keep_waiting
from facho.engine.process import leases
from facho.engine.process.leases import (
    ExecutionStarter,
    LeaseKeeper,
    LeaseLost,
    release_lease,
    start_execution,
)
from facho.engine.record.no_collection import hand_back, record_failure
from facho.engine.schedule.recovery import Recovered, recover
from facho.engine.schedule.scheduler import scheduler_step
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = pytest.mark.django_db
CONFIG = Config()
LENGTH = CONFIG.lease


class Clocks:
    """Both clocks, set by the test."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.boottime = 1000.0

    def read(self) -> datetime:
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.boottime += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks(at("10:00:01"))
    monkeypatch.setattr(leases, "boottime", lambda: clocks.boottime)
    return clocks


def columns(execution: Execution, *names: str) -> tuple[Any, ...]:
    return tuple(Execution.objects.filter(id=execution.id).values_list(*names).get())


def test_the_database_itself_refuses_a_second_execution_on_an_olt() -> None:
    olt = make_olt()
    make_execution(make_node(olt), at("10:00"), State.RUNNING)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_execution(make_node(olt), at("10:00"), State.PENDING)


def test_the_database_itself_refuses_to_queue_a_slot_twice() -> None:
    node = make_node()
    make_execution(node, at("10:00"), State.SUCCESS)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_execution(node, at("10:00"), State.FAILED)


def test_starting_counts_the_attempt_and_takes_the_lease(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)

    started = start_execution(pending.id, "here", clocks.read, CONFIG)

    assert started is not None
    assert columns(pending, "state", "attempt", "worker", "lease_token", "delay_ms", "why_late") == (
        ("RUNNING", 1, "here", started.token, 1000, "")
    )
    assert Attempt.objects.get().number == 1


def test_a_message_delivered_twice_starts_nothing(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    assert start_execution(pending.id, "here", clocks.read, CONFIG) is not None
    assert start_execution(pending.id, "there", clocks.read, CONFIG) is None


def test_a_late_start_says_what_held_the_olt(clocks: Clocks) -> None:
    olt = make_olt()
    blocker = make_execution(make_node(olt), at("09:59"), State.SUCCESS, ended_at=at("10:00:29"))
    blocker.attempts.create(number=1, started_at=at("09:59"), ended_at=at("10:00:29"))
    pending = make_execution(make_node(olt), at("10:00"), State.PENDING)
    clocks.pass_time(29)

    start_execution(pending.id, "here", clocks.read, CONFIG)

    assert columns(pending, "delay_ms", "why_late", "blocked_by") == (30_000, "olt_busy", blocker.id)


def test_an_execution_that_waits_for_its_retry_is_not_what_held_the_olt(clocks: Clocks) -> None:
    olt = make_olt()
    retrying = make_execution(make_node(olt), at("09:58"), not_before=at("10:01"), started_at=at("09:58"))
    retrying.attempts.create(number=1, started_at=at("09:58"), ended_at=at("09:59"), error="no answer")
    pending = make_execution(make_node(olt), at("10:00"), State.PENDING)
    clocks.pass_time(29)

    start_execution(pending.id, "here", clocks.read, CONFIG)

    assert columns(pending, "delay_ms", "why_late", "blocked_by") == (30_000, "pollers_busy", None)


def test_a_clock_set_forward_does_not_take_an_olt_from_who_still_asks_it(
    clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guard counts on another clock, and lets it send until it next renews."""
    monkeypatch.setattr("facho.apps.db.database.boottime", lambda: clocks.boottime)
    jumps = ClockJumpDetector()
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started, keeper = (
        start_execution(pending.id, "here", clocks.read, CONFIG),
        LeaseKeeper(CONFIG, clocks.read),
    )
    assert started is not None
    with keeper.holding(started, lambda: None) as held:
        scheduler_step(clocks.now, CONFIG, jumps)
        clocks.now += timedelta(hours=1)
        clocks.pass_time(1)
        scheduler_step(clocks.now, CONFIG, jumps)
        held.check()
        assert columns(pending, "state", "lease_token") == ("RUNNING", started.token)
        keeper.renew()
        held.check()
    clocks.pass_time(21)
    scheduler_step(clocks.now, CONFIG, jumps)
    assert columns(pending, "state", "lease_token") == ("WAITING", "")


@pytest.mark.parametrize("off", ["node", "job"])
def test_what_was_switched_off_while_it_ran_is_not_run_again(clocks: Clocks, off: str) -> None:
    running = [make_execution(make_node(), at("10:00"), State.PENDING) for _ in range(3)]
    failed, handed, _lost = (start_execution(each.id, "here", clocks.read, CONFIG) for each in running)
    assert failed is not None
    assert handed is not None
    SnmpJobHost.objects.update(enabled=off != "node")
    SnmpJob.objects.update(enabled=off != "job")

    record_failure(failed, text_reason("no answer"), clocks.now, CONFIG)
    hand_back(handed, clocks.now, CONFIG)
    clocks.pass_time(21)
    recover(clocks.now, CONFIG)

    assert [columns(each, "state")[0] for each in running] == ["FAILED", "ABORTED", "FAILED"]


def test_the_guard_lets_send_for_three_quarters_of_the_lease(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started = start_execution(pending.id, "here", clocks.read, CONFIG)
    assert started is not None
    with LeaseKeeper(CONFIG, clocks.read).holding(started, lambda: None) as held:
        clocks.pass_time(15)
        held.check()
        clocks.pass_time(0.1)
        with pytest.raises(LeaseLost):
            held.check()


def test_a_renewal_lets_send_again(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started, keeper = (
        start_execution(pending.id, "here", clocks.read, CONFIG),
        LeaseKeeper(CONFIG, clocks.read),
    )
    assert started is not None
    with keeper.holding(started, lambda: None) as held:
        clocks.pass_time(14)
        keeper.renew()
        clocks.pass_time(14)
        held.check()
    assert columns(pending, "lease_expires_at") == (clocks.now - timedelta(seconds=14) + LENGTH,)


def test_an_abort_reaches_the_holder_at_its_next_renewal(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started, keeper = (
        start_execution(pending.id, "here", clocks.read, CONFIG),
        LeaseKeeper(CONFIG, clocks.read),
    )
    assert started is not None
    cancelled: list[bool] = []
    with keeper.holding(started, lambda: cancelled.append(True)) as held:
        Execution.objects.update(state=State.ABORTED)
        keeper.renew()
        assert cancelled == [True]
        with pytest.raises(LeaseLost):
            held.check()
    release_lease(started)
    assert columns(pending, "state", "lease_token", "lease_expires_at") == ("ABORTED", "", None)


def test_a_lease_that_ran_out_is_not_renewed_though_nobody_took_it(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started, keeper = (
        start_execution(pending.id, "here", clocks.read, CONFIG),
        LeaseKeeper(CONFIG, clocks.read),
    )
    assert started is not None
    with keeper.holding(started, lambda: None) as held:
        clocks.pass_time(21)
        keeper.renew()
        with pytest.raises(LeaseLost):
            held.check()


def test_what_was_claimed_and_never_begun_waits_again() -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    assert recover(at("10:00:19"), CONFIG) == Recovered()
    assert recover(at("10:00:20"), CONFIG) == Recovered(unstarted=1)
    assert columns(pending, "state", "lease_expires_at") == ("WAITING", None)


def test_what_a_dead_process_ran_waits_again_and_says_why(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    start_execution(pending.id, "there", clocks.read, CONFIG)

    assert recover(clocks.now + LENGTH, CONFIG) == Recovered(abandoned=1)

    assert columns(pending, "state", "lease_token", "attempt", "slot") == ("WAITING", "", 1, at("10:00"))
    assert str(Attempt.objects.get().error) == "the process that ran it disappeared (there)"


def lose_attempts(node: SnmpJobHost, slot: str, *numbers: int) -> None:
    """One after the other, of one slot: each time the process dies that runs it."""
    running = make_execution(node, at(slot), State.RUNNING, attempt=0)
    for number in numbers:
        Execution.objects.filter(id=running.id).update(
            state=State.RUNNING, attempt=number, lease_expires_at=at(slot)
        )
        recover(at(slot), CONFIG)


def suspended(node: SnmpJobHost) -> str:
    return str(SnmpJobHost.objects.get(id=node.id).suspended_reason)


def test_what_kills_every_process_is_suspended() -> None:
    node = make_node(job=make_job(max_attempts=3))

    lose_attempts(node, "10:00", 1, 2)
    assert suspended(node) == ""
    assert Execution.objects.get().state == State.WAITING

    Execution.objects.all().delete()
    lose_attempts(node, "10:10", 3)
    execution = Execution.objects.get()
    assert (execution.state, execution.ended_at) == (State.FAILED, at("10:10"))
    found = SnmpJobHost.objects.get(id=node.id)
    assert str(found.suspended_reason) == "the process that ran it disappeared (somebody)"
    assert (found.failures_in_a_row, found.next_probe_at) == (3, at("10:11"))


def test_a_power_cut_in_the_only_attempt_suspends_nothing_but_a_second_one_does() -> None:
    node = make_node(job=make_job(max_attempts=1))
    lose_attempts(node, "10:00", 1)
    assert Execution.objects.get().state == State.FAILED
    assert suspended(node) == ""
    lose_attempts(node, "10:10", 1)
    assert suspended(node)


def test_an_orderly_stop_suspends_nothing_however_often_it_comes(clocks: Clocks) -> None:
    node = make_node(job=make_job(max_attempts=1))
    pending = make_execution(node, at("10:00"), State.PENDING)
    for _ in range(5):
        started = start_execution(pending.id, "here", clocks.read, CONFIG)
        assert started is not None
        hand_back(started, clocks.now, CONFIG)
        Execution.objects.update(state=State.PENDING)
    assert suspended(node) == ""
    assert SnmpJobHost.objects.get(id=node.id).failures_in_a_row == 0


def test_those_lost_together_again_and_again_come_back_one_after_the_other() -> None:
    """One of them kills its process, and the others must not be lost with it to their last attempt."""
    first = [make_execution(make_node(), at("10:00"), State.RUNNING, attempt=1) for _ in range(3)]
    recover(at("10:00:20"), CONFIG)
    assert [columns(each, "not_before")[0] for each in first] == [at("10:00:20")] * 3

    Execution.objects.update(state=State.RUNNING, attempt=2, lease_expires_at=at("10:00:40"))
    recover(at("10:00:40"), CONFIG)
    assert [columns(each, "not_before")[0] for each in first] == [
        at("10:00:40"),
        at("10:01:00"),
        at("10:01:20"),
    ]


def test_what_a_dead_process_ran_gives_way_to_the_run_that_a_person_asked_for() -> None:
    node = make_node()
    running = make_execution(node, at("10:00"), State.RUNNING, attempt=1)
    asked = make_execution(node, at("10:00:05"), trigger=Trigger.RUN_NOW, run_now=True)
    recover(at("10:00:20"), CONFIG)
    assert columns(running, "state") == ("FAILED",)
    assert columns(asked, "state") == ("WAITING",)


def test_a_clock_set_back_leaves_a_living_holder_its_lease_and_frees_a_dead_ones() -> None:
    running = make_execution(make_node(), at("12:00"), State.RUNNING, attempt=1)

    assert recover(at("10:00"), CONFIG) == Recovered()
    assert columns(running, "state", "lease_expires_at") == ("RUNNING", at("10:00:20"))
    assert recover(at("10:00:20"), CONFIG) == Recovered(abandoned=1)


def test_a_worker_that_is_not_heard_of_leaves_the_pool() -> None:
    Worker.objects.create(name="there", pollers=2, started_at=at("09:00"), seen_at=at("10:00"))
    Poller.objects.create(worker="there", poller_id=1, heartbeat=at("10:00"))
    assert recover(at("10:00:15"), CONFIG) == Recovered()
    assert recover(at("10:00:16"), CONFIG) == Recovered(workers=1)
    assert (Worker.objects.count(), Poller.objects.count()) == (0, 0)


def test_a_worker_that_was_forgotten_and_lives_comes_back() -> None:
    """It was frozen, or the database was away."""
    register_worker("there", 2, at("10:00"))
    recover(at("10:01"), CONFIG)
    update_heartbeat("there", 2, at("10:01:05"))
    assert list(Worker.objects.values_list("name", "pollers", "seen_at")) == [("there", 2, at("10:01:05"))]
    assert Poller.objects.filter(worker="there").count() == 2


def test_the_last_to_leave_gives_back_what_nobody_is_there_to_begin() -> None:
    for name in ("first", "last"):
        register_worker(name, 2, at("10:00"))
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    unregister_worker("first")
    assert columns(pending, "state") == ("PENDING",)
    unregister_worker("last")
    assert columns(pending, "state", "lease_expires_at", "attempt") == ("WAITING", None, 0)


def test_handing_back_does_not_cost_an_attempt(clocks: Clocks) -> None:
    pending = make_execution(make_node(), at("10:00"), State.PENDING)
    started = start_execution(pending.id, "here", clocks.read, CONFIG)
    assert started is not None

    hand_back(started, clocks.now, CONFIG)

    assert columns(pending, "state", "attempt", "lease_token") == ("WAITING", 0, "")
    assert not Attempt.objects.exists()
    assert recover(clocks.now + LENGTH, CONFIG) == Recovered()


def test_a_collection_by_hand_ends_with_the_process_that_waits_to_run_it() -> None:
    olt = make_olt()
    gone, waited_for = (
        Execution.objects.create(
            olt=olt, trigger=Trigger.RUN_NOW, slot=at("10:00"), not_before=at("10:00"), queued_at=at("10:00")
        )
        for _ in range(2)
    )
    keep_waiting(waited_for.id, at("10:00:30"))

    recover(at("10:00:45"), CONFIG)

    assert columns(gone, "state", "error") == ("ABORTED", Reason.of("asking_process_gone"))
    assert columns(waited_for, "state") == ("WAITING",)


def test_executions_that_start_together_are_each_started_once(clocks: Clocks) -> None:
    """One is delivered twice, one was aborted meanwhile, and one is unknown."""
    first, second, aborted = (make_execution(make_node(), at("10:00"), State.PENDING) for _ in range(3))
    Execution.objects.filter(id=aborted.id).update(state=State.ABORTED)
    starter = ExecutionStarter("here", clocks.read, CONFIG)
    wanted = [(second.id, "b"), (first.id, "a"), (second.id, "again"), (aborted.id, "c"), (10**9, "d")]

    taken = [row for _, row in starter._take(wanted)]

    assert [row is not None for row in taken] == [True, True, False, False, False]
    rows = Execution.objects.filter(id__in=[first.id, second.id]).order_by("id")
    assert [(each.state, each.lease_token, each.attempt) for each in rows] == [
        (State.RUNNING, "a", 1),
        (State.RUNNING, "b", 1),
    ]
    assert [each.olt_id for each in map(read_started, filter(None, taken))] == [second.olt_id, first.olt_id]
    attempts = Attempt.objects.filter(execution__in=[first, second, aborted])
    assert sorted(attempts.values_list("execution", "number")) == [(first.id, 1), (second.id, 1)]
    runs = {each.execution_id: each.id for each in attempts}
    assert [each.run_id for each in map(read_started, filter(None, taken))] == [
        runs[second.id],
        runs[first.id],
    ]
