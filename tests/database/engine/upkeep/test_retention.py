"""What is older than it is kept goes, a few rows at a time; what is needed stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection
from django.db.models import Model, Q
from django.test.utils import CaptureQueriesContext

from facho.apps.access.models import ApiToken, AuditEntry, LoginAddress, LoginAttempt
from facho.apps.db import sql
from facho.apps.discovery.models import OnuEvent, PortOutage
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    ExecutionPlan,
    QuotaTracker,
    QuotaViolation,
    StorageSample,
    TaskForecast,
)
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import NotificationDelivery, NotificationNotice
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import Poller, PollerStats
from facho.config import Config
from facho.engine.upkeep import retention
from facho.engine.upkeep.housekeeping import run_housekeeping
from facho.engine.upkeep.retention import clean_logs, remove_chunk, remove_old
from facho.engine.upkeep.retention_rules import RULES, Rule, select_too_old
from tests.factories import at, make_execution, make_node, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
CONFIG = Config()
DAY = timedelta(days=1)
_STATS = dict.fromkeys(
    (
        "total_pollers",
        "free_pollers",
        "busy_pollers",
        "busy_percentage",
        "queue_size",
        "is_saturated",
        "total_tasks_completed",
        "total_tasks_delayed",
    ),
    0,
)


def nothing() -> None:
    pass


def clock_is_believed(now: datetime = NOW) -> None:
    value = {"since": (now - DAY).isoformat()}
    CoordinatorState.objects.create(name="retention", value=value, updated_at=now)


def ended(node: SnmpJobHost, when: datetime, **columns: Any) -> Execution:
    columns.setdefault("state", State.SUCCESS)
    execution = make_execution(node, when, ended_at=when, **columns)
    Attempt.objects.create(execution=execution, number=1, started_at=when)
    return execution


def skipped(node: SnmpJobHost, when: datetime, **columns: Any) -> SkippedSlots:
    return SkippedSlots.objects.create(
        node=node, olt=node.olt, first_slot=when, last_slot=when, count=1, why="suspended", **columns
    )


def history() -> dict[str, Any]:
    return {"olt": make_olt(), "subject": "onu", "data": b"some"}


def hour(when: datetime) -> dict[str, Any]:
    return {"olt": make_olt(), "period_end": when, "created_at": when, "updated_at": when}


def violation(when: datetime) -> dict[str, Any]:
    return {"olt": make_olt(), "period_start": when, "period_end": when, "severity": "LOW"}


def logged_at(when: datetime) -> CoordinatorLog:
    return CoordinatorLog.objects.create(event_type="OLT_BACK", level="INFO", message="", timestamp=when)


def outage_until(when: datetime) -> PortOutage:
    return PortOutage.objects.create(
        olt=make_olt(),
        place="0/1",
        began_at=when,
        ended_at=when,
        onus_affected=8,
        onus_known=8,
        cause="unknown",
    )


def rule_of(model: type[Model]) -> Rule:
    (rule,) = [rule for rule in RULES if rule.model is model]
    return rule


def window(until: datetime) -> MaintenanceWindow:
    return MaintenanceWindow.objects.create(
        name=f"until {until}", site="Norte", starts_at=until - DAY, ends_at=until, created_at=until
    )


def token(until: datetime) -> ApiToken:
    owner, _made = User.objects.get_or_create(username="somebody")
    name = f"until {until}"
    return ApiToken.objects.create(
        owner=owner, name=name, role="viewer", digest=name, created_at=until, expires_at=until
    )


def logged_in_at(when: datetime) -> LoginAddress:
    user, _made = User.objects.get_or_create(username="somebody")
    return LoginAddress.objects.create(account=f"{when}", user=user, address="10.0.0.9", at=when)


# How a row of each table is made at a moment, and how long it is kept.
MADE: dict[type[Model], tuple[timedelta, Callable[[datetime], Model]]] = {
    Execution: (30 * DAY, lambda when: ended(make_node(), when)),
    SkippedSlots: (30 * DAY, lambda when: skipped(make_node(), when)),
    PollerStats: (30 * DAY, lambda when: PollerStats.objects.create(timestamp=when, **_STATS)),
    OnuEvent: (365 * DAY, lambda when: OnuEvent.objects.create(olt=make_olt(), kind="new", at=when)),
    PortOutage: (365 * DAY, lambda when: outage_until(when)),
    HistoryHour: (90 * DAY, lambda when: HistoryHour.objects.create(hour=when, **history())),
    HistoryFrame: (90 * DAY, lambda when: HistoryFrame.objects.create(at=when, **history())),
    StorageSample: (30 * DAY, lambda when: StorageSample.objects.create(at=when, database_bytes=1)),
    QuotaTracker: (365 * DAY, lambda when: QuotaTracker.objects.create(period_start=when, **hour(when))),
    QuotaViolation: (
        365 * DAY,
        lambda when: QuotaViolation.objects.create(created_at=when, **violation(when)),
    ),
    MaintenanceWindow: (365 * DAY, lambda when: window(when)),
    ExecutionPlan: (
        7 * DAY,
        lambda when: ExecutionPlan.objects.create(
            olt=make_olt(), period_start=when, period_end=when, created_at=when, updated_at=when
        ),
    ),
    TaskForecast: (365 * DAY, lambda when: TaskForecast.objects.create(olt=make_olt(), updated_at=when)),
    CoordinatorLog: (7 * DAY, lambda when: logged_at(when)),
    AuditEntry: (365 * DAY, lambda when: AuditEntry.objects.create(at=when)),
    NotificationNotice: (90 * DAY, lambda when: NotificationNotice.objects.create(at=when)),
    NotificationDelivery: (
        90 * DAY,
        lambda when: NotificationDelivery.objects.create(created_at=when, status="SENT"),
    ),
    ApiToken: (90 * DAY, lambda when: token(when)),
    LoginAttempt: (30 * DAY, lambda when: LoginAttempt.objects.create(address="10.0.0.9", at=when)),
    LoginAddress: (30 * DAY, lambda when: logged_in_at(when)),
    Session: (0 * DAY, lambda when: Session.objects.create(session_key=f"{when:%s}", expire_date=when)),
    Poller: (DAY, lambda when: Poller.objects.create(poller_id=when.second, worker="w", heartbeat=when)),
}


def test_every_rule_is_tried_here() -> None:
    assert {rule.model for rule in RULES} == set(MADE)


@pytest.mark.parametrize("model", MADE)
def test_what_is_too_old_goes_and_the_rest_stays(model: type[Model]) -> None:
    clock_is_believed()
    keep, make = MADE[model]
    make(NOW - keep - timedelta(seconds=1))
    kept = make(NOW - keep)
    remove_old(NOW, CONFIG, between=nothing)
    assert list(model._default_manager.all()) == [kept]


@pytest.mark.parametrize("model", [model for model in MADE if model is not Poller])
def test_a_chunk_does_not_look_through_the_table(model: type[Model]) -> None:
    """There are few pollers, however long the system runs; all others grow."""
    oldest = select_too_old(rule_of(model), NOW, CONFIG)[:500]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Of a table without rows the plan would be another one.
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    plan = oldest.explain()
    for wrong in ("SCAN", "TEMP B-TREE") if connection.vendor == "sqlite" else ("Seq Scan", "Sort", "Bitmap"):
        assert wrong not in plan, plan


def test_of_the_log_no_more_rows_stay_than_are_wanted() -> None:
    clock_is_believed()
    rows = [logged_at(NOW - number * timedelta(minutes=1)) for number in range(30, 0, -1)]
    config = replace(CONFIG, keep_log_rows=5, retention_chunk=10)
    assert remove_old(NOW, config, between=nothing).rows == {"coordinator_logs": 25}
    assert list(CoordinatorLog.objects.order_by("id")) == rows[25:]
    # Keys that were given and never used, as by a full disk, are no rows.
    last = logged_at(NOW)
    CoordinatorLog.objects.filter(id=last.id).update(id=last.id + 1000)
    assert remove_old(NOW, config, between=nothing).rows == {"coordinator_logs": 1}
    assert CoordinatorLog.objects.count() == 5


def test_the_log_is_cleaned_to_the_end_and_in_chunks() -> None:
    for days in range(19, -1, -1):
        logged_at(NOW - days * DAY)
    pauses: list[int] = []
    config = replace(CONFIG, retention_chunk=4)
    assert clean_logs(NOW, config, between=lambda: pauses.append(1)) == 12
    assert (CoordinatorLog.objects.count(), len(pauses)) == (8, 3)
    assert clean_logs(NOW, config, days_old=2, between=nothing) == 5
    assert clean_logs(NOW, replace(config, keep_log_rows=1), between=nothing) == 2
    assert CoordinatorLog.objects.get().timestamp == NOW


def test_what_is_open_stays_however_old_it_is() -> None:
    clock_is_believed()
    long_ago = NOW - 400 * DAY
    for state in (State.WAITING, State.PENDING, State.RUNNING):
        make_execution(make_node(), long_ago, state)
    # No such row is ever written; if one was, it would be in somebody's hands.
    make_execution(make_node(), long_ago, State.RUNNING, ended_at=long_ago)
    remove_old(NOW, CONFIG, between=nothing)
    assert Execution.objects.count() == 4


def test_attempts_go_with_their_execution_and_what_refers_to_it_forgets_it() -> None:
    clock_is_believed()
    node = make_node()
    old = ended(node, NOW - 31 * DAY)
    young = ended(node, NOW - 29 * DAY, blocked_by=old)
    slot = skipped(node, NOW - 29 * DAY, execution=old)
    remove_old(NOW, CONFIG, between=nothing)
    young.refresh_from_db()
    slot.refresh_from_db()
    assert (young.blocked_by, slot.execution) == (None, None)
    assert [attempt.execution for attempt in Attempt.objects.all()] == [young]


def test_a_chunk_takes_as_many_statements_for_50_executions_as_for_2() -> None:
    node = make_node()
    for number in range(52):
        ended(node, NOW - 31 * DAY - number * timedelta(minutes=1))
    counts = []
    for rows in (2, 50):
        with CaptureQueriesContext(connection) as queries:
            remove_chunk(rule_of(Execution), NOW, replace(CONFIG, retention_chunk=rows))
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert not Execution.objects.exists()


def many_events(count: int, when: datetime) -> None:
    sql.execute(
        "INSERT INTO onu_events (olt_id, kind, at, serial, place, before, cause)"
        " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
        " SELECT %s, 'offline', %s, '', '', '', '' FROM n",
        [count, make_olt().pk, sql.db_time(when)],
    )


def test_the_oldest_go_first_and_never_more_than_a_chunk_at_once() -> None:
    clock_is_believed()
    olt = make_olt()
    for days in range(370, 395):
        OnuEvent.objects.create(olt=olt, kind="new", at=NOW - days * DAY)
    left: list[tuple[int, int]] = []

    def look() -> None:
        oldest = OnuEvent.objects.order_by("at").first()
        left.append((OnuEvent.objects.count(), (NOW - oldest.at).days if oldest else 0))

    removed = remove_old(NOW, replace(CONFIG, retention_chunk=10), between=look)
    assert left == [(15, 384), (5, 374), (0, 0)]
    assert removed.rows == {"onu_events": 25}


def test_a_turn_has_an_end_and_every_table_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_MOST_CHUNKS", 6)
    clock_is_believed()
    many_events(100, NOW - 370 * DAY)
    node = make_node()
    for number in range(100):
        skipped(node, NOW - 31 * DAY - number * timedelta(minutes=1))
    config = replace(CONFIG, retention_chunk=10)
    rules = (rule_of(OnuEvent), rule_of(SkippedSlots))
    assert remove_old(NOW, config, rules=rules, between=nothing).rows == {
        "onu_events": 30,
        "skipped_slots": 30,
    }
    assert remove_old(NOW, config, rules=rules, between=nothing).rows["onu_events"] == 30


@contextmanager
def refusing(words: str) -> Iterator[None]:
    """A database that fails at the first statement that begins like this."""

    def execute(run: Callable[..., Any], statement: str, *rest: Any) -> Any:
        if statement.replace('"', "").startswith(words):
            raise DatabaseError("no")
        return run(statement, *rest)

    with connection.execute_wrapper(execute):
        yield


def test_one_table_that_cannot_be_shortened_keeps_no_other_from_it() -> None:
    clock_is_believed()
    for model in (Execution, OnuEvent):
        keep, make = MADE[model]
        make(NOW - keep - DAY)
    with refusing("DELETE FROM snmp_executions"):
        removed = remove_old(NOW, CONFIG, between=nothing)
    assert (removed.rows, removed.failed) == ({"onu_events": 1}, {"snmp_executions": "no"})
    noted = CoordinatorState.objects.get(name="retention")
    assert (noted.updated_at, noted.value["failed"]) == (NOW, {"snmp_executions": "no"})


def test_who_dies_in_the_middle_leaves_all_or_nothing_of_a_chunk() -> None:
    ended(make_node(), NOW - 31 * DAY)
    with refusing("DELETE FROM snmp_executions"), pytest.raises(DatabaseError):
        remove_chunk(rule_of(Execution), NOW, CONFIG)
    # Attempts go first; this one came back.
    assert (Execution.objects.count(), Attempt.objects.count()) == (1, 1)


def test_nothing_is_removed_before_the_clock_is_believed() -> None:
    many_events(3, NOW - 370 * DAY)
    for minute in range(0, 60, 5):
        assert not remove_old(NOW + timedelta(minutes=minute), CONFIG, between=nothing).rows
    assert remove_old(NOW + timedelta(hours=1), CONFIG, between=nothing).rows == {"onu_events": 3}


def test_the_housekeeping_does_it() -> None:
    clock_is_believed()
    many_events(1, NOW - 370 * DAY)
    run_housekeeping(lambda: NOW, CONFIG)
    assert not OnuEvent.objects.exists()
    assert StorageSample.objects.get().at == NOW


@pytest.mark.django_db(transaction=True)
def test_others_write_between_two_chunks() -> None:
    clock_is_believed()
    many_events(10_000, NOW - 400 * DAY)
    # Or most of the table would go, which waits for a person.
    many_events(10_001, NOW)
    left, held = [10_000], []
    began = time.perf_counter()

    def write() -> None:
        nonlocal began
        held.append(time.perf_counter() - began)
        left.append(OnuEvent.objects.filter(at__lt=NOW).count())
        if len(left) < 5:
            in_another_thread(lambda: OnuEvent.objects.create(olt=make_olt(), kind="new", at=NOW))
        began = time.perf_counter()

    remove_old(NOW, CONFIG, between=write)
    assert {before - after for before, after in pairwise(left)} == {500}
    assert OnuEvent.objects.count() == 10_004
    print(f"longest of {len(held)} chunks: {max(held) * 1000:.1f} ms")


@pytest.mark.django_db(transaction=True)
def test_two_at_once_do_not_stop_each_other() -> None:
    """Each execution refers to the one before: what one removes, the other would have to change."""
    node, before = make_node(), None
    for number in range(6):
        before = ended(
            node, NOW - 40 * DAY + number * timedelta(minutes=1), blocked_by=before, worker=number % 2
        )
    odd, even = (replace(rule_of(Execution), except_for=Q(worker=worker)) for worker in "01")
    failed: list[Exception] = []

    def other() -> None:
        try:
            remove_chunk(odd, NOW, CONFIG)
        except DatabaseError as error:
            failed.append(error)
        connection.close()

    thread = threading.Thread(target=other, daemon=True)

    def begin_the_other(run: Callable[..., Any], statement: str, *rest: Any) -> Any:
        # We have our rows by now. It takes its own, or waits for us.
        if statement.startswith("UPDATE") and thread.ident is None:
            thread.start()
            thread.join(0.3)
        return run(statement, *rest)

    with connection.execute_wrapper(begin_the_other):
        remove_chunk(even, NOW, CONFIG)
    thread.join(120)
    assert (failed, Execution.objects.count()) == ([], 0)


def in_another_thread(write: Callable[[], object]) -> None:
    """As a poller writes. It would wait for its turn, and for the database, for as long as we hold them."""

    def run() -> None:
        with sql.write_transaction():
            write()
        connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
