"""The timeline: what was, what is and what will be, of the OLTs that somebody wants to see."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.translation import override

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import ExecutionPlan
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.delay import Why
from facho.core.plan import Plan
from facho.core.roles import Role
from facho.engine.coordinate.workloads import Workload
from facho.web.components.list_query import OltQuery, parse_olt_query
from facho.web.components.timeline import Lane
from facho.web.dashboard.lanes import read_timeline
from facho.web.words.executions import describe_run
from tests.api_clients import person
from tests.factories import add_job, add_olts, know_brands, node_of, queue
from tests.sample_rows import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def _three_olts() -> None:
    know_brands()
    add_olts("Centro", "Norte", "Sur")
    add_job("state", "Centro", "Norte", "Sur")
    SnmpJobHost.objects.update(next_run_at=None)
    ExecutionPlan.objects.all().delete()


def ran(olt: str, minutes_ago: float, seconds: float, **columns: Any) -> int:
    start = NOW - timedelta(minutes=minutes_ago)
    given: dict[str, Any] = {"slot": start, "not_before": start, "queued_at": start, "started_at": start}
    given |= {"ended_at": start + timedelta(seconds=seconds), "state": State.SUCCESS}
    return int(queue("state", olt, **{**given, **columns}).pk)


def rows(**wanted: Any) -> list[Lane]:
    return list(read_timeline(OltQuery(**wanted), NOW, Config()).rows)


@pytest.mark.usefixtures("_three_olts")
def test_a_run_is_where_it_was_and_what_runs_grows() -> None:
    done = ran("Centro", 90, 900)
    runs = ran("Centro", 15, 0, state=State.RUNNING, ended_at=None)
    ran("Centro", 300, 60)
    (centro, *_) = rows()
    assert [each.run.execution_id for each in centro.runs] == [done, runs]
    assert [each.block.left for each in centro.runs] == pytest.approx([100 / 5, 700 / 10])
    assert [each.block.width for each in centro.runs] == pytest.approx([100 / 10, 100 / 10])


@pytest.mark.usefixtures("_three_olts")
def test_a_late_run_says_what_it_waited_for() -> None:
    first = ran("Centro", 60, 600)
    slot = NOW - timedelta(minutes=55)
    ran("Centro", 50, 60, slot=slot, delay_ms=300_000, why_late=Why.OLT_BUSY, blocked_by_id=first)
    late = rows()[0].runs[1]
    assert late.delay is not None
    assert late.delay.width == pytest.approx(100 * 5 / 150)
    with override("en"):
        assert describe_run(late.run).endswith("5 min 00 s late: OLT busy with state")


@pytest.mark.parametrize(("hours", "ahead"), [(2, 30), (6, 60), (12, 60)])
def test_what_is_to_come_has_at_most_a_fifth_of_the_width(hours: int, ahead: int) -> None:
    window = read_timeline(OltQuery(hours=hours), NOW, Config()).window
    assert window.end - NOW == timedelta(minutes=ahead)
    assert window.now_at >= 80


@pytest.mark.usefixtures("_three_olts")
def test_the_hour_to_come_has_its_slots() -> None:
    node = node_of("state", "Norte")
    SnmpJobHost.objects.filter(id=node.id).update(next_run_at=NOW - timedelta(minutes=20), interval_s=600)
    # At half past nine: of the running hour there is no plan, of the next one half is in sight.
    found = read_timeline(OltQuery(text="norte", hours=6), NOW - timedelta(minutes=30), Config())
    slots = [each.run.slot for row in found.rows for each in row.runs]
    assert slots == [NOW + timedelta(minutes=minutes) for minutes in (10, 20, 30)]


@pytest.mark.usefixtures("_three_olts")
def test_the_hour_to_come_is_as_it_would_be_planned() -> None:
    add_job("discovery", "Norte", kind="discovery", facts=())
    ExecutionPlan.objects.all().delete()
    slot = NOW + timedelta(minutes=10)
    SnmpJobHost.objects.filter(olt__name="Norte").update(next_run_at=slot, interval_s=3600)
    found = read_timeline(OltQuery(text="norte", hours=6), NOW - timedelta(minutes=30), Config())
    first, second = (each for row in found.rows for each in row.runs)
    assert (first.run.job, second.run.job) == ("discovery", "state")
    assert second.run.slot == first.run.slot == slot
    assert second.run.waited_for == "discovery"
    assert second.run.start >= (first.run.end or slot)


@pytest.mark.usefixtures("_three_olts")
def test_slots_that_were_missed_are_not_gone_through_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an engine that stopped a year ago they would be millions."""
    SnmpJobHost.objects.update(next_run_at=NOW - timedelta(days=365), interval_s=10)
    begun_at: list[datetime] = []

    def plan(work: Workload, *_: object) -> Plan:
        begun_at.extend(task.next_slot for task in work.tasks)
        return Plan((), ())

    monkeypatch.setattr(Workload, "plan", plan)
    rows()
    assert begun_at == [NOW] * 3


@pytest.mark.usefixtures("_three_olts")
def test_a_bar_leads_to_its_execution_and_a_reading_is_called_by_its_onu(client: Client) -> None:
    now = database_now()
    onu = Onu.objects.create(
        olt=Olt.objects.get(name="Sur"), serial="HWTC0A0B0C0D", first_seen=now, last_seen=now
    )
    runs = [
        ran("Sur", ago, 0, started_at=now - timedelta(minutes=ago), ended_at=now - timedelta(minutes=ago))
        for ago in (20, 10)
    ]
    Execution.objects.filter(id=runs[0]).update(node=None, onu=onu)
    client.force_login(person(Role.VIEWER))
    shown = client.get("/coordinator/dashboard/timeline/?text=sur").content.decode()
    link = r'href="/executions/(\d+)/" aria-label="([^,]+),.*?tabindex="(.*?)"'
    # Of a lane the keyboard reaches the last one, and the others from there.
    assert re.findall(link, shown) == [(str(runs[0]), "ONU HWTC0A0B0C0D", "-1"), (str(runs[1]), "state", "0")]


@pytest.mark.usefixtures("_three_olts")
def test_those_in_trouble_come_first_and_the_disabled_only_when_asked_for() -> None:
    Olt.objects.filter(name="Sur").update(reachable=False)
    Olt.objects.filter(name="Norte").update(enabled=False)
    assert [(row.olt, row.health) for row in rows()] == [("Sur", "unreachable"), ("Centro", "never_asked")]
    assert [row.olt for row in rows(health="disabled")] == ["Norte"]
    assert [row.olt for row in rows(health="trouble")] == ["Sur"]
    assert [row.olt for row in rows(text="CENT")] == ["Centro"]


@pytest.mark.usefixtures("_three_olts")
def test_maintenance_is_shaded_and_named() -> None:
    centro = Olt.objects.get(name="Centro")
    MaintenanceWindow.objects.create(
        name="w",
        olt=centro,
        starts_at=NOW - timedelta(hours=1),
        ends_at=NOW + timedelta(hours=1),
        created_at=NOW,
    )
    found = {row.olt: row for row in rows()}
    assert found["Centro"].health == "maintenance"
    assert [round(block.left) for block in found["Centro"].closed] == [40]
    assert not found["Sur"].closed


def test_of_many_olts_a_page_is_shown_and_a_wall_turns_it() -> None:
    know_brands()
    add_olts(*(f"olt-{number:02}" for number in range(30)))
    assert len(rows()) == 8
    assert [row.olt for row in rows(page=4)] == [f"olt-{number:02}" for number in range(24, 30)]
    assert read_timeline(OltQuery(), NOW, Config()).page_after == 1
    assert read_timeline(OltQuery(wall="1"), NOW, Config()).page_after == 2
    assert read_timeline(OltQuery(wall="1", page=3), NOW, Config()).page_after == 1


def test_an_address_that_makes_no_sense_is_the_usual_question() -> None:
    assert parse_olt_query(QueryDict("page=-1&hours=9999&health=%00&text=a%00b")) == OltQuery(
        text="ab", health="\0"
    )
    assert parse_olt_query(QueryDict("page=99999999999")) == OltQuery()


@pytest.mark.usefixtures("_three_olts")
def test_it_is_drawn_with_words_for_who_cannot_see_it(client: Client) -> None:
    half_an_hour_ago = database_now() - timedelta(minutes=30)
    ran("Centro", 0, 0, state=State.FAILED, started_at=half_an_hour_ago, ended_at=half_an_hour_ago)
    client.force_login(person(Role.VIEWER))
    path = "/coordinator/dashboard/timeline/"
    shown = client.get(path, headers={"accept-language": "es"}).content.decode()
    assert "Centro: 0 exitosas, 1 fallidas" in shown
