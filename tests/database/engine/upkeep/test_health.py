"""`/health`: well or not, and why, for whoever asks, whatever is missing."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from facho.apps.db.database import database_bytes
from facho.apps.execution_coordinator.models import CoordinatorState, StorageSample
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.models import Worker
from facho.core.disk import Room
from facho.engine.upkeep import health as judging
from facho.engine.upkeep import storage
from facho.web.server import answer_cache
from facho.web.server import health_check as web
from tests.factories import make_job, make_node, make_olt
from tests.sample_rows import fill

pytestmark = pytest.mark.django_db
# The time of the tests stands still.
NOW = timezone.now()


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine may take longer than an engine may between two steps.
    monkeypatch.setattr("facho.web.server.health_check.database_now", lambda: NOW)
    monkeypatch.setattr(judging, "_schema_is_complete", threading.Event())
    monkeypatch.setattr(storage, "database_room", lambda: Room(10**12, 2 * 10**12))


def engine_at_work(seconds_ago: float = 0.0) -> None:
    at = NOW - timedelta(seconds=seconds_ago)
    for name in ("scheduler", "coordinator"):
        CoordinatorState.objects.update_or_create(name=name, defaults={"updated_at": at})
    Worker.objects.update_or_create(name="here", defaults={"pollers": 10, "started_at": at, "seen_at": NOW})


def ask(**headers: str) -> tuple[int, dict[str, Any]]:
    cache.clear()
    answer = Client(headers=headers).get("/health")
    return answer.status_code, answer.json()


def reasons() -> dict[str, str]:
    status, told = ask()
    assert (status, told["status"]) == (503, "failing")
    return {each["what"]: each["told"] for each in told["reasons"]}


@pytest.mark.both_databases
def test_a_system_at_work_is_well_and_says_how_much() -> None:
    engine_at_work()
    status, told = ask()
    assert (status, told["status"]) == (200, "ok")
    assert (told["workers"], told["pollers"], told["logs_writable"]) == (1, 10, True)
    assert told["scheduler_age_s"] < 30
    assert told["olts_without_trackers"] == 0


def test_it_answers_under_any_name_and_to_nobody_else_than_readers() -> None:
    engine_at_work()
    assert ask(Host="10.1.2.3")[0] == 200
    assert ask(Host="evil.example")[0] == 200
    assert Client(headers={"Host": "evil.example"}).get("/admin/login/").status_code == 400
    assert Client().post("/health").status_code == 405


def test_an_engine_that_stopped_is_a_reason() -> None:
    assert set(reasons()) == {"scheduler", "coordinator", "workers"}
    engine_at_work(seconds_ago=120)
    found = reasons()
    assert set(found) == {"scheduler", "coordinator"}
    assert found["scheduler"].startswith("its last step was 12")
    engine_at_work(seconds_ago=-120)
    assert reasons()["coordinator"] == "its last step is in the future: the clock was set back"


def test_a_database_that_is_away_is_a_reason_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError('connection to server at "db.internal", user "facho" failed')

    monkeypatch.setattr(judging, "check_reachable", away)
    assert reasons() == {"database": "the database cannot be reached or used"}


def test_a_schema_that_is_behind_is_a_reason_until_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_at_work()
    monkeypatch.setattr(judging, "missing_migrations", lambda: ["hosts.0009_x"])
    assert reasons() == {"schema": "1 changes are missing"}
    monkeypatch.setattr(judging, "missing_migrations", list)
    assert ask()[0] == 200


def test_logs_that_cannot_be_written_and_a_full_disk_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_at_work()
    monkeypatch.setattr(judging, "write_problem", lambda _folder: "Permission denied")
    monkeypatch.setattr(storage, "database_room", lambda: Room(10**6, 10**12))
    assert set(reasons()) == {"logs", "disk"}


def test_how_long_the_disk_lasts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_at_work()
    now = NOW
    size = database_bytes()
    monkeypatch.setattr(storage, "database_bytes", lambda: size + 10**12)
    StorageSample.objects.create(at=now - timedelta(days=2), database_bytes=size, free_bytes=2 * 10**12)
    assert ask()[1]["disk_days_left"] == pytest.approx(2, rel=0.1)


@pytest.mark.both_databases
def test_olts_whose_slots_nobody_counts_are_a_reason_without_their_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine_at_work()
    make_node(make_olt("Secreta-1"), make_job(), NOW)
    monkeypatch.setattr(judging, "are_trackers_due", lambda *_: True)
    found = reasons()
    assert found == {"trackers": "1 OLTs have slots in this hour and no tracker"}
    monkeypatch.setattr(judging, "are_trackers_due", lambda *_: False)
    assert ask()[0] == 200


def test_it_tells_no_name_and_no_place() -> None:
    fill(3)
    status, told = ask()
    assert status == 503
    names = {*Olt.objects.values_list("name", flat=True), *SnmpJob.objects.values_list("name", flat=True)}
    assert SnmpJobHost.objects.exists()
    assert not [name for name in (*names, "/", "worker-") if name in str(told)]


def test_who_asks_all_the_time_does_not_ask_the_database() -> None:
    engine_at_work()
    client = Client()
    client.get("/health")
    with CaptureQueriesContext(connection) as queries:
        assert [client.get("/health").status_code for _ in range(5)] == [200] * 5
    assert len(queries) == 0


def test_who_asks_all_the_time_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert ask()[0] == 503
    assert [record.name for record in caplog.records if record.name.startswith("django")] == []


def test_who_asks_while_it_takes_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "_WAIT_S", 0.01)
    with web._cache._turn("facho.health.all") as lock, lock:
        assert reasons() == {"health": "it takes long to find out"}
