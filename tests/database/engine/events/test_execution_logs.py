"""Every execution that ends for good leaves a line: discoveries in one file, all others in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.executions.models import Attempt, Execution, State
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.coordinate.aborts import abort_open
from facho.engine.events import coordinator_log
from facho.engine.events.coordinator_log import LogWriter, log_ended_executions
from facho.engine.record.suspension import suspend_olt
from facho.engine.schedule.recovery import recover
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
NOW = at("10:00")
Logged = Callable[[], list[CoordinatorLog]]


@pytest.fixture
def logs(logged: Logged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own = LogWriter(replace(Config(), home=tmp_path))
    own.background = False
    monkeypatch.setattr(coordinator_log, "log_writer", own)
    return tmp_path / "logs"


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def ended(job: str, kind: str = "get", state: str = State.SUCCESS, **columns: Any) -> Execution:
    node = make_node(olt=make_olt("north-1"), job=make_job(job, kind))
    execution = make_execution(node, NOW, state, ended_at=NOW + timedelta(seconds=30), attempt=1, **columns)
    began = NOW + timedelta(seconds=10)
    Attempt.objects.create(
        execution=execution, number=1, started_at=began, ended_at=NOW + timedelta(seconds=22)
    )
    return execution


def test_a_line_says_state_olt_job_duration_delay_and_why(logs: Path) -> None:
    first = make_execution(make_node(job=make_job("all-onus")), NOW, State.SUCCESS, ended_at=NOW)
    late: dict[str, Any] = {"delay_ms": 10_000, "why_late": "olt_busy", "blocked_by": first}
    execution = ended("optics", **late)
    log_ended_executions([execution.id])
    assert lines(logs / "get.log") == [
        "2025-06-10 10:00:30 [INFO] executions.get: "
        f"optics en north-1, ejecución {execution.id}: SUCCESS en 12,0 s, retraso 10,0 s "
        "(OLT ocupada all-onus)"
    ]
    assert lines(logs / "discovery.log") == []


def test_a_discovery_that_failed_is_in_a_file_of_its_own_with_its_error(logs: Path) -> None:
    execution = ended("all-onus", "discovery", State.FAILED, error="no answer\nat all", delay_ms=0)
    log_ended_executions([execution.id])
    (line,) = lines(logs / "discovery.log")
    assert "[ERROR] executions.discovery: all-onus en north-1" in line
    assert line.endswith("FAILED en 12,0 s, retraso 0,0 s: no answer\\nat all")


def test_one_by_hand_has_no_job(logs: Path) -> None:
    execution = ended("optics")
    Execution.objects.filter(id=execution.id).update(node=None)
    log_ended_executions([execution.id])
    assert f"executions.by_hand: manual en north-1, ejecución {execution.id}" in lines(logs / "get.log")[0]


def test_what_never_began_says_so(logs: Path) -> None:
    waiting = make_execution(make_node(job=make_job(kind="get")), NOW)
    abort_open(Execution.objects.all(), text_reason("nobody wants it"), NOW)
    (line,) = lines(logs / "get.log")
    assert "[WARNING]" in line
    assert line.endswith(f"ejecución {waiting.id}: ABORTED antes de empezar: nobody wants it")


def test_whoever_ends_an_execution_leaves_its_line(logs: Path) -> None:
    suspended = make_node(job=make_job("with-its-olt"))
    make_execution(suspended, NOW)
    suspend_olt(suspended.olt, text_reason("silent"), NOW, timedelta(minutes=1), Config())
    lost = make_node(job=make_job("lost", max_attempts=1))
    make_execution(lost, NOW - timedelta(minutes=5), State.RUNNING, attempt=1)
    recover(NOW, Config())
    assert [(line.split()[2], line.split()[4]) for line in lines(logs / "discovery.log")] == [
        ("[WARNING]", "with-its-olt"),
        ("[ERROR]", "lost"),
    ]


def test_one_that_waits_for_its_next_attempt_has_not_ended(logs: Path) -> None:
    log_ended_executions([make_execution(make_node(), NOW).id])
    log_ended_executions([])
    assert not logs.exists()


def test_a_database_that_is_away_stops_nobody(
    logs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    execution = ended("optics")
    monkeypatch.setattr(coordinator_log, "_ENDED", "nonsense {}")
    log_ended_executions([execution.id])
    assert [record.action for record in caplog.records] == ["not_logged"]  # type: ignore[attr-defined]
