"""What a job would do to its OLTs, said before it is saved; and grids that are moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import ExecutionPlan, QuotaTracker, TaskForecast
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import Config
from facho.core.forecast import Learned, learn
from facho.core.plan import Task
from facho.core.roles import Role
from facho.engine.commands.jobs import JobChanges, NewJob
from facho.engine.commands.nodes import NodeChanges, shift_grid
from facho.engine.commands.schedule_draft import LiveSchedule, Schedule, ScheduleDraft
from facho.engine.commands.what_if import change_of, what_if
from facho.engine.coordinate.workloads import load_workloads
from facho.web import what_if_limits
from facho.web.server.refusals import Refused
from tests.api_clients import asking, person, showing, token_of
from tests.factories import add_job, add_olts, at, next_run, node_of, refused

pytestmark = pytest.mark.django_db
CONFIG = Config()
NOW = at("10:00")


def takes(olt: str, task_type: str, seconds: float) -> None:
    """So long, as it was measured ten times."""
    learned = Learned()
    for hours in range(10):
        learned = learn(learned, NOW - timedelta(hours=hours), seconds, 100, CONFIG.time_zone)
    TaskForecast.objects.create(
        olt_id=node_of("state", olt).olt_id, task_type=task_type, state=learned.as_json(),
        samples=learned.samples, fixed_s=learned.fixed_s, per_onu_s=learned.per_onu_s, updated_at=NOW,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _north_and_south(brands: None) -> None:
    add_olts("north", "south")
    add_job("state", "north", "south", interval="5m")
    for olt in ("north", "south"):
        takes(olt, "get_state", 60.0)
    takes("north", "get_onu_rx_dbm", 280.0)
    takes("south", "get_onu_rx_dbm", 30.0)


def test_a_job_that_is_not_saved_yet_shows_where_it_would_not_fit() -> None:
    new = NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["north", "south"])
    before = QuotaTracker.objects.count(), ExecutionPlan.objects.count()
    north, south = what_if(change_of(new, (), None), NOW, CONFIG)
    assert (north.olt, round(north.before.p50_min), round(north.after.p50_min)) == ("north", 12, 68)
    assert north.becomes_impossible
    assert north.problem is not None
    assert north.problem.change is not None
    assert (north.problem.change.job, north.as_json()["would_fit"]["interval"]) == ("optics", "8m")
    assert (south.olt, round(south.after.p50_min), south.becomes_impossible) == ("south", 18, False)
    assert south.sure
    # Nothing of it has happened.
    assert not SnmpJob.objects.filter(name="optics").exists()
    assert (QuotaTracker.objects.count(), ExecutionPlan.objects.count()) == before


def test_a_job_on_one_more_olt_and_a_shorter_interval() -> None:
    add_job("optics", "south", interval="5m", facts=["onu_rx_dbm"])
    (north,) = what_if(change_of("optics", ["north"], None), NOW, CONFIG)
    assert north.becomes_impossible
    both = what_if(change_of("state", (), "30s"), NOW, CONFIG)
    assert [(each.olt, each.becomes_impossible) for each in both] == [("south", True), ("north", True)]
    assert both[0].as_json()["at_risk"][0]["task_type"] == "get_state"
    assert SnmpJob.objects.get(name="state").interval_s == 300


def test_what_the_change_would_be_refused_for_is_refused_here_too() -> None:
    with refused("interval", "is not an interval"):
        what_if(change_of("state", (), "soon"), NOW, CONFIG)


def test_a_grid_is_moved_and_the_hour_is_counted_and_planned_anew() -> None:
    assert next_run("state", "north") == "10:01:00"
    shift_grid(node_of("state", "north").id, "150s", NOW)
    assert next_run("state", "north") == "10:03:30"
    north = QuotaTracker.objects.get(olt__name="north")
    assert north.quota_required == 12
    plan = ExecutionPlan.objects.get(olt__name="north", status="ACTIVE")
    assert plan.plan_data["entries"][0][1] == 210.0


def test_a_grid_is_not_moved_by_a_whole_interval_nor_that_of_a_chained_node() -> None:
    add_job("names", "north", facts=["description"], master="state")
    with refused("by", "shorter than its interval"):
        shift_grid(node_of("state", "north").id, "5m", NOW)
    with refused("node", "runs after"):
        shift_grid(node_of("names", "north").id, "1m", NOW)


@pytest.mark.parametrize("read", range(1, 8))
def test_what_is_created_or_deleted_between_two_reads_does_no_harm(read: int) -> None:
    """There is no transaction around them: it would keep others waiting."""
    add_job("leaving", "north", "south", facts=["distance_m"])
    reads = 0

    def change_before_this_read(execute: Callable[..., Any], *query: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads == read:
            add_olts("east")
            add_job("coming", "north", "south", "east", facts=["description"])
            SnmpJobHost.objects.filter(job__name="leaving").delete()
            SnmpJob.objects.filter(name="leaving").delete()
        return execute(*query)

    new = NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["north", "south"])
    change = change_of(new, (), None)
    with connection.execute_wrapper(change_before_this_read):
        found = what_if(change, NOW, CONFIG)
    assert reads >= read
    assert [each.olt for each in found] == ["north", "south"]


def test_a_node_that_is_gone_is_refused() -> None:
    draft = ScheduleDraft([node_of("state", "north").olt_id], NOW, CONFIG)
    gone = node_of("state", "south").pk
    with refused("node", f"there is no node {gone}"):
        draft.update_node(gone, NodeChanges(priority=9))


def told(tasks: Iterable[Task]) -> list[tuple[object, ...]]:
    """All of a task but its id: what is not saved has another one."""
    return sorted(
        (task.job, task.task_types, task.next_slot, task.interval, task.priority, _takes(task))
        for task in tasks
    )


def _takes(task: Task) -> tuple[object, ...]:
    return task.p50, task.p95, task.sure, task.suspended


def usual_of(schedule: Schedule) -> None:
    schedule.attach_usual_jobs("south", {"discovery": "2h", "optics": "10m"})


def own_node(schedule: Schedule) -> None:
    job = schedule.create_job(
        NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["south", "north"])
    )
    nodes = schedule.nodes_of(job)
    schedule.update_node(nodes[node_of("state", "south").olt_id], NodeChanges(interval="7m", priority=9))
    schedule.update_node(nodes[node_of("state", "north").olt_id], NodeChanges(enabled=False))


CHANGES: dict[str, Callable[[Schedule], object]] = {
    "new job": lambda schedule: schedule.create_job(
        NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["south", "north"])
    ),
    "new job with OIDs": lambda schedule: schedule.create_job(
        NewJob("walk", "huawei", "walk", "10m", oids=["1.3.6.1.2.1.2.2.1.8"], olts=["north"])
    ),
    "new job in a chain": lambda schedule: schedule.create_job(
        NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], master="state", olts=["south", "north"])
    ),
    "disabled job": lambda schedule: schedule.create_job(
        NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["south"], enabled=False)
    ),
    "attach": lambda schedule: schedule.attach("names", ["south", "north"]),
    "detach": lambda schedule: schedule.detach("state", ["south"]),
    "interval": lambda schedule: schedule.update_job("state", JobChanges(interval="90s")),
    "chained": lambda schedule: schedule.update_job("alone", JobChanges(master="state")),
    "on its own": lambda schedule: schedule.update_job("names", JobChanges(master="")),
    "other facts and type": lambda schedule: schedule.update_job(
        "state", JobChanges(name="other", task_type="get_other", priority=77, facts=["serial"])
    ),
    "master off": lambda schedule: schedule.update_job("state", JobChanges(enabled=False)),
    "suspended on again": lambda schedule: schedule.update_job("alone", JobChanges(enabled=True)),
    "nodes of their own": own_node,
    "usual jobs": usual_of,
}


@pytest.fixture
def _more_jobs() -> None:
    add_job("names", "north", facts=["description"], master="state")
    add_job("alone", "north", "south", interval="15m", facts=["distance_m"])
    SnmpJobHost.objects.filter(job__name="alone", olt__name="north").update(suspended_reason="it failed")


@pytest.mark.both_databases
@pytest.mark.usefixtures("_more_jobs")
@pytest.mark.parametrize("name", CHANGES)
def test_what_would_be_is_what_the_change_then_does(name: str) -> None:
    olt_ids = sorted(Olt.objects.values_list("id", flat=True))
    now = NOW + timedelta(minutes=7)
    draft = ScheduleDraft(olt_ids, now, CONFIG)
    before = {olt: told(tasks) for olt, tasks in draft.tasks().items()}
    assert before == {
        olt: told(work.tasks) for olt, work in load_workloads(olt_ids, now, now, CONFIG).items()
    }
    with CaptureQueriesContext(connection) as spent:
        CHANGES[name](draft)
        drafted = {olt: told(tasks) for olt, tasks in draft.tasks().items()}
    assert {query["sql"].split()[0] for query in spent.captured_queries} <= {"SELECT"}
    CHANGES[name](LiveSchedule(now))
    assert drafted == {
        olt: told(work.tasks) for olt, work in load_workloads(olt_ids, now, now, CONFIG).items()
    }
    assert drafted != before or name == "disabled job"


@pytest.mark.django_db(transaction=True)
def test_what_if_is_answered_while_another_connection_writes(admin_client: Client) -> None:
    """On SQLite a transaction that writes is alone: if this were one, it would wait, or the engine for it."""
    if connection.vendor != "sqlite":
        pytest.skip("writers of PostgreSQL do not exclude each other")
    new = NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["north", "south"])
    north, south = Olt.objects.order_by("name")
    rows = {f"nodes-{number}-olt": olt.pk for number, olt in enumerate((north, south))}
    counts = {"nodes-TOTAL_FORMS": 2, "nodes-INITIAL_FORMS": 0}
    none = {"job_oids-TOTAL_FORMS": 0, "job_oids-INITIAL_FORMS": 0}
    form = {"name": "optics", "brand": north.brand_id, "kind": "get", "interval": "5m", "facts": "onu_rx_dbm"}
    given = {"new_job": {**form, "facts": ["onu_rx_dbm"], "olts": [north.pk, south.pk]}}
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        assert len(what_if(change_of(new, (), None), NOW, CONFIG)) == 2
        page = admin_client.post(
            "/admin/snmp_jobs/snmpjob/add/",
            {**form, "enabled": "on", **none, **counts, **rows, "_what_if": "1"},
        )
        assert [each["olt"] for each in page.context["what_if"]["olts"]] == ["north", "south"]
        told_by_api = admin_client.post("/api/v1/what-if/", given, content_type="application/json")
        assert [each["olt_name"] for each in told_by_api.json()["olts"]] == ["north", "south"]
    finally:
        other.close()
        connection.close()


def test_a_viewer_who_asks_while_others_do_is_told_when_to_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if_limits, "_turns", what_if_limits.Turns(0))
    job = SnmpJob.objects.get(name="state")
    answer = asking(Role.VIEWER).post("/api/v1/what-if/", {"job": job.id, "interval": "30s"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"].startswith("hay otras simulaciones")


def test_too_many_olts_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if_limits, "current", lambda: replace(CONFIG, what_if_olts=1))
    with refused("olts", "at most 1 OLTs, and this change affects 2"):
        what_if_limits.ask_what_if(User(id=1), Role.VIEWER, change_of("state", (), "30s"))


def test_a_person_asks_once_at_a_time_and_all_together_a_few_times() -> None:
    turns = what_if_limits.Turns(2)

    def take(who: str) -> AbstractContextManager[None]:
        return turns.take(who, may_change=True)

    with take("ana"):
        with pytest.raises(Refused) as again, take("ana"):
            pass
        with take("eva"), pytest.raises(Refused) as busy, take("leo"):
            pass
        with take("leo"):
            pass
    assert (again.value.status, busy.value.status) == (429, 503)
    assert again.value.wait_s > 0
    with take("ana"):
        pass


def test_people_who_only_look_leave_a_turn_to_those_who_may_change_jobs() -> None:
    turns = what_if_limits.Turns(2)
    with turns.take("viewer", may_change=False):
        with pytest.raises(Refused), turns.take("other viewer", may_change=False):
            pass
        with turns.take("administrator", may_change=True):
            pass


def test_an_administrator_is_answered_while_viewers_ask_without_end(
    admin_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = what_if_limits.Turns(2)
    monkeypatch.setattr(what_if_limits, "_turns", turns)
    change = change_of("state", (), "30s")
    viewer = person(Role.VIEWER)
    with turns.take("another viewer", may_change=False):
        with pytest.raises(Refused):
            what_if_limits.ask_what_if(viewer, Role.VIEWER, change)
        assert len(what_if_limits.ask_what_if(admin_user, Role.ADMINISTRATOR, change)) == 2


def test_questions_are_counted_by_account_and_two_are_answered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert what_if_limits._turns._most == 2
    turns = what_if_limits.Turns(9)
    monkeypatch.setattr(what_if_limits, "_turns", turns)
    viewer, another, change = person(Role.VIEWER), person(Role.VIEWER), change_of("state", (), "30s")
    with turns.take(viewer.pk, may_change=False):
        with pytest.raises(Refused) as again:
            what_if_limits.ask_what_if(viewer, Role.VIEWER, change)
        assert len(what_if_limits.ask_what_if(another, Role.VIEWER, change)) == 2
    assert again.value.status == 429


def test_a_token_that_may_only_look_takes_no_turn_of_those_who_may_change_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = what_if_limits.Turns(2)
    monkeypatch.setattr(what_if_limits, "_turns", turns)
    owner = person(Role.ADMINISTRATOR)
    given = {"job": SnmpJob.objects.get(name="state").id, "interval": "30s"}
    answers = {}
    with turns.take("a viewer", may_change=False):
        for role in (Role.VIEWER, Role.ADMINISTRATOR):
            answers[role] = showing(token_of(owner, role)).post("/api/v1/what-if/", given).status_code
    assert answers == {Role.VIEWER: 503, Role.ADMINISTRATOR: 200}
