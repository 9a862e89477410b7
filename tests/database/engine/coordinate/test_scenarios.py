"""What an operator lives through, from what he does to what he reads afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaViolation
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.engine.commands.olts import disable_olts
from facho.engine.coordinate import coordinator
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.process.leases import LeaseLost, release_lease
from facho.engine.schedule.assign import busy_olts
from tests.engine_day import Day, figures, reasons
from tests.factories import add_job, add_olts, at, know_brands, node_of

pytestmark = pytest.mark.django_db

Logged = Callable[[], list[CoordinatorLog]]


@pytest.fixture
def day() -> Day:
    know_brands()
    add_olts("north")
    return Day(at("10:00"))


def due_at(day: Day, job: str, clock: str) -> None:
    SnmpJobHost.objects.filter(job__name=job).update(next_run_at=at(clock))
    reconcile_trackers(None, day.now, day.config)


def test_a_task_is_disabled_in_the_admin(day: Day, admin_client: Client, logged: Logged) -> None:
    """It is 10:31. Optics ran three times; the fourth run is on its way to a poller."""
    add_job("optics", "north", interval="10m", facts=("onu_rx_dbm",))
    due_at(day, "optics", "10:10")
    day.pass_until(at("10:40"))
    day.queue()
    Execution.objects.filter(state=State.WAITING).update(state=State.PENDING)
    assert figures() == [("get_onu_rx_dbm", "10:00-11:00", 6, 3, 0, 0, 3, "IN_PROGRESS")]

    node = node_of("optics", "north")
    page = reverse("admin:snmp_jobs_snmpjobhost_changelist")
    reason = {"reason": "works on the line"}
    admin_client.post(page, {"action": "disable", "_selected_action": [node.pk], **reason})

    # Aborted, out of the queue, and not planned any more.
    assert Execution.objects.latest("id").state == State.ABORTED
    assert not Execution.objects.filter(state__in=(State.WAITING, State.PENDING)).exists()
    assert node_of("optics", "north").next_run_at is None
    # What is left of the hour is not owed; the run that was aborted was skipped.
    assert figures() == [("get_onu_rx_dbm", "10:00-11:00", 4, 3, 0, 1, 0, "IN_PROGRESS")]
    assert reasons() == [("aborted", ["node_disabled", {}], 1, 600)]
    told = {line.event_type: line for line in logged()}
    assert {"TASK_REMOVED", "EXECUTION_ABORTED"} <= told.keys()
    assert told["TASK_REMOVED"].olt is not None
    assert told["TASK_REMOVED"].details["aborted"] == 1
    # The coordinator's own step has nothing left to do.
    assert day.coordinate().changed == []


def test_discovery_completes_two_of_four(day: Day, logged: Logged) -> None:
    """The OLT answers half of the time. At eleven its operator reads why."""
    add_job("discovery", "north", kind="discovery", facts=(), interval="15m")
    SnmpJob.objects.update(max_attempts=1)
    due_at(day, "discovery", "10:15")
    for clock, wrong in (("10:15", ""), ("10:30", "no answer"), ("10:45", ""), ("11:00", "no answer")):
        day.now = at(clock)
        SnmpJobHost.objects.update(suspended_reason="", next_probe_at=None)
        day.run(lambda _, wrong=wrong: wrong)  # type: ignore[misc]
    day.now = at("11:00:10")
    day.coordinate()

    assert figures()[0] == ("discovery", "10:00-11:00", 4, 2, 2, 0, 0, "QUOTA_NOT_MET")
    violation = QuotaViolation.objects.get()
    assert (violation.severity, violation.notified) == ("HIGH", False)
    begins = [int(at(clock).timestamp()) for clock in ("10:30", "11:00")]
    times = [[begin, begin + 900] for begin in begins]
    missed = {"why": "failed", "what": "no answer", "count": 2, "lost_s": 1800, "times": times}
    assert violation.report == {
        "tasks": [
            {
                "task_type": "discovery",
                "required": 4,
                "completed": 2,
                "failed": 2,
                "skipped": 0,
                "percent": 50.0,
                "severity": "HIGH",
                "reasons": [missed],
            }
        ],
        "reasons": [missed],
    }
    (line,) = (line for line in logged() if line.event_type == "QUOTA_VIOLATION")
    assert line.level == "CRITICAL"
    assert "north" in line.message
    assert "discovery" in line.message


def test_an_olt_is_disabled_while_it_is_being_walked(day: Day, logged: Logged) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="20m")
    add_job("state", "north", interval="10m")
    due_at(day, "discovery", "10:20")
    due_at(day, "state", "10:20")
    day.now = at("10:20")
    day.queue()
    (running,) = day.begin()
    assert {row.state for row in Execution.objects.all()} == {State.RUNNING, State.WAITING}

    day.now = at("10:20:30")
    disable_olts(["north"], day.now)

    # All is aborted, and whoever walks it finds out when he wants to store what he has.
    assert {row.state for row in Execution.objects.all()} == {State.ABORTED}
    with pytest.raises(LeaseLost):
        day.end([running])
    release_lease(running)
    assert not Onu.objects.exists()
    assert not Execution.objects.exclude(lease_token="").exists()
    assert busy_olts(day.now) == set()
    assert {row[-1] for row in figures()} == {"INTERRUPTED"}
    assert reasons("discovery") == [("aborted", ["olt_disabled", {}], 1, 1200)]
    told = [line.event_type for line in logged()]
    assert told.count("EXECUTION_ABORTED") == 2
    assert "OLT_DISABLED" in told


def changed_by_sql(what: str) -> None:
    {
        "interval": lambda: SnmpJob.objects.filter(name="state").update(interval_s=1200),
        "own interval": lambda: SnmpJobHost.objects.filter(job__name="state").update(interval_s=1200),
        "node off": lambda: SnmpJobHost.objects.filter(job__name="state").update(enabled=False),
        "job off": lambda: SnmpJob.objects.filter(name="state").update(enabled=False),
        "olt off": lambda: Olt.objects.update(enabled=False),
        "address": lambda: Olt.objects.update(address="10.9.9.9"),
        "priority": lambda: SnmpJob.objects.filter(name="state").update(priority=7),
        "facts": lambda: SnmpJob.objects.filter(name="state").update(facts=["down_cause"]),
        "chain": lambda: SnmpJob.objects.filter(name="state").update(
            master=SnmpJob.objects.get(name="discovery")
        ),
    }[what]()


@pytest.mark.parametrize(
    ("what", "event", "next_run"),
    [
        ("interval", "TASK_INTERVAL_CHANGED", "10:21"),
        ("own interval", "TASK_INTERVAL_CHANGED", "10:21"),
        ("node off", "TASK_REMOVED", None),
        ("job off", "TASK_REMOVED", None),
        ("olt off", "OLT_DISABLED", None),
        ("address", "CONFIG_CHANGED", "10:10"),
        ("priority", "CONFIG_CHANGED", "10:10"),
        ("facts", "CONFIG_CHANGED", "10:10"),
        ("chain", "CONFIG_CHANGED", None),
    ],
)
def test_what_somebody_changes_by_sql_is_found_in_the_next_step(
    day: Day, logged: Logged, what: str, event: str, next_run: str | None
) -> None:
    add_job("discovery", "north", kind="discovery", facts=(), interval="1h")
    add_job("state", "north", interval="10m")
    due_at(day, "state", "10:10")
    day.coordinate()
    before = len(logged())
    changed_by_sql(what)
    day.now = at("10:01")

    assert day.coordinate().changed == [Olt.objects.get().id]

    assert event in {line.event_type for line in logged()[before:]}
    assert node_of("state", "north").next_run_at == (None if next_run is None else at(next_run))
    assert day.coordinate().changed == []


def test_a_node_added_by_sql_runs_a_minute_later(day: Day, logged: Logged) -> None:
    job = add_job("state", interval="10m")
    day.coordinate()
    SnmpJobHost.objects.create(job=job, olt=Olt.objects.get())
    day.now = at("10:05")
    day.coordinate()
    assert node_of("state", "north").next_run_at == at("10:06")
    assert "TASK_ADDED" in {line.event_type for line in logged()}
    assert figures() == [("get_state", "10:00-11:00", 6, 0, 0, 0, 6, "IN_PROGRESS")]


def test_an_olt_that_goes_away_and_comes_back_is_planned_anew(day: Day, logged: Logged) -> None:
    add_job("state", "north", interval="10m")
    due_at(day, "state", "10:10")
    day.now = at("10:10")
    day.queue()
    (begun,) = day.begin()
    day.silent([begun])
    day.now = at("10:13")
    day.run()
    whys = [line.details["why"] for line in logged() if line.event_type == "EMERGENCY_REPLAN"]
    assert whys == ["unreachable", "back"]


def test_three_failures_in_a_row_have_an_olt_planned_anew(day: Day, logged: Logged) -> None:
    for name in ("state", "optics"):
        add_job(name, "north", interval="10m")
    SnmpJob.objects.update(max_attempts=1)
    for clock in ("10:10", "10:20"):
        due_at(day, "state", clock)
        due_at(day, "optics", clock)
        day.now = at(clock)
        day.run(lambda _: "tooBig")
        SnmpJobHost.objects.update(suspended_reason="", next_probe_at=None)
    planned = [line for line in logged() if line.event_type == "EMERGENCY_REPLAN"]
    assert [(line.details["why"], line.details["failures"]) for line in planned] == [("failures", 3)]
    due_at(day, "state", "10:30")
    day.now = at("10:30")
    day.run()
    assert Olt.objects.get().failed_in_a_row == 0


def test_a_part_of_the_step_that_fails_keeps_no_hour_from_being_closed(
    day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_job("state", "north", interval="10m")
    due_at(day, "state", "10:10")
    day.pass_until(at("11:00"))
    day.now = at("11:00:10")
    day.run()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a row that nobody thought of")

    monkeypatch.setattr(coordinator, "handle_changes", fail)
    with pytest.raises(RuntimeError, match="nobody thought of"):
        day.coordinate()
    assert figures()[0] == ("get_state", "10:00-11:00", 6, 6, 0, 0, 0, "COMPLETED")


def test_a_step_asks_as_often_whether_one_olt_was_changed_or_many(
    day: Day,
) -> None:
    add_olts("south", "east", "west")
    add_job("optics", "north", "south", "east", "west", interval="10m", facts=("onu_rx_dbm",))
    day.coordinate()
    with CaptureQueriesContext(connection) as one:
        SnmpJobHost.objects.filter(olt__name="north").update(interval_s=1200)
        assert len(day.coordinate().changed) == 1
    with CaptureQueriesContext(connection) as all_of_them:
        SnmpJobHost.objects.update(interval_s=1800)
        assert len(day.coordinate().changed) == 4
    assert len(all_of_them) == len(one)
