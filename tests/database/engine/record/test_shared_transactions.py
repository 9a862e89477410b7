"""Results that are stored in one transaction: each has its own lease, and none costs another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.models import Collected, Onu
from facho.apps.discovery.store import store_findings
from facho.apps.execution_coordinator.models import QuotaTracker
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, State
from facho.apps.history.models import HistoryFrame
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.collect.collector import collect
from facho.engine.collect.work_builder import plan_execution
from facho.engine.process.leases import LeaseLost, start_execution
from facho.engine.record import onus, recorder
from facho.engine.record.recorder import Result, record, record_together
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.runner import Runtime, SnmpTask, run_execution
from facho.sim.fleet import FleetConfig
from tests.factories import at, make_execution, make_job, make_node, make_olt
from tests.virtual_fleet import VirtualFleet
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("brands")]

CONFIG = Config()
OLTS, ONUS = 4, 8
NOW = at("10:00")


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=OLTS, onus=ONUS)) as fleet:
        yield fleet


class Site:
    """OLTs of which all ONUs are known, and a job that reads distances."""

    def __init__(self, fleet: VirtualFleet) -> None:
        self.fleet = fleet
        self.runtime = Runtime(CONFIG, "here", fleet.snmp, lambda: NOW)
        self.olts = [make_olt(f"olt-{number}", port=port) for number, (_, port) in enumerate(fleet.addresses)]
        discovery = make_job("discovery")
        self.job = make_job("distance", kind="table", facts=["distance_m"])
        for olt in self.olts:
            run_execution(self.pending(make_node(olt, discovery)).id, self.runtime)
        self.nodes = [make_node(olt, self.job) for olt in self.olts]

    def pending(self, node: SnmpJobHost) -> Execution:
        owes = [[node.id, node.job.task_type, 300]]
        return make_execution(node, NOW, State.PENDING, owes=owes)

    def result(self, node: SnmpJobHost) -> Result:
        """What an execution of the node finds, before it is stored."""
        started = start_execution(self.pending(node).id, "here", lambda: NOW, CONFIG)
        assert started is not None
        planned = plan_execution(started.execution_id, started.run_id, NOW, CONFIG, started.subject)
        task = SnmpTask(self.fleet.snmp)
        client = self.fleet.snmp.client
        return Result(started, planned, collect(planned.work, task.run, client, None, threading.Lock()))

    def results(self) -> list[Result]:
        return [self.result(node) for node in self.nodes]


@pytest.fixture
def site(fleet: VirtualFleet) -> Site:
    return Site(fleet)


def states(results: list[Result]) -> list[str]:
    ids = [each.started.execution_id for each in results]
    return [Execution.objects.get(id=each).state for each in ids]


def everything_of(olt: Olt) -> dict[str, Any]:
    """All that recording leaves of an OLT, without ids."""
    totals = ExecutionTotals.objects.filter(olt=olt, kind="table")
    trackers = QuotaTracker.objects.filter(olt=olt).exclude(task_type="discovery")
    quotas = ("quota_required", "quota_completed", "quota_failed", "quota_skipped", "quota_pending", "status")
    ended = ("state", "error", "result", "ended_at", "lease_token", "lease_expires_at", "not_before")
    counted = ("succeeded", "failed", "within_1s", "requests", "delayed", "retries")
    return {
        "executions": list(Execution.objects.filter(olt=olt, node__job__name="distance").values(*ended)),
        "attempts": list(Attempt.objects.filter(execution__olt=olt).values("number", "ended_at", "error")),
        "totals": list(totals.values(*counted)),
        "quotas": list(trackers.values(*quotas)),
        "collected": sorted(Collected.objects.filter(olt=olt).values_list("datum", "collected_at")),
        "frames": HistoryFrame.objects.filter(olt=olt).count(),
        "node": list(
            SnmpJobHost.objects.filter(olt=olt, job__name="distance").values(
                "last_run_at", "failures_in_a_row"
            )
        ),
        "onus": sorted(Onu.objects.filter(olt=olt).values_list("address", "distance_m")),
    }


def test_results_stored_together_leave_what_they_leave_alone(site: Site) -> None:
    SnmpJobHost.objects.update(failures_in_a_row=3)
    results = site.results()
    assert record_together(results[:2], NOW, CONFIG) == [State.SUCCESS, State.SUCCESS]
    for result in results[2:]:
        assert record(result.started, result.planned, result.collection, NOW, CONFIG) == State.SUCCESS
    first, second, third, fourth = map(everything_of, site.olts)
    assert first["executions"][0]["state"] == State.SUCCESS
    assert first["node"] == [{"last_run_at": NOW, "failures_in_a_row": 0}]
    assert first["quotas"][0]["quota_completed"] == 1
    assert first["frames"] == 1
    for name in ("executions", "attempts", "totals", "quotas", "collected", "frames", "node"):
        assert first[name] == second[name] == third[name] == fourth[name], name


SHARED = ("snmp_executions", "execution_attempts", "execution_totals", "snmp_job_hosts", "quota_tracker")


def test_a_group_writes_each_shared_table_once(site: Site) -> None:
    results = site.results()
    with CaptureQueriesContext(connection) as one:
        record_together(results[:1], NOW, CONFIG)
    with CaptureQueriesContext(connection) as three:
        record_together(results[1:], NOW, CONFIG)
    assert states(results) == [State.SUCCESS] * OLTS
    assert shared_writes(three) == shared_writes(one)
    assert len(shared_writes(one)) >= 3


def shared_writes(captured: CaptureQueriesContext) -> list[str]:
    texts = [each["sql"] for each in captured.captured_queries]
    return [
        text[:40]
        for text in texts
        if text.startswith(("INSERT", "UPDATE", "WITH")) and any(table in text for table in SHARED)
    ]


def test_a_result_whose_lease_was_lost_writes_nothing_and_the_others_are_stored(site: Site) -> None:
    aborted, kept, expired, taken = results = site.results()
    Execution.objects.filter(id=aborted.started.execution_id).update(state=State.ABORTED)
    past = NOW - timedelta(seconds=1)
    Execution.objects.filter(id=expired.started.execution_id).update(lease_expires_at=past)
    Execution.objects.filter(id=taken.started.execution_id).update(lease_token="another")
    before = [everything_of(olt) for olt in site.olts]

    outcomes = record_together(results, NOW, CONFIG)

    assert [isinstance(each, LeaseLost) for each in outcomes] == [True, False, True, True]
    assert outcomes[1] == State.SUCCESS
    assert states(results) == [State.ABORTED, State.SUCCESS, State.RUNNING, State.RUNNING]
    after = [everything_of(olt) for olt in site.olts]
    assert [before[number] == after[number] for number in range(OLTS)] == [True, False, True, True]
    assert kept.started.olt_id == site.olts[1].id


def test_nothing_is_written_for_a_group_without_leases(site: Site) -> None:
    results = site.results()
    Execution.objects.update(lease_token="another")
    before = [everything_of(olt) for olt in site.olts]
    assert all(isinstance(each, LeaseLost) for each in record_together(results, NOW, CONFIG))
    assert [everything_of(olt) for olt in site.olts] == before


def test_a_result_that_cannot_be_stored_costs_only_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = site.results()
    bad = results[2].started.olt_id

    def refuse(olt_id: int, *given: Any, **options: Any) -> Any:
        found = store_findings(olt_id, *given, **options)
        if olt_id == bad:
            # A statement that the database refuses, in the middle of the transaction.
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO olt_collected (olt_id) VALUES (NULL)")
        return found

    monkeypatch.setattr(onus, "store_findings", refuse)
    outcomes = record_together(results, NOW, CONFIG)
    assert [each for each in outcomes if isinstance(each, State)] == [State.SUCCESS] * 3
    assert isinstance(outcomes[2], Exception)
    assert states(results) == [State.SUCCESS, State.SUCCESS, State.RUNNING, State.SUCCESS]


def test_an_unavailable_database_is_raised_for_all(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OperationalError("the server is gone")

    results = site.results()
    monkeypatch.setattr(recorder, "check_leases", fail)
    with pytest.raises(OperationalError):
        record_together(results, NOW, CONFIG)
    assert states(results) == [State.RUNNING] * OLTS


def test_outcomes_are_in_the_order_of_the_results(site: Site) -> None:
    results = list(reversed(site.results()))
    Execution.objects.filter(id=results[1].started.execution_id).update(state=State.ABORTED)
    outcomes = record_together(results, NOW, CONFIG)
    assert [isinstance(each, LeaseLost) for each in outcomes] == [False, True, False, False]


def test_large_failed_and_single_results_are_stored_alone(site: Site) -> None:
    result = site.result(site.nodes[0])
    (part,) = result.collection.parts
    assert result.may_share
    assert not replace(
        result, collection=replace(result.collection, parts=[replace(part, rows=5000)])
    ).may_share
    failed = replace(part, state=type(part.state).FAILED)
    assert not replace(result, collection=replace(result.collection, parts=[failed])).may_share


def test_executions_of_several_pollers_end_in_few_transactions(site: Site, fleet: VirtualFleet) -> None:
    """Four pollers end while the first of them stores: the others share the next transaction."""
    register_worker("here", OLTS, NOW)
    for node in site.nodes:
        make_execution(node, NOW, owes=[[node.id, node.job.task_type, 300]])
    ids = claim_executions(NOW, CONFIG)
    groups: list[int] = []
    all_wait = threading.Event()
    runtime = Runtime(CONFIG, "here", fleet.snmp, lambda: NOW)
    do = runtime.recordings._call

    def watch(results: Any) -> Any:
        groups.append(len(results))
        if len(groups) == 1:
            while len(runtime.recordings._waiting) < OLTS - 1 and not all_wait.wait(0.01):
                pass
        return do(results)

    runtime.recordings._call = watch

    def run(execution_id: int) -> State | None:
        try:
            done = run_execution(execution_id, runtime)
            assert done is not None
            return done.state
        finally:
            connections.close_all()

    with ThreadPoolExecutor(OLTS) as threads:
        working = [threads.submit(run, each) for each in ids]
        try:
            assert [each.result(PATIENCE_S) for each in working] == [State.SUCCESS] * OLTS
        finally:
            all_wait.set()
    assert groups == [1, OLTS - 1]
