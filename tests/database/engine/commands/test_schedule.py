"""When nodes run after each thing that a person can do, with the clock times of an operator's day."""

from __future__ import annotations

import pytest

from facho.apps.executions.models import Attempt, Execution, State, Trigger
from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import (
    attach,
    change_interval,
    change_master,
    detach,
    disable_jobs,
    enable_jobs,
)
from facho.engine.commands.nodes import change_node_interval, disable_nodes, enable_nodes
from facho.engine.commands.olts import disable_olts, enable_olts
from facho.engine.schedule.slots import queue_due_slots
from tests.factories import add_job, add_olts, at, delete_first_runs, next_run, node_of, queue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]


def test_a_new_node_runs_a_minute_after_its_job_was_created() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"), interval="10m")
    assert next_run("state", "olt-1") == "10:01:00"


def test_an_olt_that_is_attached_later_runs_a_minute_after_that() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", now=at("10:00"))
    attach("state", ["olt-2"], at("11:30"))
    assert (next_run("state", "olt-1"), next_run("state", "olt-2")) == ("10:01:00", "11:31:00")


def test_an_olt_that_is_attached_again_keeps_its_time() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", now=at("10:00"))
    attach("state", ["olt-1", "olt-2"], at("10:00:30"))
    assert (next_run("state", "olt-1"), next_run("state", "olt-2")) == ("10:01:00", "10:01:30")


@pytest.mark.parametrize("what", ["node", "job", "OLT"])
def test_what_becomes_enabled_waits_one_full_interval(what: str) -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"), interval="10m")
    node = node_of("state", "olt-1").id
    if what == "node":
        disable_nodes([node], at("10:30"))
        assert next_run("state", "olt-1") is None
        enable_nodes([node], at("10:50"))
    elif what == "job":
        disable_jobs(["state"], at("10:30"))
        assert next_run("state", "olt-1") is None
        enable_jobs(["state"], at("10:50"))
    else:
        disable_olts(["olt-1"], at("10:30"))
        assert next_run("state", "olt-1") is None
        enable_olts(["olt-1"], at("10:50"))
    assert next_run("state", "olt-1") == "11:00:00"


def test_enabling_what_is_enabled_moves_nothing() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"))
    enable_olts(["olt-1"], at("10:00:30"))
    enable_jobs(["state"], at("10:00:30"))
    enable_nodes([node_of("state", "olt-1").id], at("10:00:30"))
    assert next_run("state", "olt-1") == "10:01:00"


def test_a_node_runs_only_when_node_job_and_olt_are_enabled() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"))
    disable_olts(["olt-1"], at("10:10"))
    disable_jobs(["state"], at("10:10"))
    enable_olts(["olt-1"], at("10:20"))
    assert next_run("state", "olt-1") is None
    enable_jobs(["state"], at("10:30"))
    assert next_run("state", "olt-1") == "10:40:00"


def test_a_node_of_a_job_that_was_off_from_the_start_waits_one_full_interval_too() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", enabled=False)
    assert next_run("state", "olt-1") is None
    enable_jobs(["state"], at("10:50"))
    assert next_run("state", "olt-1") == "11:00:00"


def test_a_changed_interval_starts_a_new_grid() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"), interval="1h")
    change_interval("state", "5m", at("10:20"))
    assert next_run("state", "olt-1") == "10:25:00"


def test_the_same_interval_moves_nothing() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"), interval="60m")
    change_interval("state", "1h", at("10:00:20"))
    change_node_interval(node_of("state", "olt-1").id, "60m", at("10:00:40"))
    assert next_run("state", "olt-1") == "10:01:00"


def test_a_node_with_its_own_interval_does_not_follow_its_job() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", now=at("10:00"), interval="1h")
    node = node_of("state", "olt-1").id
    change_node_interval(node, "15m", at("10:20"))
    assert next_run("state", "olt-1") == "10:35:00"
    change_interval("state", "5m", at("10:30"))
    assert next_run("state", "olt-1") == "10:35:00"
    change_node_interval(node, None, at("10:31"))
    assert next_run("state", "olt-1") == "10:36:00"


def test_a_changed_interval_of_a_disabled_job_gives_it_no_time() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", enabled=False)
    change_interval("state", "5m", at("10:20"))
    assert next_run("state", "olt-1") is None


@pytest.mark.parametrize(
    ("interval", "times"),
    [
        # Over five minutes at most, in the order in which they were named.
        ("10m", ["10:01:00", "10:02:15", "10:03:30", "10:04:45"]),
        ("2m", ["10:01:00", "10:01:30", "10:02:00", "10:02:30"]),
    ],
)
def test_olts_that_are_attached_at_once_are_spread(interval: str, times: list[str]) -> None:
    names = ["olt-d", "olt-a", "olt-c", "olt-b"]
    add_olts(*sorted(names))
    add_job("state", *names, now=at("10:00"), interval=interval)
    assert [next_run("state", name) for name in names] == times


def test_olts_that_are_attached_at_once_run_as_soon_as_pollers_are_free() -> None:
    add_olts("olt-1", "olt-2", "olt-3")
    add_job("state", "olt-1", "olt-2", "olt-3", now=at("10:00"), interval="10m")
    waiting = Execution.objects.order_by("olt__name")
    columns = ("olt__name", "slot", "not_before", "run_now", "owes")
    # The first one keeps its time, as a single one does. The others go before nobody, and count for no slot.
    assert list(waiting.values_list(*columns)) == [
        (name, at("10:00"), at("10:00"), False, []) for name in ("olt-2", "olt-3")
    ]
    queue_due_slots(at("10:02:40"), Config())
    # What has not begun when its slot comes is the run of that slot.
    slots = dict(waiting.values_list("olt__name", "slot"))
    assert slots == {"olt-1": at("10:01"), "olt-2": at("10:02:40"), "olt-3": at("10:00")}
    assert [len(owes) for owes in waiting.values_list("owes", flat=True)] == [1, 1, 0]


def test_a_single_olt_and_nodes_that_ran_before_have_no_run_before_their_time() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", now=at("10:00"), interval="10m")
    add_job("optics", "olt-1", "olt-2", enabled=False, interval="10m")
    SnmpJobHost.objects.update(last_run_at=at("09:00"))
    enable_jobs(["optics"], at("10:50"))
    assert not Execution.objects.exists()


def test_olts_that_are_enabled_at_once_are_spread_with_all_their_nodes() -> None:
    add_olts("olt-1", "olt-2", "olt-3")
    add_job("state", "olt-1", "olt-2", "olt-3", interval="10m")
    add_job("optics", "olt-1", "olt-2", "olt-3", interval="1m")
    disable_olts(["olt-1", "olt-3"], at("10:30"))
    # The second one was on all the time: two are enabled at once, not three.
    enable_olts(["olt-1", "olt-2", "olt-3"], at("10:50"))
    assert [next_run("state", name) for name in ("olt-1", "olt-3")] == ["11:00:00", "11:02:30"]
    assert [next_run("optics", name) for name in ("olt-1", "olt-3")] == ["10:51:00", "10:51:30"]


def test_a_job_that_is_enabled_on_many_olts_is_spread() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", "olt-2", enabled=False, interval="10m")
    enable_jobs(["state"], at("10:50"))
    assert [next_run("state", name) for name in ("olt-1", "olt-2")] == ["11:00:00", "11:02:30"]


def test_a_chained_node_has_no_time_of_its_own_where_its_master_is() -> None:
    add_olts("olt-1", "olt-2")
    add_job("discovery", "olt-1", kind="discovery", facts=())
    add_job("state", "olt-1", "olt-2", master="discovery")
    assert (next_run("discovery", "olt-1"), next_run("state", "olt-1")) == ("10:01:00", None)
    assert next_run("state", "olt-2") == "10:01:00"


def test_a_node_becomes_chained_and_plain_again_with_its_master() -> None:
    add_olts("olt-1")
    add_job("discovery", kind="discovery", facts=())
    add_job("state", "olt-1", master="discovery", interval="10m")
    assert next_run("state", "olt-1") == "10:01:00"
    attach("discovery", ["olt-1"], at("10:20"))
    assert (next_run("discovery", "olt-1"), next_run("state", "olt-1")) == ("10:21:00", None)
    detach("discovery", ["olt-1"], at("10:30"))
    assert next_run("state", "olt-1") == "10:40:00"


def test_a_node_becomes_chained_and_plain_again_when_its_job_says_so() -> None:
    add_olts("olt-1")
    add_job("discovery", "olt-1", kind="discovery", facts=())
    add_job("state", "olt-1", interval="10m")
    change_master("state", "discovery", at("10:20"))
    assert next_run("state", "olt-1") is None
    change_master("state", None, at("10:30"))
    assert next_run("state", "olt-1") == "10:40:00"


def test_a_disabled_master_keeps_its_chain_from_running() -> None:
    add_olts("olt-1")
    add_job("discovery", "olt-1", kind="discovery", facts=(), interval="1h")
    add_job("state", "olt-1", master="discovery")
    disable_jobs(["discovery"], at("10:20"))
    assert (next_run("discovery", "olt-1"), next_run("state", "olt-1")) == (None, None)
    enable_jobs(["discovery"], at("10:30"))
    assert (next_run("discovery", "olt-1"), next_run("state", "olt-1")) == ("11:30:00", None)


@pytest.mark.parametrize("state", [State.WAITING, State.PENDING])
@pytest.mark.parametrize("what", ["node", "job", "OLT"])
def test_what_is_disabled_leaves_the_queue_and_says_why(what: str, state: State) -> None:
    add_olts("olt-1")
    add_job("state", "olt-1")
    waiting = queue("state", "olt-1", state, lease_expires_at=at("10:20"))
    if what == "node":
        disable_nodes([node_of("state", "olt-1").id], at("10:05"))
    elif what == "job":
        disable_jobs(["state"], at("10:05"))
    else:
        disable_olts(["olt-1"], at("10:05"))
    waiting.refresh_from_db()
    assert (waiting.state, waiting.ended_at) == (State.ABORTED, at("10:05"))
    assert str(waiting.error) == f"the {what} was disabled"
    assert waiting.lease_expires_at is None


@pytest.mark.parametrize("what", ["node", "job"])
def test_what_runs_finishes_when_its_job_or_node_is_disabled(what: str) -> None:
    add_olts("olt-1")
    add_job("state", "olt-1")
    running = queue("state", "olt-1", State.RUNNING)
    if what == "node":
        disable_nodes([node_of("state", "olt-1").id], at("10:05"))
    else:
        disable_jobs(["state"], at("10:05"))
    running.refresh_from_db()
    assert running.state == State.RUNNING


def test_what_runs_on_an_olt_that_is_disabled_is_aborted_and_holds_it_until_it_has_stopped() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", "olt-2")
    lease = {"lease_token": "t", "lease_expires_at": at("10:20")}
    running, other = queue("state", "olt-1", State.RUNNING, **lease), queue("state", "olt-2", State.RUNNING)
    Attempt.objects.create(execution=running, number=1, started_at=at("10:00"))
    by_hand = Execution.objects.create(
        olt=running.olt,
        trigger=Trigger.RUN_NOW,
        slot=at("10:00"),
        not_before=at("10:00"),
        queued_at=at("10:00"),
    )
    assert disable_olts(["olt-1"], at("10:05")).aborted == 2
    for execution in (running, other, by_hand):
        execution.refresh_from_db()
    assert (running.state, running.lease_token, running.lease_expires_at) == ("ABORTED", "t", at("10:20"))
    assert (by_hand.state, other.state) == (State.ABORTED, State.RUNNING)
    assert str(running.attempts.get().error) == "the OLT was disabled"


def test_a_node_that_becomes_chained_leaves_the_queue() -> None:
    add_olts("olt-1")
    add_job("discovery", kind="discovery", facts=())
    add_job("state", "olt-1", master="discovery")
    waiting = queue("state", "olt-1")
    attach("discovery", ["olt-1"], at("10:20"))
    waiting.refresh_from_db()
    assert (waiting.state, str(waiting.error)) == (State.ABORTED, "it runs after discovery")


def test_an_olt_is_not_detached_under_an_execution_that_runs_there() -> None:
    add_olts("olt-1", "olt-2")
    add_job("state", "olt-1", "olt-2")
    queue("state", "olt-1", State.RUNNING)
    waiting = Execution.objects.get(olt__name="olt-2")
    with pytest.raises(CommandError, match="state runs on olt-1 now") as refused:
        detach("state", ["olt-1", "olt-2"], at("10:05"))
    assert refused.value.field == "olts"
    waiting.refresh_from_db()
    assert (waiting.state, SnmpJobHost.objects.count()) == (State.WAITING, 2)


def test_a_person_who_enables_what_is_suspended_brings_it_back() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", interval="10m")
    Olt.objects.update(suspended_reason="silent", next_probe_at=at("12:00"), failed_probes=3)
    enable_olts(["olt-1"], at("10:30"))
    olt = Olt.objects.get()
    assert (str(olt.suspended_reason), olt.next_probe_at, olt.failed_probes) == ("", None, 0)
    assert next_run("state", "olt-1") == "10:40:00"
    SnmpJobHost.objects.update(suspended_reason="three failures", failures_in_a_row=3)
    enable_nodes([node_of("state", "olt-1").id], at("10:50"))
    node = node_of("state", "olt-1")
    assert (str(node.suspended_reason), node.failures_in_a_row) == ("", 0)
    assert next_run("state", "olt-1") == "11:00:00"


def test_hundreds_of_olts_at_once_are_few_statements(django_assert_max_num_queries: object) -> None:
    huawei = Brand.objects.get(name="huawei")
    names = [f"olt-{number:04}" for number in range(300)]
    Olt.objects.bulk_create(Olt(name=name, brand=huawei, address="10.0.0.1") for name in names)
    for job in ("state", "optics", "names"):
        add_job(job, *names)
    delete_first_runs()
    with django_assert_max_num_queries(60):  # type: ignore[operator]
        disable_olts(names, at("10:30"))
        enable_olts(names, at("10:50"))
    assert SnmpJobHost.objects.filter(next_run_at=None).count() == 0
    assert next_run("state", "olt-0299") == "11:04:59"
