"""What the engine has people told, from the places where it happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.store import update_heartbeat
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.record.suspension import resume_node, suspend_node
from facho.engine.schedule.probes import Probe, record_answer
from facho.engine.schedule.runner import write_poller_stats
from tests.engine_day import Day
from tests.factories import at, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]
NOW = at("10:00")
MINUTE = timedelta(minutes=1)
CONFIG = Config()


@pytest.fixture(autouse=True)
def _somebody_wants_to_know(db: None) -> None:
    NotificationRule.objects.create(name="all")


def told() -> list[tuple[str, str, str, dict[str, Any]]]:
    rows = NotificationNotice.objects.order_by("id")
    return [(row.notice, row.severity, row.about, row.details) for row in rows]


def silent_run(day: Day) -> None:
    day.queue()
    day.silent(day.begin())


def node_that_fails() -> SnmpJobHost:
    job = make_job("states", interval=60, max_attempts=1)
    return make_node(make_olt("olt-7"), job, next_run_at=NOW)


def test_an_olt_that_is_silent_until_it_is_suspended_is_down_once_and_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, day = node_that_fails(), Day(NOW)
    silent_run(day)
    assert Olt.objects.get().is_suspended
    probe: Any = None
    record_answer(Probe(probe, node.olt_id), NOW + 9 * MINUTE, CONFIG)
    record_answer(Probe(probe, node.olt_id), NOW + 9 * MINUTE, CONFIG)
    assert not Olt.objects.get().is_suspended
    assert told() == [
        ("OLT_DOWN", "CRITICAL", "", {"reason": "no answer"}),
        ("OLT_UP", "CRITICAL", "", {"since": NOW.isoformat()}),
    ]


def test_an_olt_that_answers_the_next_run_is_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    node_that_fails()
    job = SnmpJobHost.objects.get().job
    job.max_attempts, job.retry_delay_s = 3, 30
    job.save()
    day = Day(NOW)
    silent_run(day)
    day.now += MINUTE
    silent_run(day)
    day.now += MINUTE
    day.run()
    assert [notice for notice, *_ in told()] == ["OLT_DOWN", "OLT_UP"]
    assert told()[1][3] == {"since": NOW.isoformat()}


def test_a_node_that_is_suspended_and_comes_back() -> None:
    node = make_node(job=make_job("optics"))
    suspend_node(node, text_reason("tooBig"), NOW, MINUTE)
    resume_node(node.id, NOW)
    resume_node(node.id, NOW)
    about = f"node {node.id}"
    assert told() == [
        ("NODE_SUSPENDED", "HIGH", about, {"job": "optics", "reason": "tooBig"}),
        ("NODE_BACK", "HIGH", about, {"job": "optics"}),
    ]


def test_the_beginning_and_the_end_of_saturation(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = iter([10.0, 80.0, 90.0, 20.0])
    monkeypatch.setattr("facho.apps.zabbix_pollers.selectors.busy_percentage", lambda *_: next(busy))
    for minute in range(4):
        update_heartbeat("here", 1, NOW + minute * MINUTE)
        write_poller_stats(NOW + minute * MINUTE, CONFIG)
    assert told() == [
        ("SATURATION_BEGINS", "MEDIUM", "", {"busy_percentage": 80.0, "queue_size": 0}),
        ("SATURATION_ENDS", "MEDIUM", "", {"busy_percentage": 20.0, "queue_size": 0}),
    ]


def test_an_hour_without_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    node_that_fails()
    SnmpJobHost.objects.update(next_run_at=NOW + 10 * MINUTE)
    day = Day(NOW + MINUTE)
    day.coordinate()
    day.now = at("11:11")
    day.coordinate()
    day.coordinate()
    violations = [row for row in told() if row[0] == "QUOTA_VIOLATION"]
    ((_, severity, about, details),) = violations
    assert (severity, about) == ("CRITICAL", "")
    assert details["period_start"] == NOW.isoformat()
    assert details["report"]["tasks"][0]["completed"] == 0
