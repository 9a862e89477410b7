"""What the dashboard tells, to whom, and at what cost."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.db.database import database_now
from facho.apps.discovery.models import OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorState, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_time
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.zabbix_pollers.models import Worker
from facho.config import Config
from facho.core.roles import Role
from facho.engine.commands.users import set_password
from facho.engine.upkeep.health import Health, Reason
from facho.web.components import shared_part
from facho.web.dashboard.data import LiveData, OverviewData, read_live, read_overview
from facho.web.words.executions import wait_reason
from tests.api_clients import person
from tests.factories import add_job, add_olts, delete_first_runs, know_brands, node_of, queue
from tests.no_cache import NoCache
from tests.sample_rows import NOW, fill

pytestmark = pytest.mark.django_db

PAGE = "/coordinator/dashboard/"
LIVE = "/coordinator/dashboard/live/"
OVERVIEW = "/coordinator/dashboard/overview/"
TIMELINE = "/coordinator/dashboard/timeline/"
NOON = NOW.replace(hour=12)


@pytest.fixture(autouse=True)
def parts_are_rendered_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a second here to see what changed."""
    monkeypatch.setattr(shared_part, "_cache", NoCache())


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


def look(now: datetime = NOON) -> LiveData:
    return read_live(now, Config())


def look_around(now: datetime = NOON) -> OverviewData:
    return read_overview(now, Config())


def a_worker(pollers: int, seen_at: datetime = NOON) -> None:
    Worker.objects.create(name="w", pollers=pollers, started_at=seen_at, seen_at=seen_at)


def two_jobs_on(*olts: str) -> None:
    know_brands()
    add_olts(*olts)
    add_job("state", *olts)
    add_job("discovery", *olts, kind="discovery", facts=())
    delete_first_runs()


def due(job: str, olt: str, seconds_ago: float = 10, **columns: Any) -> Execution:
    at = NOON - timedelta(seconds=seconds_ago)
    return queue(job, olt, **{"slot": at, "not_before": at, "queued_at": at, **columns})


def reasons(board: LiveData) -> list[tuple[str, str, str]]:
    return [(row.olt, row.job, wait_reason(row)) for row in board.queue.first]


def test_the_root_leads_to_it(client: Client) -> None:
    assert client.get("/").headers["Location"] == PAGE


def test_whoever_is_not_logged_in_is_asked_to(client: Client) -> None:
    answer = client.get(PAGE)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/admin/login/?next={PAGE}"


def test_a_part_of_a_page_sends_whoever_was_logged_out_to_the_login_page(client: Client) -> None:
    for part in (LIVE, OVERVIEW, TIMELINE):
        assert client.get(part).headers["HX-Refresh"] == "true"


def test_everybody_with_a_role_sees_it_and_logs_in_at_one_page(client: Client) -> None:
    set_password(person(Role.VIEWER, "viewer"), "a-long-password")
    given = {"username": "viewer", "password": "a-long-password", "next": PAGE}
    assert client.post("/admin/login/", given).headers["Location"] == PAGE
    assert client.get(PAGE).status_code == 200
    assert client.get("/admin/").headers["Location"] == PAGE
    assert client.post("/admin/logout/").status_code == 302
    assert client.get(PAGE).status_code == 302


def test_who_is_inactive_does_not(client: Client) -> None:
    client.force_login(User.objects.create_user("gone", is_active=False))
    assert client.get(PAGE).status_code == 302


def test_everybody_may_change_their_own_password(viewer: Client) -> None:
    assert viewer.get("/admin/password_change/").status_code == 200


@pytest.mark.parametrize(("path", "most"), [(PAGE, 32), (LIVE, 13), (OVERVIEW, 22), (TIMELINE, 14)])
def test_it_takes_as_many_queries_for_much_as_for_little(viewer: Client, path: str, most: int) -> None:
    fill(5)
    # The first one of a process looks whether the tables are those of this version.
    viewer.get(path)
    cache.clear()
    few = queries_of(viewer, path)
    fill(45, beginning_at=5)
    cache.clear()
    assert queries_of(viewer, path) == few <= most


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    # PostgreSQL is asked what time it is; SQLite has no clock.
    return len([query for query in queries if "clock_timestamp" not in query["sql"]])


def test_names_and_errors_are_shown_as_they_are_and_not_run(viewer: Client) -> None:
    fill(5)
    hostile = "<script>alert(1)</script>"
    Olt.objects.filter(name="olt-000").update(name=hostile, suspended_reason=hostile)
    Execution.objects.update(error=hostile)
    Execution.objects.filter(olt__name=hostile).update(state=State.WAITING)
    for path in (PAGE, LIVE, OVERVIEW, TIMELINE):
        shown = viewer.get(path).content.decode()
        assert hostile not in shown
        assert "&lt;script&gt;" in shown


@pytest.mark.parametrize(("language", "said"), [("es", "Ejecuciones recientes"), ("en", "Recent executions")])
def test_it_speaks_the_language_of_the_browser(viewer: Client, language: str, said: str) -> None:
    assert said in viewer.get(PAGE, headers={"accept-language": language}).content.decode()


def test_the_chosen_language_is_kept(viewer: Client) -> None:
    viewer.post("/language/setlang/", {"language": "en", "next": PAGE})
    assert "Recent executions" in viewer.get(PAGE, headers={"accept-language": "es"}).content.decode()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """The time of the pages, which stands still."""
    now = database_now()
    monkeypatch.setattr("facho.web.dashboard.views.database_now", lambda: now)
    return now


def test_a_coordinator_without_a_step_is_told(viewer: Client, now: datetime) -> None:
    CoordinatorState.objects.create(name="scheduler", updated_at=now)
    assert "Coordinator: never active" in viewer.get(LIVE, headers={"accept-language": "en"}).content.decode()


def a_tracker(olt: Olt, task_type: str, completed: int = 0, skipped: int = 0, pending: int = 0) -> None:
    QuotaTracker.objects.create(
        olt=olt, task_type=task_type, period_start=NOON, period_end=NOON + timedelta(hours=1),
        quota_required=completed + skipped + pending, quota_completed=completed, quota_skipped=skipped,
        quota_pending=pending, created_at=NOON, updated_at=NOON,
    )  # fmt: skip


@pytest.mark.usefixtures("brands")
def test_quotas_at_risk_come_first_and_all_are_counted() -> None:
    centro, norte = add_olts("Centro", "Norte")
    for number in range(8):
        a_tracker(centro, f"fine-{number}", completed=12 - number, pending=number)
    a_tracker(norte, "late", completed=5, skipped=1, pending=6)
    a_tracker(norte, "lost", completed=6, skipped=3, pending=3)
    QuotaTracker.objects.filter(task_type="fine-0").update(status="COMPLETED", closed_at=NOON)
    quotas = look_around(NOON + timedelta(minutes=30)).quotas
    assert [(row.olt, row.task_type, row.risk) for row in quotas.first[:3]] == [
        ("Norte", "lost", "3 slots left, 4 needed"),
        ("Norte", "late", ""),
        ("Centro", "fine-0", ""),
    ]
    assert len(quotas.first) == 5
    assert [(result.key, count) for result, count in quotas.results] == [("open", 9), ("met", 1)]
    assert quotas.at_risk == 1
    assert look_around(NOON + timedelta(minutes=61)).quotas.first == []


@pytest.mark.usefixtures("brands")
def test_the_last_violations_say_what_was_missed_and_why(viewer: Client) -> None:
    (olt,) = add_olts("Centro")
    reason = {"why": "olt_busy", "what": "discovery", "count": 2, "lost_s": 1800}
    task = {"task_type": "get_state", "required": 4, "completed": 2, "percent": 50.0, "severity": "HIGH"}
    for number in range(7):
        start = NOON + timedelta(hours=number)
        QuotaViolation.objects.create(
            olt=olt, severity="HIGH", period_start=start, period_end=start + timedelta(hours=1),
            report={"tasks": [task], "reasons": [reason]}, created_at=start + timedelta(hours=1),
        )  # fmt: skip
    starts = [row.hour.start for row in look_around().violations]
    assert starts == [NOON + timedelta(hours=number) for number in (6, 5, 4, 3, 2)]
    shown = viewer.get(OVERVIEW, headers={"accept-language": "es"}).content.decode()
    assert "get_state 2 de 4" in shown
    assert "OLT ocupada con discovery, 2 turnos, 30 min" in shown


def test_whatever_it_names_is_a_link(viewer: Client) -> None:
    fill(3)
    shown = viewer.get("/coordinator/dashboard/").content.decode()
    olts = re.findall(r'<td data-label="OLT"[^>]*>(.*?)</td>', shown)
    named = [cell for cell in olts if len(cell) > 1]
    assert len(named) > 5
    assert [
        cell for cell in named if not re.match(r'<a id="[^"]+" href="/olts/\d+/" title="[^"]+">', cell)
    ] == []
    runs = re.findall(r'<tr id="(?:ended|queued|running)-(\d+)">', shown)
    assert runs
    assert [run for run in runs if f'href="/executions/{run}/"' not in shown] == []
    onus = {str(onu) for onu in OnuEvent.objects.values_list("onu_id", flat=True)}
    linked = set(re.findall(r'href="/onus/(\d+)/"', shown))
    assert linked
    assert linked <= onus


@pytest.mark.usefixtures("english")
def test_the_onus_of_a_port_that_go_offline_together_are_one_event(viewer: Client) -> None:
    know_brands()
    (olt,) = add_olts("Centro")
    now = database_now()
    rows = [
        OnuEvent(olt=olt, kind="offline", at=now, serial=f"HWTC{number:08}", place=f"0/1/3:{number}")
        for number in range(70)
    ]
    alone = OnuEvent(
        olt=olt, kind="online", at=now - timedelta(minutes=1), serial="HWTCALONE", place="0/1/3:1"
    )
    OnuEvent.objects.bulk_create([alone, *rows])
    grouped, single = (event for event in look_around(now).events if event.what in ("offline", "online"))
    assert (grouped.details, grouped.unnamed, len(grouped.onus)) == ("70 ONUs on port 0/1/3", 6, 64)
    assert (single.onu, single.details, single.onus) == ("HWTCALONE", "0/1/3:1", [])
    for path in (OVERVIEW, f"/olts/{olt.id}/", f"/olts/{olt.id}/events/"):
        shown = viewer.get(path, headers={"accept-language": "es"}).content.decode()
        assert "<summary>70 ONUs en el puerto 0/1/3</summary>" in shown
        assert "y 6 más" in shown


@pytest.mark.usefixtures("english")
def test_events_are_shown_when_they_happened_and_ordered_as_they_were_seen(viewer: Client) -> None:
    know_brands()
    (olt,) = add_olts("Centro")
    now = database_now()
    seen = now.replace(microsecond=0) - timedelta(days=2)
    went = seen - timedelta(minutes=4)
    offline = [
        OnuEvent(
            olt=olt, kind="offline", at=seen, happened_at=happened, serial=f"HWTC{number}",
            place=f"0/1/3:{number}",
        )
        for number, happened in enumerate((None, went + timedelta(seconds=2), went))
    ]  # fmt: skip
    # It was seen before the others, and happened after them, as nobody knows better.
    earlier = seen - timedelta(minutes=2)
    before = OnuEvent(olt=olt, kind="online", at=earlier, serial="HWTC9", place="0/1/3:9")
    OnuEvent.objects.bulk_create([before, *offline])
    grouped, single = (event for event in look_around(now).events if event.what in ("offline", "online"))
    assert (grouped.details, grouped.at, grouped.happened_at) == ("3 ONUs on port 0/1/3", seen, went)
    assert (single.at, single.happened_at) == (earlier, None)
    happened, noticed = date_and_time(went), f"seen {date_and_time(seen)}"
    both = f'{happened}</span> <small class="fd-number">{noticed}</small>'
    told = {
        OVERVIEW: f'title="{noticed}">{happened}</td>',
        f"/olts/{olt.id}/": both,
        f"/olts/{olt.id}/events/": both,
    }
    for path, expected in told.items():
        assert expected in viewer.get(path, headers={"accept-language": "en"}).content.decode(), path


def test_ten_seconds_without_a_step_are_not_too_long_yet() -> None:
    CoordinatorState.objects.create(name="scheduler", updated_at=NOON)
    assert not look(NOON + timedelta(seconds=10)).step.stalled
    assert look(NOON + timedelta(seconds=10.1)).step.stalled


def test_pollers_of_workers_not_heard_of_do_not_count() -> None:
    a_worker(4, NOON)
    assert look(NOON + timedelta(seconds=15)).pool.pollers == 4
    assert look(NOON + timedelta(seconds=16)).pool.pollers == 0


@pytest.mark.usefixtures("brands")
def test_how_busy_the_pollers_were_is_told_of_the_last_minute() -> None:
    two_jobs_on("Centro")
    a_worker(1)
    ended = NOON - timedelta(seconds=2)
    queue(
        "state", "Centro", State.SUCCESS, slot=NOON, started_at=NOON - timedelta(seconds=50), ended_at=ended
    )
    pool = look().pool
    assert (pool.busy_percentage, pool.saturated) == (80.0, True)
    Worker.objects.update(seen_at=NOON + timedelta(seconds=59))
    later = look(NOON + timedelta(seconds=59)).pool
    assert (later.busy_percentage, later.saturated) == (0.0, False)


@pytest.mark.usefixtures("brands")
def test_the_queue_says_what_each_one_waits_for() -> None:
    two_jobs_on("Centro", "Norte", "Sur")
    a_worker(2)
    queue("discovery", "Centro", State.RUNNING, slot=NOON, started_at=NOON)
    due("state", "Centro")
    due("state", "Norte")
    due("discovery", "Norte")
    due("state", "Sur")
    assert reasons(look()) == [
        ("Norte", "discovery", "starting"),
        ("Sur", "state", "all pollers busy"),
        ("Centro", "state", "OLT busy with discovery"),
        ("Norte", "state", "behind discovery on the same OLT"),
    ]


@pytest.mark.usefixtures("brands")
def test_run_now_is_first_and_a_retry_before_its_time_last() -> None:
    two_jobs_on("Centro", "Norte", "Sur")
    due("discovery", "Centro", 500)
    due("state", "Norte", 1, run_now=True)
    due("state", "Sur", 60, not_before=NOON + timedelta(seconds=90))
    board = look()
    assert (board.queue.size, board.queue.retries) == (2, 1)
    assert reasons(board) == [
        ("Norte", "state", "no active poller"),
        ("Centro", "discovery", "no active poller"),
        ("Sur", "state", "retry at 12:01:30"),
    ]


@pytest.mark.usefixtures("brands")
def test_what_is_collected_by_hand_holds_its_olt_without_a_job() -> None:
    two_jobs_on("Centro")
    a_worker(2)
    due("state", "Centro")
    Execution.objects.create(
        olt=Olt.objects.get(), state=State.RUNNING, trigger="run-now", slot=NOON, not_before=NOON,
        queued_at=NOON, started_at=NOON,
    )  # fmt: skip
    board = look()
    assert reasons(board) == [("Centro", "state", "OLT busy with a manual execution")]
    assert [row.job for row in board.running] == [""]


@pytest.mark.usefixtures("brands")
def test_an_aborted_one_holds_its_olt_while_its_lease_lasts_but_does_not_run() -> None:
    two_jobs_on("Centro")
    a_worker(2)
    due("state", "Centro")
    until = NOON + timedelta(seconds=5)
    queue("discovery", "Centro", State.ABORTED, lease_token="t", lease_expires_at=until)
    assert reasons(look()) == [("Centro", "state", "OLT busy with discovery")]
    assert look().running == ()
    assert reasons(look(until)) == [("Centro", "state", "starting")]


@pytest.mark.usefixtures("brands")
def test_the_last_executions_are_those_that_ended_last() -> None:
    two_jobs_on("Centro")
    for number in (3, 1, 2):
        ended = NOON - timedelta(minutes=number)
        due("state", "Centro", 60 * number, state=State.SUCCESS, started_at=ended, ended_at=ended)
    assert [row.ended_at for row in look_around().ended] == [
        NOON - timedelta(minutes=each) for each in (1, 2, 3)
    ]


@pytest.mark.usefixtures("brands")
def test_olts_that_are_left_alone_are_counted() -> None:
    centro, _ = add_olts("Centro", "Norte")
    lasts = {"starts_at": NOON, "ends_at": NOON + timedelta(hours=1), "created_at": NOON}
    MaintenanceWindow.objects.create(name="fans", olt=centro, **lasts)
    assert look().counters.under_maintenance == 1


@pytest.mark.usefixtures("brands")
def test_olts_and_nodes_in_trouble_are_listed_with_the_reason() -> None:
    two_jobs_on("Centro", "Norte", "Sur")
    Olt.objects.filter(name="Centro").update(reachable=False, suspended_reason="no answer", suspended_at=NOON)
    Olt.objects.filter(name="Norte").update(reachable=False, enabled=False)
    node = node_of("state", "Sur")
    node.suspended_reason = "wrong type"
    node.save()
    assert [(row.olt, row.job, str(row.reason)) for row in look_around().problems] == [
        ("Centro", "", "no answer"),
        ("Sur", "state", "wrong type"),
    ]


def test_what_ails_the_system_is_told_where_people_look(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ill = Health((Reason("disk", "nearly full"), Reason("workers", "told by the live part")))
    monkeypatch.setattr("facho.web.dashboard.data.recent_health", lambda: ill)
    shown = viewer.get(OVERVIEW, headers={"accept-language": "es"}).content.decode()
    assert shown.count('class="fd-alarm"') == 1
    assert "casi lleno" in shown
