"""A removal of most of a table waits for a person, who confirms what was shown and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.access.actors import Actor, acting
from facho.apps.access.models import AuditEntry, LoginAddress, LoginAttempt
from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.discovery.models import OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog, CoordinatorState, ExecutionPlan
from facho.apps.executions.models import SkippedSlots
from facho.apps.zabbix_pollers.models import PollerStats
from facho.cli.doctor.findings import Level
from facho.cli.doctor.storage import check_retention
from facho.config import Config
from facho.core.retention import SETTLES_IN, LargeRemoval
from facho.core.roles import Role
from facho.engine.commands.acknowledgements import confirm_removal
from facho.engine.commands.errors import CommandError
from facho.engine.upkeep import retention_holds, retention_rules
from facho.engine.upkeep.health import check_health
from facho.engine.upkeep.retention import RETENTION, clean_logs, remove_old
from facho.engine.upkeep.retention_holds import describe_hold, read_hold
from facho.web.words.events import HEALTH_PROBLEMS
from tests.api_clients import asking, person
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
CONFIG = Config()
DAY = timedelta(days=1)
YEARS = 3650 * DAY


def nothing() -> None:
    pass


def clock_is_believed(now: datetime) -> None:
    """It went on for a day, from whatever it was set to."""
    CoordinatorState.objects.update_or_create(
        name=RETENTION,
        defaults={"value": {"since": (now - DAY).isoformat(), "failed": {}}, "updated_at": now},
    )


def events(count: int, first: datetime, every: timedelta) -> None:
    sql.execute(
        "INSERT INTO onu_events (olt_id, kind, at, serial, place, before, cause)"
        " VALUES " + ", ".join(["(%s, 'offline', %s, '', '', '', '')"] * count),
        [value for number in range(count) for value in (make_olt().pk, sql.db_time(first + number * every))],
    )


def a_year_of_events() -> None:
    """One a day, as normal operation leaves them."""
    events(365, NOW - 364 * DAY, DAY)


def turn(now: datetime, config: Config = CONFIG) -> dict[str, int]:
    clock_is_believed(now)
    return dict(remove_old(now, config, between=nothing).rows)


def test_a_clock_ten_years_ahead_removes_nothing_however_long_it_goes_on() -> None:
    a_year_of_events()
    Session.objects.create(session_key="x", session_data="", expire_date=NOW - DAY)
    assert turn(NOW + YEARS) == {"django_session": 1}
    assert turn(NOW + YEARS + DAY) == {}
    assert OnuEvent.objects.count() == 365
    shown = read_hold()
    assert shown is not None
    (removal,) = shown.hold.removals
    assert (removal.table, removal.going, removal.there) == ("onu_events", 365, 365)
    assert removal.before == NOW + YEARS - CONFIG.keep_events


def test_a_wrong_clock_under_which_new_rows_are_written_removes_nothing_either() -> None:
    events(200, NOW - 20 * DAY, timedelta(hours=2))
    assert turn(NOW + YEARS) == {}
    before = read_hold()
    events(201, NOW + YEARS, timedelta(minutes=1))
    assert turn(NOW + YEARS + DAY) == {}
    assert OnuEvent.objects.filter(at__lt=NOW).count() == 200
    assert (before is not None, read_hold()) == (True, before)


def test_a_few_rows_wait_for_a_person_too_when_the_clock_is_years_ahead() -> None:
    AuditEntry.objects.create(who="ana", how="cli", action="add", model="hosts.olt", at=NOW)
    assert turn(NOW + YEARS) == {}
    assert turn(NOW + YEARS + DAY) == {}
    assert AuditEntry.objects.count() == 1


def test_a_confirmation_is_not_for_a_setting_that_came_after_it() -> None:
    a_year_of_events()
    turn(NOW, replace(CONFIG, keep_events=7 * DAY))
    shown = read_hold()
    assert shown is not None
    confirm_removal(shown.id, "ana", NOW)
    assert turn(NOW + timedelta(minutes=1), replace(CONFIG, keep_events=DAY)) == {"onu_events": 357}
    assert OnuEvent.objects.count() == 8


def test_small_tables_and_the_log_wait_with_the_others(logged: Callable[[], list[CoordinatorLog]]) -> None:
    a_year_of_events()
    AuditEntry.objects.create(who="ana", how="cli", action="add", model="hosts.olt", at=NOW)
    CoordinatorLog.objects.create(event_type="OLT_BACK", level="INFO", message="", timestamp=NOW)
    turn(NOW + YEARS)
    assert clean_logs(NOW + YEARS, CONFIG, between=nothing) == 0
    assert AuditEntry.objects.filter(at=NOW).exists()
    assert len(logged()) == 2


def log_of_a_week(every: timedelta = timedelta(hours=1)) -> int:
    """The number of its rows."""
    times = [NOW - number * every for number in range(7 * DAY // every)]
    CoordinatorLog.objects.bulk_create(
        CoordinatorLog(event_type="OLT_BACK", level="INFO", message="", timestamp=each) for each in times
    )
    return len(times)


def plans_of_a_week() -> None:
    hours = [NOW - number * timedelta(hours=1) for number in range(7 * 24)]
    times = ("period_start", "period_end", "created_at", "updated_at")
    olt = make_olt()
    ExecutionPlan.objects.bulk_create(ExecutionPlan(olt=olt, **dict.fromkeys(times, hour)) for hour in hours)


def test_a_clock_ten_days_ahead_leaves_the_log_and_the_plans_and_lets_the_others_go_on() -> None:
    a_year_of_events()
    rows = log_of_a_week()
    plans_of_a_week()
    ahead = NOW + 10 * DAY
    assert turn(ahead) == {"onu_events": 9}
    assert turn(ahead + DAY) == {"onu_events": 1}
    assert clean_logs(ahead + DAY, CONFIG, between=nothing) == 0
    assert CoordinatorLog.objects.filter(timestamp__lte=NOW).count() == rows
    shown = read_hold()
    assert shown is not None
    assert shown.hold.tables == {"coordinator_logs", "execution_plans"}
    told = describe_hold(shown.hold, ahead)
    assert "nothing of coordinator_logs and execution_plans is removed until an administrator" in told


def test_a_log_of_few_rows_waits_too() -> None:
    rows = log_of_a_week(every=timedelta(hours=12))
    assert turn(NOW + 10 * DAY) == {}
    assert CoordinatorLog.objects.filter(timestamp__lte=NOW).count() == rows == 14


def test_the_log_goes_on_by_itself_when_the_clock_is_set_right() -> None:
    rows = log_of_a_week()
    turn(NOW + 10 * DAY)
    assert turn(NOW + DAY) == {"coordinator_logs": 23}
    assert read_hold() is None
    assert CoordinatorLog.objects.filter(timestamp__lte=NOW).count() == rows - 23


def test_a_confirmation_lets_the_log_go() -> None:
    rows = log_of_a_week()
    turn(NOW + 10 * DAY)
    shown = read_hold()
    assert shown is not None
    confirm_removal(shown.id, "ana", NOW + 10 * DAY)
    assert turn(NOW + 10 * DAY) == {"coordinator_logs": rows}


def test_a_weekend_switched_off_does_not_keep_the_log_waiting() -> None:
    log_of_a_week()
    plans_of_a_week()
    removed = turn(NOW + 2.5 * DAY + SETTLES_IN)
    assert (set(removed), read_hold()) == ({"coordinator_logs", "execution_plans"}, None)


def test_the_daily_cleaning_of_the_log_does_not_believe_a_clock_that_was_just_set() -> None:
    rows = log_of_a_week()
    clock_is_believed(NOW)
    assert clean_logs(NOW + 10 * DAY, CONFIG, between=nothing) == 0
    assert CoordinatorLog.objects.count() == rows


def test_when_the_clock_is_set_right_it_goes_on_by_itself(
    logged: Callable[[], list[CoordinatorLog]],
) -> None:
    a_year_of_events()
    turn(NOW + YEARS)
    turn(NOW + YEARS + timedelta(minutes=1))
    events(3, NOW - 400 * DAY, DAY)
    assert turn(NOW) == {"onu_events": 3}
    assert read_hold() is None
    assert [row.event_type for row in logged()] == ["REMOVAL_WAITS", "REMOVAL_RESUMED"]


def test_normal_operation_never_waits() -> None:
    a_year_of_events()
    for day in range(2, 5):
        assert turn(NOW + day * DAY) == {"onu_events": 1}
    # A weekend without electricity.
    assert turn(NOW + 11 * DAY) == {"onu_events": 7}
    assert read_hold() is None


def a_scan_of_passwords(first: datetime) -> None:
    """It is most of the log-ins that failed in a month."""
    scan = [first + timedelta(seconds=number) for number in range(150)]
    others = [first + day * DAY for day in range(1, 11)]
    LoginAttempt.objects.bulk_create(
        LoginAttempt(account="x", address="10.0.0.9", at=each) for each in scan + others
    )


@pytest.mark.parametrize("stop", [timedelta(minutes=65), 2.5 * DAY])
def test_a_burst_that_fell_due_during_an_ordinary_stop_is_removed(stop: timedelta) -> None:
    a_scan_of_passwords(NOW - CONFIG.keep_login_attempts)
    assert turn(NOW + stop + SETTLES_IN) == {"login_attempts": 150 + stop // DAY}
    assert read_hold() is None


def test_a_burst_waits_for_a_person_when_the_clock_is_years_ahead() -> None:
    a_scan_of_passwords(NOW - CONFIG.keep_login_attempts)
    assert turn(NOW + YEARS) == {}
    assert read_hold() is not None


def test_to_keep_a_week_instead_of_a_year_waits_for_a_person() -> None:
    a_year_of_events()
    week = replace(CONFIG, keep_events=7 * DAY)
    assert turn(NOW, week) == {}
    shown = read_hold()
    assert shown is not None
    confirm_removal(shown.id, "ana", NOW)
    assert turn(NOW + timedelta(minutes=1), week) == {"onu_events": 357}
    assert OnuEvent.objects.count() == 8
    # What it was confirmed for is done.
    turn(NOW + timedelta(minutes=2), week)
    assert read_hold() is None


def test_a_confirmation_lets_go_what_was_shown_and_nothing_that_is_younger() -> None:
    a_year_of_events()
    week = replace(CONFIG, keep_events=7 * DAY)
    turn(NOW, week)
    shown = read_hold()
    assert shown is not None
    confirm_removal(shown.id, "ana", NOW)
    # Then the clock jumps by almost as much as is kept.
    assert turn(NOW + 6 * DAY, week) == {"onu_events": 357}
    assert OnuEvent.objects.filter(at__gte=NOW - 7 * DAY).count() == 8


def test_who_confirms_something_that_waits_no_more_is_refused() -> None:
    with pytest.raises(CommandError, match="ninguna eliminación espera"):
        confirm_removal(1, "ana", NOW)
    a_year_of_events()
    turn(NOW + YEARS)
    first = read_hold()
    assert first is not None
    turn(NOW)
    turn(NOW, replace(CONFIG, keep_events=7 * DAY))
    with pytest.raises(CommandError, match="la eliminación en espera cambió"):
        confirm_removal(first.id, "ana", NOW)
    second = read_hold()
    assert second is not None
    assert (second.id != first.id, second.hold.confirmed_at) == (True, None)


def test_a_confirmation_is_recorded_once(db: None) -> None:
    a_year_of_events()
    turn(NOW + YEARS)
    shown = read_hold()
    assert shown is not None
    with acting(lambda: Actor("ana", "cli")):
        for _ in range(2):
            assert confirm_removal(shown.id, "ana", NOW + YEARS).confirmed_by == "ana"
    (entry,) = AuditEntry.objects.all()
    assert (entry.who, entry.action, entry.name) == ("ana", "change", "retention_hold")
    assert [told.split()[0] for told in entry.changes["tables"]["new"]] == ["onu_events"]


def test_the_doctor_and_the_health_tell_of_it() -> None:
    a_year_of_events()
    turn(NOW + YEARS)
    shown = read_hold()
    assert shown is not None
    found = check_retention(NOW + YEARS, CONFIG)
    assert found.level is Level.ERROR
    assert "365 of 365 rows of onu_events" in found.told
    assert f"facho retention confirm {shown.id}" in found.do
    assert "retention" in [reason.what for reason in check_health(database_now, CONFIG).reasons]
    # And so does the dashboard.
    assert "facho retention show" in str(HEALTH_PROBLEMS["retention"])
    confirm_removal(shown.id, "ana", NOW + YEARS)
    assert check_retention(NOW + YEARS, CONFIG).level is not Level.ERROR


def test_programs_see_it_and_those_of_administrators_confirm_it() -> None:
    assert asking(Role.VIEWER).get("/api/v1/retention/").json() == []
    a_year_of_events()
    turn(NOW + YEARS)
    (found,) = asking(Role.VIEWER).get("/api/v1/retention/").json()
    assert (found["tables"][0]["table"], found["confirmed_at"]) == ("onu_events", None)
    path = f"/api/v1/retention/{found['id']}/confirm/"
    assert asking(Role.OPERATOR).post(path).status_code == 403
    assert asking(Role.ADMINISTRATOR).post(f"/api/v1/retention/{found['id'] + 1}/confirm/").status_code == 400
    assert asking(Role.ADMINISTRATOR).post(path).status_code == 204
    shown = read_hold()
    assert shown is not None
    assert shown.hold.confirmed_by.startswith("administrator")


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMINISTRATOR])
def test_administrators_confirm_it_in_the_admin(role: Role, client: Client) -> None:
    a_year_of_events()
    turn(NOW + YEARS)
    shown = read_hold()
    assert shown is not None
    client.force_login(person(role, "ana"))
    chosen = {"action": "confirm", "_selected_action": [shown.id]}
    client.post("/admin/execution_coordinator/coordinatorstate/", chosen)
    after = read_hold()
    assert after is not None
    assert after.hold.confirmed_by == ("ana" if role is Role.ADMINISTRATOR else "")


def test_a_long_table_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_holds, "_COUNT_LIMIT", 20)
    a_year_of_events()
    config = replace(CONFIG, keep_events=31 * DAY)
    with CaptureQueriesContext(connection) as queries:
        assert turn(NOW, config) == {}
    for query in queries:
        if "COUNT" in query["sql"].upper() and "onu_events" in query["sql"]:
            assert "LIMIT 20" in query["sql"]
    shown = read_hold()
    assert shown is not None
    (removal,) = shown.hold.removals
    assert (removal.going, removal.there) == (333, 365)


def test_a_table_that_is_only_late_by_less_than_half_is_shortened() -> None:
    a_year_of_events()
    assert turn(NOW, replace(CONFIG, keep_events=200 * DAY)) == {"onu_events": 164}


def addresses(count: int) -> None:
    owner = person(Role.OPERATOR, "ana")
    LoginAddress.objects.bulk_create(
        LoginAddress(user=owner, address=f"10.0.0.{number}", at=NOW) for number in range(count)
    )


def test_what_is_written_again_by_itself_neither_waits_nor_makes_others_wait() -> None:
    """Such as the addresses of people who logged in, after weeks switched off."""
    addresses(120)
    assert turn(NOW + YEARS) == {"login_addresses": 120}
    assert read_hold() is None
    free = {rule.model for rule in retention_rules.RULES if not rule.can_be_held}
    assert {LoginAddress, PollerStats, SkippedSlots} <= free
    assert not any(rule.holds_others for rule in retention_rules.RULES if not rule.can_be_held)


def fail_to_look_at(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = retention_holds.find_large_removal

    def find_or_fail(rule: retention_rules.Rule, now: datetime, config: Config) -> LargeRemoval | None:
        if rule.table == table:
            raise RuntimeError("no")
        return find(rule, now, config)

    monkeypatch.setattr(retention_holds, "find_large_removal", find_or_fail)


def test_a_table_that_cannot_be_looked_at_stays_and_keeps_no_other_from_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events(3, NOW - 370 * DAY, DAY)
    AuditEntry.objects.create(who="ana", how="cli", action="add", model="hosts.olt", at=NOW - 370 * DAY)
    fail_to_look_at("audit_log", monkeypatch)
    clock_is_believed(NOW)
    removed = remove_old(NOW, CONFIG, between=nothing)
    assert (removed.rows, removed.failed) == ({"onu_events": 3}, {"audit_log": "no"})
    assert AuditEntry.objects.count() == 1


def test_a_removal_that_waits_goes_on_waiting_when_its_table_cannot_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_year_of_events()
    AuditEntry.objects.create(who="ana", how="cli", action="add", model="hosts.olt", at=NOW)
    turn(NOW + YEARS)
    before = read_hold()
    fail_to_look_at("onu_events", monkeypatch)
    assert turn(NOW + YEARS + timedelta(minutes=1)) == {}
    assert (read_hold(), AuditEntry.objects.count()) == (before, 1)


def test_it_is_said_who_ends_it_and_that_it_may_end_by_itself() -> None:
    a_year_of_events()
    turn(NOW + YEARS)
    shown = read_hold()
    assert shown is not None
    told = describe_hold(shown.hold, NOW + YEARS)
    assert "until an administrator confirms it, or the clock or the setting is corrected" in told
