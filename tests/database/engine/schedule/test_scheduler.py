"""What the scheduler does with slots that have come."""

from datetime import timedelta
from typing import Any

import pytest

from facho.apps.executions.models import Execution, SkippedSlots, State, Trigger
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.models import PollerStats
from facho.config import Config
from facho.engine.coordinate.changes import handle_changes
from facho.engine.schedule import scheduler, slots
from facho.engine.schedule.runner import write_poller_stats
from facho.engine.schedule.scheduler import scheduler_step
from facho.engine.schedule.slots import QueueResult, queue_due_slots, reset_slots_too_far_ahead
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = pytest.mark.django_db
CONFIG = Config()


def next_run(node: SnmpJobHost) -> object:
    node.refresh_from_db()
    return node.next_run_at


def test_a_due_node_is_queued_and_its_next_slot_set() -> None:
    node = make_node(next_run_at=at("10:01"), job=make_job(interval=600))

    assert queue_due_slots(at("10:01"), CONFIG) == QueueResult(queued=1)

    execution = Execution.objects.get()
    assert (execution.state, execution.slot, execution.trigger) == ("WAITING", at("10:01"), "schedule")
    assert next_run(node) == at("10:11")


def test_a_second_step_does_nothing_more() -> None:
    make_node(next_run_at=at("10:01"))
    queue_due_slots(at("10:01"), CONFIG)
    assert queue_due_slots(at("10:01:01"), CONFIG) == QueueResult()


def test_a_node_that_is_not_due_is_left_alone() -> None:
    make_node(next_run_at=at("10:01"))
    assert queue_due_slots(at("10:00:59"), CONFIG) == QueueResult()


def test_after_a_stop_a_node_runs_once_and_the_rest_is_counted_as_skipped() -> None:
    node = make_node(next_run_at=at("10:00"), job=make_job(interval=300))

    assert queue_due_slots(at("11:02"), CONFIG) == QueueResult(queued=1, skipped=12)

    assert Execution.objects.get().slot == at("11:00")
    skipped = SkippedSlots.objects.get()
    assert (skipped.count, skipped.why) == (12, "engine_stopped")
    assert (skipped.first_slot, skipped.last_slot) == (at("10:00"), at("10:55"))
    assert next_run(node) == at("11:05")


@pytest.mark.parametrize("what", ["node", "job", "olt"])
def test_what_is_switched_off_is_not_queued(what: str) -> None:
    make_node(next_run_at=at("10:00"))
    models: dict[str, type[SnmpJobHost] | type[SnmpJob] | type[Olt]] = {
        "node": SnmpJobHost,
        "job": SnmpJob,
        "olt": Olt,
    }
    models[what].objects.update(enabled=False)
    assert queue_due_slots(at("10:00"), CONFIG) == QueueResult()


def test_a_slot_is_skipped_while_the_one_before_runs() -> None:
    node = make_node(next_run_at=at("10:10"))
    running = make_execution(node, at("10:00"), State.RUNNING)

    assert queue_due_slots(at("10:10"), CONFIG) == QueueResult(skipped=1)

    skipped = SkippedSlots.objects.get()
    assert (skipped.why, skipped.execution_id) == ("still_running", running.id)
    assert next_run(node) == at("10:20")


def test_a_slot_that_comes_while_the_one_before_waits_for_its_olt_names_what_holds_it() -> None:
    olt = make_olt()
    holder = make_execution(make_node(olt), at("09:59"), State.RUNNING)
    node = make_node(olt, next_run_at=at("10:10"))
    make_execution(node, at("10:00"))

    queue_due_slots(at("10:10"), CONFIG)

    skipped = SkippedSlots.objects.get()
    assert (skipped.why, skipped.execution_id) == ("olt_busy", holder.id)


def test_a_slot_that_comes_while_the_one_before_waits_for_a_poller_says_so() -> None:
    node = make_node(next_run_at=at("10:10"))
    make_execution(node, at("10:00"))
    queue_due_slots(at("10:10"), CONFIG)
    assert SkippedSlots.objects.get().why == "pollers_busy"


def test_a_slot_that_comes_before_the_retry_is_the_next_attempt() -> None:
    node = make_node(next_run_at=at("10:10"))
    failed = make_execution(
        node, at("10:00"), attempt=1, trigger=Trigger.RETRY, not_before=at("10:11"), error="no answer"
    )

    assert queue_due_slots(at("10:10"), CONFIG) == QueueResult(queued=1)

    failed.refresh_from_db()
    assert (failed.state, str(failed.error)) == ("FAILED", "no answer")
    follows = Execution.objects.get(state=State.WAITING)
    assert (follows.slot, follows.attempt, follows.trigger) == (at("10:10"), 1, "retry")


def test_a_run_that_a_person_asked_for_becomes_the_slots_run() -> None:
    node = make_node(next_run_at=at("10:10"))
    asked = make_execution(node, at("10:09:58"), trigger=Trigger.RUN_NOW, run_now=True)

    assert queue_due_slots(at("10:10"), CONFIG) == QueueResult()

    asked.refresh_from_db()
    assert (asked.trigger, asked.slot, asked.run_now) == ("schedule", at("10:10"), True)
    assert next_run(node) == at("10:20")


@pytest.mark.parametrize(
    ("olt", "node", "why"),
    [("no answer", "", "olt_unreachable"), ("", "agent refuses", "suspended")],
    ids=["the OLT", "the node"],
)
def test_slots_of_what_is_suspended_are_skipped_with_the_reason(olt: str, node: str, why: str) -> None:
    made = make_node(make_olt(suspended_reason=olt), next_run_at=at("10:00"), suspended_reason=node)

    assert queue_due_slots(at("10:00"), CONFIG) == QueueResult(skipped=1)

    skipped = SkippedSlots.objects.get()
    assert (str(skipped.why), str(skipped.detail)) == (why, olt or node)
    assert next_run(made) == at("10:10")


@pytest.mark.parametrize(
    ("kind", "cpu", "queued"),
    [("get", 95.0, 0), ("get", 85.0, 1), ("discovery", 95.0, 1)],
    ids=["a get above 90 % is skipped", "a get above 80 % is not", "a discovery is not"],
)
def test_an_olt_whose_cpu_is_too_high_is_spared_gets(kind: str, cpu: float, queued: int) -> None:
    olt = make_olt(cpu_pct=cpu, cpu_read_at=at("09:55"))
    make_node(olt, make_job(kind=kind), next_run_at=at("10:00"))

    assert queue_due_slots(at("10:00"), CONFIG).queued == queued
    assert list(SkippedSlots.objects.values_list("why", flat=True)) == ([] if queued else ["cpu_high"])


def test_many_due_nodes_are_queued_in_one_step() -> None:
    job = make_job()
    for _ in range(1100):
        make_node(job=job, next_run_at=at("10:00"))
    assert queue_due_slots(at("10:00"), CONFIG) == QueueResult(queued=1100)


def test_a_clock_that_was_set_back_does_not_silence_a_node() -> None:
    node = make_node(next_run_at=at("12:00"), job=make_job(interval=600))
    ordinary = make_node(next_run_at=at("10:09"), job=make_job(interval=600))

    assert reset_slots_too_far_ahead(at("10:00"), CONFIG) == 1

    assert next_run(node) == at("10:10")
    assert next_run(ordinary) == at("10:09")


def test_a_clock_that_was_set_back_does_not_put_off_probes() -> None:
    away: dict[str, Any] = {"suspended_reason": "silent", "next_probe_at": at("22:00")}
    olt, node = make_olt(**away), make_node(**away)
    due = make_olt(suspended_reason="silent", next_probe_at=at("10:30"))

    reset_slots_too_far_ahead(at("10:00"), CONFIG)

    for each, when in ((olt, "11:00"), (node, "11:00"), (due, "10:30")):
        each.refresh_from_db()
        assert each.next_probe_at == at(when)


def test_a_clock_that_was_set_back_does_not_make_a_row_of_statistics_every_second() -> None:
    write_poller_stats(at("12:00"), CONFIG)
    for clock in ("10:00", "10:00:01", "10:00:02"):
        write_poller_stats(at(clock), CONFIG)
    assert PollerStats.objects.count() == 2


def test_a_node_set_back_to_a_slot_that_it_has_had_keeps_no_other_from_its_own() -> None:
    node, other = (make_node(next_run_at=at("10:00")) for _ in range(2))
    make_execution(node, at("10:00"), State.SUCCESS)

    assert queue_due_slots(at("10:00"), CONFIG) == QueueResult(queued=1)

    assert Execution.objects.get(state=State.WAITING).node == other
    assert (next_run(node), next_run(other)) == (at("10:10"), at("10:10"))


def test_a_part_of_the_step_that_fails_keeps_no_node_from_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    make_node(next_run_at=at("10:00"))

    def fail(*_: object) -> None:
        raise RuntimeError("a row that nobody thought of")

    monkeypatch.setattr(scheduler, "recover", fail)
    monkeypatch.setattr(scheduler, "reset_slots_too_far_ahead", fail)
    with pytest.raises(RuntimeError, match="nobody thought of"):
        scheduler_step(at("10:00"), CONFIG)
    assert Execution.objects.get().state == State.WAITING


def test_a_slot_whose_run_by_hand_begins_just_then_is_skipped_and_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On PostgreSQL it may be claimed between the scheduler's look and its change."""
    node = make_node(next_run_at=at("10:10"))
    asked = make_execution(node, at("10:09:58"), trigger=Trigger.RUN_NOW, run_now=True)
    adopted = slots._try_to_adopt

    def claimed_first(*args: object) -> bool:
        Execution.objects.filter(id=asked.id).update(state=State.PENDING)
        return adopted(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(slots, "_try_to_adopt", claimed_first)
    assert queue_due_slots(at("10:10"), CONFIG) == QueueResult(skipped=1)
    skipped = SkippedSlots.objects.get()
    assert (skipped.first_slot, skipped.why, skipped.execution) == (at("10:10"), "still_running", asked)


def test_a_first_run_that_was_spread_is_not_too_far() -> None:
    node = make_node(next_run_at=at("10:00") + timedelta(seconds=30 + 60 + 300), job=make_job(interval=30))
    assert reset_slots_too_far_ahead(at("10:00"), CONFIG) == 0
    assert next_run(node) == at("10:06:30")


def test_a_node_that_somebody_enabled_by_sql_gets_its_time() -> None:
    node = make_node(job=make_job(interval=600), enabled=False)
    handle_changes(at("10:49"))
    SnmpJobHost.objects.update(enabled=True)

    handle_changes(at("10:50"))

    assert next_run(node) == at("11:00")


def test_a_node_that_came_by_sql_together_with_its_olt_runs_after_a_minute() -> None:
    node = make_node(make_olt(), make_job(interval=600))

    handle_changes(at("10:50"))

    assert next_run(node) == at("10:51")


def test_a_node_that_has_run_before_is_not_new_although_its_olt_was_never_looked_at() -> None:
    node = make_node(make_olt(), make_job(interval=600), last_run_at=at("09:00"))

    handle_changes(at("10:50"))

    assert next_run(node) == at("11:00")


def test_a_node_whose_olt_somebody_disabled_by_sql_loses_its_time_and_its_queue() -> None:
    node = make_node(next_run_at=at("10:10"))
    waiting = make_execution(node, at("10:00"))
    Olt.objects.update(enabled=False)

    handle_changes(at("10:01"))

    assert next_run(node) is None
    waiting.refresh_from_db()
    assert waiting.state == State.ABORTED


def test_what_is_as_it_should_be_is_left_alone() -> None:
    master = make_job("discovery")
    olt = make_olt()
    node = make_node(olt, master, next_run_at=at("10:07"))
    chained = make_node(olt, make_job("state", "table", master=master))

    handle_changes(at("10:01"))

    assert (next_run(node), next_run(chained)) == (at("10:07"), None)
