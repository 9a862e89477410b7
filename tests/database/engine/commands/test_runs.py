"""Run now, and abort: which execution it is, and what it does to the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import pytest
from django.db import connection, connections, transaction

from facho.apps.db import database
from facho.apps.execution_coordinator.selectors import owed_by
from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.snmp_jobs.selectors import master_of, members_to_ask
from facho.core.reasons import text_reason
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import disable_jobs
from facho.engine.commands.nodes import disable_nodes
from facho.engine.commands.olts import disable_olts
from facho.engine.commands.runs import abort_execution, run_now
from facho.engine.coordinate.changes import handle_changes
from facho.engine.process import command_transaction
from tests.factories import add_job, add_olts, at, next_run, node_of, queue, refused
from tests.waiting import PATIENCE_S, wait_until

NOW = at("10:30")
OPTICS = ("optics", "olt-1")


@pytest.fixture(autouse=True)
def _node(brands: None) -> None:
    add_olts("olt-1")
    add_job("state", "olt-1")


def node() -> int:
    return node_of("state", "olt-1").id


def test_it_goes_before_everything_and_moves_no_grid() -> None:
    execution = Execution.objects.get(id=run_now(node(), NOW))
    assert (execution.state, execution.trigger, execution.run_now) == (State.WAITING, Trigger.RUN_NOW, True)
    assert (execution.slot, execution.not_before, execution.queued_at) == (NOW, NOW, NOW)
    assert next_run("state", "olt-1") == "10:01:00"


def test_asked_again_before_it_started_it_is_the_same() -> None:
    first = run_now(node(), NOW)
    assert run_now(node(), at("10:31")) == first
    Execution.objects.update(state=State.PENDING)
    assert run_now(node(), at("10:32")) == first
    assert Execution.objects.count() == 1


def test_one_that_waits_for_its_slot_is_raised_and_stays_its_slots_run() -> None:
    waiting = queue("state", "olt-1")
    assert run_now(node(), NOW) == waiting.id
    waiting.refresh_from_db()
    assert (waiting.run_now, waiting.trigger, waiting.slot) == (True, Trigger.SCHEDULE, at("10:00"))
    assert waiting.not_before == at("10:00")


def test_a_retry_waits_no_longer() -> None:
    retry = queue("state", "olt-1", not_before=at("10:32"), trigger="retry", attempt=1)
    assert run_now(node(), NOW) == retry.id
    retry.refresh_from_db()
    assert (retry.not_before, retry.trigger, retry.attempt) == (NOW, "retry", 1)


def test_while_one_runs_another_is_queued() -> None:
    running = queue("state", "olt-1", State.RUNNING)
    asked = run_now(node(), NOW)
    assert asked != running.id
    assert run_now(node(), NOW) == asked


def test_on_a_chained_node_it_is_the_whole_composite() -> None:
    add_job("discovery", "olt-1", kind="discovery", facts=())
    add_job("names", "olt-1", master="discovery")
    execution = Execution.objects.get(id=run_now(node_of("names", "olt-1").id, NOW))
    assert execution.node == node_of("discovery", "olt-1")


def test_without_its_master_on_the_olt_it_runs_alone() -> None:
    add_job("discovery", kind="discovery", facts=())
    add_job("names", "olt-1", master="discovery")
    execution = Execution.objects.get(id=run_now(node_of("names", "olt-1").id, NOW))
    assert execution.node == node_of("names", "olt-1")


def test_what_is_disabled_is_refused() -> None:
    disable_nodes([node()], NOW)
    with refused("node", "state is disabled on olt-1"):
        run_now(node(), NOW)
    disable_jobs(["state"], NOW)
    with refused("node", "the job state is disabled"):
        run_now(node(), NOW)
    disable_olts(["olt-1"], NOW)
    with refused("node", "the OLT olt-1 is disabled"):
        run_now(node(), NOW)


def test_a_node_that_sql_chained_runs_alone_until_it_is_planned_again() -> None:
    """Whoever asks for the members gets the same answer: the quota, the execution and the person."""
    add_job("optics", "olt-1", kind="get", facts=["onu_rx_dbm"])
    master, chained = node(), node_of("optics", "olt-1").id
    SnmpJob.objects.filter(name="optics").update(master=SnmpJob.objects.get(name="state"))

    def members() -> tuple[list[int], list[int], int]:
        asked = [each.node_id for each in members_to_ask(master)]
        return asked, [each.node_id for each in owed_by([master])[master]], master_of(node_of(*OPTICS)).id

    assert members() == ([master], [master], chained)
    handle_changes(NOW)
    assert members() == ([master, chained], [master, chained], master)


def test_a_disabled_master_refuses_for_its_chain() -> None:
    add_job("discovery", "olt-1", kind="discovery", facts=())
    add_job("names", "olt-1", master="discovery")
    disable_jobs(["discovery"], NOW)
    with refused("node", "the job discovery is disabled"):
        run_now(node_of("names", "olt-1").id, NOW)


def test_an_unknown_node_is_refused() -> None:
    with refused("node", "there is no node 999"):
        run_now(999, NOW)


@pytest.mark.parametrize("state", [State.WAITING, State.PENDING, State.RUNNING])
def test_what_is_open_can_be_aborted(state: State) -> None:
    execution = queue("state", "olt-1", state)
    abort_execution(execution.id, NOW, text_reason("not now"))
    execution.refresh_from_db()
    assert (execution.state, str(execution.error), execution.ended_at) == (State.ABORTED, "not now", NOW)


def test_what_has_ended_stays_as_it_is() -> None:
    execution = queue("state", "olt-1", State.SUCCESS)
    with refused("execution", f"execution {execution.id} has ended already: SUCCESS"):
        abort_execution(execution.id, NOW)
    with refused("execution", "there is no execution 999"):
        abort_execution(999, NOW)


@pytest.mark.django_db(transaction=True)
def test_many_who_ask_at_once_get_one_execution() -> None:
    asked = node()

    def ask(_: int) -> int:
        try:
            return run_now(asked, NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        ids = set(threads.map(ask, range(24)))
    assert len(ids) == 1
    assert Execution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_disabling_and_running_at_once_leaves_nothing_in_the_queue() -> None:
    asked = node()

    def act(number: int) -> None:
        try:
            # Refused, once it is disabled.
            with suppress(CommandError):
                if number % 8:
                    run_now(asked, NOW)
                else:
                    disable_olts(["olt-1"], NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(act, range(24)))
    assert not Execution.objects.exclude(state=State.ABORTED).exists()


@pytest.mark.django_db(transaction=True)
def test_a_command_gives_way_to_the_engine_and_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine has the node and waits for nobody; on SQLite there is one writer at a time anyway."""
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite writers take turns")
    held, let_go, tries = Event(), Event(), []
    limit_lock_waits = database.limit_lock_waits

    def count_and_limit(milliseconds: int) -> None:
        tries.append(1)
        limit_lock_waits(milliseconds)

    monkeypatch.setattr(command_transaction, "limit_lock_waits", count_and_limit)

    def engine() -> None:
        try:
            with transaction.atomic():
                list(SnmpJobHost.objects.select_for_update())
                held.set()
                let_go.wait(PATIENCE_S)
        finally:
            connections.close_all()

    def person() -> None:
        try:
            disable_jobs(["state"], NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        working = threads.submit(engine)
        held.wait(PATIENCE_S)
        asking = threads.submit(person)
        wait_until(lambda: len(tries) > 1, what="it tries again")
        assert not asking.done()
        let_go.set()
        working.result(PATIENCE_S)
        asking.result(PATIENCE_S)
    assert next_run("state", "olt-1") is None
