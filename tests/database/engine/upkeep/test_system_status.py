"""The coordinator's state: one object, the same number of queries however much there is, and the doctor."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    OltConfiguration,
    QuotaTracker,
    QuotaViolation,
)
from facho.apps.executions.models import State
from facho.apps.executions.selectors import WaitCause
from facho.apps.hosts.models import Olt
from facho.apps.zabbix_pollers.models import Worker
from facho.cli.coordinator import print_state
from facho.cli.doctor import print_checkup
from facho.cli.doctor.coordinator import check_coordinator
from facho.cli.doctor.findings import Checkup, Finding, Level
from facho.config import Config
from facho.engine.upkeep.system_status import AtRisk, Condition, read_system_status
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:30")
CONFIG = Config()
SECOND = timedelta(seconds=1)


def look(now: datetime = NOW) -> Condition:
    return read_system_status(now, CONFIG)


def found(now: datetime = NOW) -> dict[str, Finding]:
    return {each.what: each for each in check_coordinator(look(now), CONFIG)}


def a_step(name: str, ago: float, **value: Any) -> None:
    CoordinatorState.objects.create(name=name, value=value, updated_at=NOW - ago * SECOND)


def a_tracker(olt: Olt, task_type: str = "discovery", hour: str = "10:00", **figures: Any) -> QuotaTracker:
    """`completed=3` is the column quota_completed; required is what they add up to."""
    start = at(hour)
    status = figures.pop("status", "IN_PROGRESS")
    closed_at = figures.pop("closed_at", None)
    return QuotaTracker.objects.create(
        olt=olt,
        task_type=task_type,
        period_start=start,
        period_end=start + timedelta(hours=1),
        quota_required=sum(figures.values()),
        **{f"quota_{name}": figure for name, figure in figures.items()},
        status=status,
        closed_at=closed_at,
        created_at=start,
        updated_at=start,
    )


def a_violation(olt: Olt, severity: str, ago: timedelta) -> None:
    hour = {"period_start": NOW - ago, "period_end": NOW - ago}
    QuotaViolation.objects.create(olt=olt, severity=severity, created_at=NOW - ago, **hour)


def test_it_tells_when_the_loops_stepped_and_how_long_it_took() -> None:
    a_step("coordinator", 3, duration_ms=41.5)
    told = look()
    assert (told.coordinator.age, told.coordinator.duration_ms) == (3 * SECOND, 41.5)
    assert told.scheduler.age is None


def test_it_counts_olts_and_their_configurations() -> None:
    make_olt(enabled=False, reachable=False)
    make_olt(suspended_reason="silent", reachable=False)
    known = make_olt()
    OltConfiguration.objects.create(olt=known, fingerprint="f", state="", changed_at=at("09:00"))
    told = look()
    assert told.as_json()["olts"] == {
        "enabled": 2, "disabled": 1, "suspended": 1, "unreachable": 0, "maintenance": 0,
    }  # fmt: skip
    assert told.configurations.known == 1
    assert told.configurations.last_changed_at == at("09:00")
    assert told.configurations.olts_without == 2


def test_it_counts_nodes_that_are_on() -> None:
    make_node(next_run_at=at("10:31"))
    make_node(next_run_at=NOW - 11 * SECOND)
    make_node(next_run_at=at("10:31"), suspended_reason="it fails")
    make_node(make_olt(enabled=False), suspended_reason="it fails", next_run_at=at("09:00"))
    told = look().nodes
    assert (told.enabled, told.suspended, told.overdue) == (3, 1, 1)


def test_it_tells_who_holds_an_olt_and_what_waits_for_what() -> None:
    olt, job = make_olt("north"), make_job("optics")
    node, other = make_node(olt, job), make_node(olt, make_job("states"))
    running = make_execution(node, NOW - 5 * SECOND, State.RUNNING, worker="w:7:1")
    make_execution(other, NOW - 8 * SECOND)
    make_execution(make_node(), NOW - SECOND, not_before=NOW + 60 * SECOND)
    Worker.objects.create(name="w", pollers=4, started_at=NOW, seen_at=NOW)
    told = look()
    assert told.as_json()["executions"] == {"waiting": 2, "pending": 0, "running": 1, "oldest_waits": 8}
    (lease,) = told.leases
    assert (lease.olt, lease.job, lease.execution_id) == ("north", "optics", running.id)
    assert (lease.worker, lease.expires_in) == ("w:7:1", 15 * SECOND)
    assert (told.queue.size, told.queue.retries) == (1, 1)
    first = told.queue.first[0]
    assert (first.job, first.reason, first.because_of) == ("states", WaitCause.OLT_BUSY, "optics")


def test_quotas_of_this_hour_that_cannot_be_kept_are_named() -> None:
    north, south = make_olt("north"), make_olt("south")
    a_tracker(north, "can_be_kept", completed=2, failed=2, pending=6)
    a_tracker(north, "too_late", completed=2, failed=3, pending=5)
    a_tracker(south, "is_over", failed=4, status="FAILED", closed_at=NOW)
    a_tracker(south, "hour_before", hour="09:00", failed=4, pending=1)
    told = look().quotas
    assert told.by_status == {"IN_PROGRESS": 2, "FAILED": 1}
    assert (told.at_risk, told.first_at_risk) == (1, (AtRisk("north", "too_late", 10, 2, 5),))


def test_olts_with_slots_in_this_hour_and_no_tracker_are_named() -> None:
    tracked = make_olt("tracked")
    make_node(tracked, next_run_at=at("10:40"))
    a_tracker(tracked, pending=1)
    make_node(make_olt("on-the-stroke"), next_run_at=at("11:00"))
    make_node(make_olt("next-hour"), next_run_at=at("11:00:01"))
    make_node(make_olt("off", enabled=False), next_run_at=at("10:40"))
    make_node(make_olt("job-off"), make_job(enabled=False), next_run_at=at("10:40"))
    a_tracker(make_node(make_olt("only-before"), next_run_at=at("10:40")).olt, hour="09:00", completed=1)
    assert look().quotas.olts_without == ("on-the-stroke", "only-before")
    assert (
        "2 OLTs have slots in this hour and no tracker: on-the-stroke, only-before"
        in found()["trackers"].told
    )
    # On the first steps of an hour they are about to be made.
    assert found(at("10:00:10"))["trackers"].level is Level.OK


def test_violations_and_lost_lines_of_the_last_day_are_counted() -> None:
    olt = make_olt()
    for severity, hours in (("LOW", 1), ("CRITICAL", 2), ("LOW", 3), ("HIGH", 25)):
        a_violation(olt, severity, timedelta(hours=hours))
    for lines, hours in ((400, 1), (12, 2), (1000, 25)):
        lost = {"event_type": "LOG_LOST", "level": "WARNING", "details": {"lines": lines}}
        CoordinatorLog.objects.create(**lost, timestamp=NOW - timedelta(hours=hours))
    told = found()
    assert told["violations"].level is Level.WARNING
    assert told["violations"].told == "3 in the last 24 hours: 1 CRITICAL, 2 LOW"
    assert "/admin/execution_coordinator/quotaviolation/" in told["violations"].do
    assert told["coordinator's log"].told == "412 lines of it were lost in the last 24 hours"


@pytest.mark.parametrize(
    ("ago", "level"), [(0, Level.OK), (49, Level.OK), (51, Level.ERROR), (-60, Level.ERROR)]
)
def test_a_coordinator_that_stands_still_is_an_error(ago: float, level: Level) -> None:
    a_step("coordinator", ago)
    assert found()["coordinator"].level is level


def test_where_all_is_well_the_doctor_finds_no_fault() -> None:
    a_step("scheduler", 1)
    a_step("coordinator", 4)
    a_tracker(make_node(next_run_at=at("10:40")).olt, completed=1, pending=1)
    assert {each.level for each in found().values()} == {Level.OK}


def test_a_risk_is_a_warning_that_names_it() -> None:
    a_tracker(make_olt("north"), completed=1, failed=3)
    told = found()["quotas"]
    assert (told.level, told.told) == (
        Level.WARNING,
        "1 of this hour can no longer be met: north discovery",
    )


def much(count: int) -> None:
    for _ in range(count):
        node = make_node(next_run_at=NOW)
        make_execution(node, NOW)
        make_execution(make_node(next_run_at=NOW), NOW, State.RUNNING)
        a_tracker(node.olt, failed=2, pending=1)
        a_violation(node.olt, "LOW", timedelta(hours=1))


def queries() -> int:
    with CaptureQueriesContext(connection) as captured:
        look()
    return len(captured)


def test_it_takes_the_same_number_of_queries_however_much_there_is() -> None:
    much(1)
    few = queries()
    much(12)
    assert queries() == few == 17


@pytest.fixture
def _something(db: None) -> None:
    a_step("coordinator", 4, duration_ms=12)
    much(2)


@pytest.mark.usefixtures("_something")
def test_the_doctor_has_it_in_its_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_checkup(Checkup([Finding(Level.OK, "all", "well")], look()), as_json=True)
    told = json.loads(capsys.readouterr().out)["coordinator"]
    assert told["coordinator"] == {"at": "2025-06-10T10:29:56+00:00", "age": 4.0, "duration_ms": 12}
    assert told["queue"]["first"][0]["reason"] == "no_pollers"
    assert told["quotas"]["hour"]["start"] == "2025-06-10T10:00:00+00:00"


@pytest.mark.usefixtures("_something")
def test_a_terminal_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_state(look())
    told = capsys.readouterr().out
    for words in (
        "stepped 4.0 s ago, in 12 ms",
        "never made a step",
        "2 waiting, 0 pending, 2 running",
        "2 IN_PROGRESS",
        "2 LOW",
        "no pollers",
        "20 s",
    ):
        assert words in told
