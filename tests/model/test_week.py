"""Compare the quota tables of the real engine with the model's ledger of every slot, over simulated days."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from facho.apps.execution_coordinator.models import (
    QuotaStatus,
    QuotaTracker,
    QuotaViolation,
    ViolationSeverity,
)
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import current
from facho.core.delay import Why
from facho.engine.coordinate.coordinator import coordinator_step
from tests.factories import add_job, add_olts
from tests.model.driver import WORKER, Driver
from tests.model.happenings import EVERY, Happenings
from tests.model.ledger import Clock, Key, Ledger, Period, Row, differences, violations
from tests.model.rules import Node, Rules

pytestmark = pytest.mark.usefixtures("brands")
long = pytest.mark.skipif("TESTS_LONG" not in os.environ, reason="long, and run by make bench")

HOUR: Final = timedelta(hours=1)
# Longer than the simulation looks away: every ten minutes it renews leases, and shows that it lives.
LASTING: Final = timedelta(minutes=22)


@dataclass(frozen=True)
class Scene:
    olts: int
    hours: int
    zone: str
    begin: datetime
    # How often everything happens that can.
    rounds: int = 1
    pollers: int = 10
    optics: str = "30m"
    state: str = "20m"
    seed: int = 1


class Week:
    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scene, zone = scene, ZoneInfo(scene.zone)
        around = scene.begin - 3 * HOUR, scene.begin + (scene.hours + 3) * HOUR
        self.rules = Rules(Ledger(Clock(zone, *around)))
        config = replace(current(), time_zone=zone, lease=LASTING, worker_seen_within=LASTING)
        self.driver = Driver(self.rules, config, scene.begin, scene.pollers, scene.seed)
        self.driver.take_clock(monkeypatch)
        self.driver.look = self._look
        self._looked = scene.begin
        self._set_up()
        self.happenings = Happenings(self.driver, scene.seed)
        # At the end everything is as usual again.
        self.happenings.plan(scene.begin + HOUR, scene.begin + (scene.hours - 4) * HOUR, scene.rounds)

    def _set_up(self) -> None:
        register_worker(WORKER, self.scene.pollers, self.scene.begin)
        olts = [olt.name for olt in add_olts(*(f"olt-{number}" for number in range(self.scene.olts)))]
        self._job("discovery", olts, "1h", kind="discovery", facts=())
        self._job("description", olts[1:], "1h", master="discovery", facts=("description",))
        self._job("optics", olts, self.scene.optics, facts=("optics",))
        self._job("state", olts, self.scene.state, facts=("state",))
        # Two of one type on one OLT add up.
        self._job("state too", olts[::3], "30m", facts=("state",))

    def _job(self, name: str, olts: Sequence[str], interval: str, **more: object) -> None:
        begin = self.scene.begin
        job = add_job(name, *olts, now=begin, interval=interval, **more)  # type: ignore[arg-type]
        rows = {row.olt.name: row for row in SnmpJobHost.objects.filter(job=job).select_related("olt")}
        self.rules.attached([_node(rows[olt], job) for olt in olts], begin)

    def go(self) -> None:
        end = self.scene.begin + self.scene.hours * HOUR
        self.driver.go(end)
        coordinator_step(end, self.driver.config)
        self._compare(end, since=self.scene.begin - 2 * HOUR)
        self._compare_grids()

    def _look(self, now: datetime) -> None:
        if now - self._looked >= HOUR:
            self._compare(now, since=now - 4 * HOUR)
            self._looked = now

    def _compare(self, now: datetime, since: datetime) -> None:
        expected = self.rules.ledger.rows(now, self.rules.to_come(now), since)
        trackers = list(QuotaTracker.objects.filter(period_start__gte=since))
        found = {_key(tracker): _row(tracker) for tracker in trackers}
        assert "\n".join(differences(expected, found)) == ""
        for tracker in trackers:
            _check_by_itself(tracker)
        broken = list(QuotaViolation.objects.filter(period_start__gte=since))
        severities = {(each.olt_id, each.period_start): each.severity for each in broken}
        assert severities == violations(expected)
        for each in broken:
            _check_report(each, found)

    def _compare_grids(self) -> None:
        found = dict(SnmpJobHost.objects.values_list("id", "next_run_at"))
        assert found == {node.id: node.next for node in self.rules.nodes.values()}


def _node(row: SnmpJobHost, job: SnmpJob) -> Node:
    master = None
    if job.master_id is not None:
        master = SnmpJobHost.objects.values_list("id", flat=True).get(job=job.master_id, olt=row.olt_id)
    delay = timedelta(seconds=job.retry_delay_s)
    return Node(row.id, row.olt_id, job.task_type, job.interval, master, job.max_attempts, delay)


def _key(tracker: QuotaTracker) -> Key:
    period = Period(tracker.period_start, tracker.period_end)
    return Key(tracker.olt_id, tracker.task_type, period)


def _row(tracker: QuotaTracker) -> Row:
    return Row(
        tracker.quota_required,
        tracker.quota_completed,
        tracker.quota_failed,
        tracker.quota_skipped,
        tracker.quota_pending,
        tracker.total_duration_ms,
        tracker.status,
    )


def _check_by_itself(tracker: QuotaTracker) -> None:
    """It adds up, and every slot that was lost has its reason."""
    row = _row(tracker)
    assert row.required == row.completed + row.failed + row.skipped + row.pending
    assert sum(reason["count"] for reason in tracker.reasons) == row.failed + row.skipped
    assert tracker.avg_duration_ms == row.total_duration_ms // max(row.completed, 1)


def _check_report(violation: QuotaViolation, found: dict[Key, Row]) -> None:
    """It says of each task what its tracker says."""
    period = Period(violation.period_start, violation.period_end)
    told = {
        task["task_type"]: (task["required"], task["completed"], task["failed"], task["skipped"])
        for task in violation.report["tasks"]
    }
    kept = {key.task_type: row[:4] for key, row in found.items() if key[::2] == (violation.olt_id, period)}
    assert told == kept


def _scene_for_this_database() -> Scene:
    """Where the clock is set by half an hour; the statements of the other database need no whole day."""
    zone = "Australia/Lord_Howe"
    if connection.vendor == "postgresql":
        return Scene(olts=3, hours=10, zone=zone, begin=datetime(2025, 10, 4, 10, 29, tzinfo=UTC), seed=3)
    return Scene(olts=6, hours=18, zone=zone, begin=datetime(2025, 10, 4, 3, 29, tzinfo=UTC))


def test_a_day_of_an_engine_is_counted_as_a_ledger_of_every_slot_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    week = Week(_scene_for_this_database(), monkeypatch)
    week.go()
    # Or the comparison would say little.
    assert set(week.happenings.counted) == set(EVERY)
    assert _statuses() >= {"COMPLETED", "QUOTA_NOT_MET", "FAILED", "INTERRUPTED"}
    assert _reasons() >= {"failed", "aborted", "engine_stopped"}


@long
def test_a_week_of_an_engine_is_counted_as_a_ledger_of_every_slot_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = datetime(2025, 10, 23, 20, 59, tzinfo=UTC)
    week = Week(Scene(50, 7 * 24, "Europe/Madrid", begin, rounds=20, pollers=12), monkeypatch)
    week.go()
    assert _statuses() == set(QuotaStatus.values)
    others = {"failed", "aborted", "late"}
    assert _reasons() >= others | {why.value for why in Why} - {"cpu_high", "maintenance", "retrying"}
    severities = QuotaViolation.objects.values_list("severity", flat=True)
    assert set(severities) == set(ViolationSeverity.values)


def _statuses() -> set[str]:
    return set(QuotaTracker.objects.values_list("status", flat=True))


def _reasons() -> set[str]:
    every = QuotaTracker.objects.values_list("reasons", flat=True)
    return {reason["why"] for reasons in every for reason in reasons}
