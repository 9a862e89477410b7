"""Who gets the free pollers."""

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest

from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.apps.zabbix_pollers.models import Worker
from facho.apps.zabbix_pollers.store import register_worker, update_heartbeat
from facho.config import Config
from facho.core.pool import DEFAULT, HIGH_PRIORITY, RETRY, Waiting, across_olts
from facho.engine.commands.nodes import change_node_priority
from facho.engine.schedule import assign
from facho.engine.schedule.assign import claim_execution, claim_executions
from tests.factories import (
    add_job,
    add_olts,
    at,
    make_execution,
    make_job,
    make_node,
    make_olt,
    node_of,
    queue,
)

pytestmark = pytest.mark.django_db
CONFIG = Config()
NOW = at("10:00:02")


@pytest.fixture(autouse=True)
def worker() -> Worker:
    return Worker.objects.create(name="here", pollers=2, started_at=NOW, seen_at=NOW)


def states() -> list[str]:
    return list(Execution.objects.order_by("id").values_list("state", flat=True))


def test_what_waits_is_claimed_for_a_free_poller() -> None:
    waiting = make_execution(make_node(), at("10:00"))

    assert claim_executions(NOW, CONFIG) == [waiting.id]

    waiting.refresh_from_db()
    assert (waiting.state, waiting.lease_expires_at) == ("PENDING", NOW + timedelta(seconds=20))


def test_no_more_than_there_are_pollers() -> None:
    for _ in range(3):
        make_execution(make_node(), at("10:00"))
    assert len(claim_executions(NOW, CONFIG)) == 2
    assert claim_executions(NOW, CONFIG) == []


def test_no_more_than_the_caller_has_room_for() -> None:
    for _ in range(3):
        make_execution(make_node(), at("10:00"))
    assert len(claim_executions(NOW, CONFIG, at_most=1)) == 1
    assert claim_executions(NOW, CONFIG, at_most=0) == []


def test_pollers_of_a_worker_that_is_gone_do_not_count() -> None:
    make_execution(make_node(), at("10:00"))
    assert claim_executions(NOW + timedelta(seconds=16), CONFIG) == []


def test_what_no_worker_takes_stays_waiting() -> None:
    Worker.objects.update(queues=HIGH_PRIORITY)
    make_execution(make_node(), at("09:00"))
    make_execution(make_node(), at("09:00"), attempt=1)
    asked = make_execution(make_node(), at("10:00"), trigger=Trigger.RUN_NOW, run_now=True)
    assert claim_executions(NOW, CONFIG) == [asked.id]
    assert claim_executions(NOW, CONFIG) == []


def test_a_retry_that_no_worker_takes_does_not_block_its_olt() -> None:
    Worker.objects.update(queues=DEFAULT)
    olt = make_olt()
    make_execution(make_node(olt), at("09:00"), attempt=1)
    ordinary = make_execution(make_node(olt), at("10:00"))
    assert claim_executions(NOW, CONFIG) == [ordinary.id]


def test_pollers_that_take_only_what_is_urgent_are_not_counted_for_the_rest() -> None:
    Worker.objects.create(name="urgent", pollers=5, queues=HIGH_PRIORITY, started_at=NOW, seen_at=NOW)
    for _ in range(4):
        make_execution(make_node(), at("10:00"))
    for _ in range(6):
        make_execution(make_node(), at("10:00"), trigger=Trigger.RUN_NOW, run_now=True)
    assert len(claim_executions(NOW, CONFIG)) == 7

    Execution.objects.filter(state=State.PENDING, run_now=True).update(state=State.SUCCESS)
    claim_executions(NOW, CONFIG)
    assert states().count(State.PENDING) == 2


def test_what_runs_counts_for_the_worker_that_runs_it() -> None:
    Worker.objects.create(name="urgent", pollers=5, queues=HIGH_PRIORITY, started_at=NOW, seen_at=NOW)
    for _ in range(2):
        urgent = make_execution(make_node(), at("10:00"), State.RUNNING, run_now=True, worker="here")
        Execution.objects.filter(id=urgent.id).update(trigger=Trigger.RUN_NOW)
    make_execution(make_node(), at("10:00"))
    assert claim_executions(NOW, CONFIG) == []


def test_a_worker_writes_which_queues_it_takes() -> None:
    register_worker("some", 3, NOW, frozenset({RETRY}))
    assert Worker.objects.get(name="some").queues == RETRY
    Worker.objects.filter(name="some").update(queues="")
    update_heartbeat("some", 3, NOW, frozenset({RETRY, DEFAULT}))
    assert Worker.objects.get(name="some").queues == f"{DEFAULT},{RETRY}"
    update_heartbeat("new", 3, NOW)
    assert Worker.objects.get(name="new").queues == ""


def test_discovery_goes_before_the_get_of_the_same_olt_and_the_get_waits() -> None:
    olt = make_olt()
    get = make_execution(make_node(olt, make_job(kind="get")), at("10:00"))
    discovery = make_execution(make_node(olt, make_job(kind="discovery")), at("10:00"))

    assert claim_executions(NOW, CONFIG) == [discovery.id]
    assert claim_executions(NOW, CONFIG) == []
    Execution.objects.filter(id=discovery.id).update(state=State.SUCCESS, lease_expires_at=None)
    assert claim_executions(NOW, CONFIG) == [get.id]


def test_a_nodes_own_priority_counts() -> None:
    olt = make_olt()
    get = make_execution(make_node(olt, make_job(kind="get"), priority=95), at("10:00"))
    make_execution(make_node(olt, make_job(kind="discovery")), at("10:00"))
    assert claim_executions(NOW, CONFIG) == [get.id]


def test_run_now_goes_first() -> None:
    for _ in range(2):
        make_execution(make_node(), at("09:50"))
    asked = make_execution(make_node(), at("10:00"), trigger=Trigger.RUN_NOW, run_now=True)
    assert claim_executions(NOW, CONFIG)[0] == asked.id


def test_a_retry_waits_for_its_time() -> None:
    make_execution(make_node(), at("09:58"), attempt=1, not_before=at("10:00:03"))
    assert claim_executions(NOW, CONFIG) == []
    assert len(claim_executions(at("10:00:03"), CONFIG)) == 1


def test_an_olt_whose_aborted_holder_may_still_send_is_not_given_away() -> None:
    olt = make_olt()
    aborted = make_execution(make_node(olt), at("09:59:50"), State.RUNNING)
    Execution.objects.filter(id=aborted.id).update(state=State.ABORTED)
    make_execution(make_node(olt), at("10:00"))

    assert claim_executions(NOW, CONFIG) == []
    assert len(claim_executions(at("10:00:11"), CONFIG)) == 1


def test_by_hand_an_execution_is_claimed_without_a_poller() -> None:
    Worker.objects.all().delete()
    waiting = make_execution(make_node(), at("10:00"))
    assert claim_execution(waiting.id, NOW, CONFIG)
    assert states() == ["PENDING"]


def test_by_hand_one_waits_for_the_olt_too() -> None:
    olt = make_olt()
    make_execution(make_node(olt), at("10:00"), State.RUNNING)
    waiting = make_execution(make_node(olt), at("10:00"))
    assert not claim_execution(waiting.id, NOW, CONFIG)
    assert states() == ["RUNNING", "WAITING"]


def test_an_olt_that_a_person_waits_for_is_left_to_that_person() -> None:
    olt = make_olt()
    make_execution(make_node(olt), at("10:00"))
    by_hand = Execution.objects.create(
        olt=olt, trigger=Trigger.RUN_NOW, run_now=True, slot=NOW, not_before=NOW, queued_at=NOW
    )
    assert claim_executions(NOW, CONFIG) == []
    assert claim_execution(by_hand.id, NOW, CONFIG)


@pytest.mark.parametrize("seed", range(12))
def test_reading_only_the_first_of_a_long_queue_chooses_as_reading_all_of_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(seed)
    Worker.objects.update(pollers=chance.choice((1, 3, 6)), queues=chance.choice(("", DEFAULT)))
    olts = [make_olt() for _ in range(8)]
    jobs = [
        make_job(interval=chance.choice((2, 60, 300)), priority=chance.choice((40, 60))) for _ in range(4)
    ]
    for olt in olts:
        queue_some(olt, chance.sample(jobs, chance.randint(0, 4)), chance)
    whole = assign._choose_among(assign._ALL, NOW, CONFIG, None)
    assert whole is not None
    for first in (1, 2, 5):
        monkeypatch.setattr(assign, "_FIRST", (first, 2 * first, assign._ALL))
        assert assign._choose(NOW, CONFIG, None).ids == whole.ids


def queue_some(olt: Olt, jobs: Iterable[SnmpJob], chance: Random) -> None:
    for job in jobs:
        slot = NOW - timedelta(seconds=chance.choice((0, 1, 3, 7, 9, 200)))
        attempt, run_now = chance.choice((0, 0, 0, 1)), chance.random() < 0.1
        make_execution(make_node(olt, job), slot, attempt=attempt, run_now=run_now)


@pytest.mark.parametrize("seed", range(6))
def test_the_database_orders_the_queue_as_the_rules_do(seed: int) -> None:
    chance = Random(seed)
    jobs = [make_job(interval=60, priority=chance.choice((20, 40, 60))) for _ in range(4)]
    for _ in range(8):
        queue_some(make_olt(), jobs, chance)
    busy = make_olt()
    make_execution(make_node(busy), NOW, State.RUNNING)
    make_execution(make_node(busy), NOW - timedelta(hours=1))
    make_execution(make_node(), NOW, attempt=1, not_before=NOW + timedelta(seconds=1))
    rows = Execution.objects.filter(state=State.WAITING, not_before__lte=NOW, run_now=False).exclude(olt=busy)
    expected = sorted(map(waiting_of, rows), key=lambda each: across_olts(each, NOW))
    read = (assign._read_queue(NOW, count).last_read for count in range(1, len(expected) + 1))
    assert [each and each.execution_id for each in read] == [each.execution_id for each in expected]


def waiting_of(row: Execution) -> Waiting:
    assert row.node is not None
    priority = row.node.priority or row.node.job.priority
    interval = timedelta(seconds=row.node.job.interval_s)
    return Waiting(row.id, row.olt_id, max(row.slot, row.not_before), interval, priority, row.run_now)


@pytest.mark.usefixtures("brands")
def test_a_new_priority_counts_for_what_waits_already() -> None:
    add_olts("north", "south")
    add_job("often", "north")
    add_job("seldom", "south")
    queue("often", "north")
    seldom = queue("seldom", "south")
    Worker.objects.update(pollers=1)
    assert assign._choose(NOW, CONFIG, None).ids != [seldom.id]
    change_node_priority(node_of("seldom", "south").id, 95, NOW)
    assert claim_executions(NOW, CONFIG) == [seldom.id]


def test_a_long_overdue_queue_is_settled_by_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seldom, often = make_job(interval=300, priority=60), make_job(interval=60, priority=60)
    olts = [make_olt() for _ in range(10)]
    for olt in olts:
        make_execution(make_node(olt, seldom), NOW - timedelta(seconds=200))
    overdue = [make_execution(make_node(olt, often), NOW - timedelta(seconds=100)) for olt in olts]
    # All that is not read would have to be read if these few did not settle who is next.
    monkeypatch.setattr(assign, "_FIRST", (4,))
    assert claim_executions(NOW, CONFIG) == [each.id for each in overdue[:2]]
