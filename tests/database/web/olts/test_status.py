"""One OLT has one status, wherever somebody looks: every combination of what it is made of."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.hosts.health import TROUBLE, Health, counts_by_health, health_of, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.zabbix_pollers.models import Worker
from facho.cli.doctor.coordinator import check_step
from facho.cli.doctor.database import check_olts, check_workers
from facho.cli.olt.details import olt_row
from facho.config import Config
from facho.core.olt_status import LastHour, degraded_reason, overloaded_reason
from facho.core.roles import Role
from facho.engine.upkeep.health import check_health as whole_health
from facho.engine.upkeep.system_status import read_system_status
from facho.web.components.list_query import OltQuery
from facho.web.dashboard.data import read_last_steps, read_problems
from facho.web.metrics.reading import samples
from facho.web.olts.head import read_olt_head
from facho.web.olts.olt_list import read_olt_list
from tests.api_clients import asking
from tests.factories import make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]

CONFIG = Config()
STRAINED = {"degraded", "overloaded", "degraded and overloaded"}
TIMED_OUT = "177 of 800 requests of the last hour timed out"
TOO_MUCH = "its tasks take 71.3 min of every hour, and do not all fit: some runs are skipped"


def every_combination() -> list[Olt]:
    """OLTs in every state that their columns allow, each also under maintenance."""
    now = database_now()
    found = []
    combinations = product((True, False), ("", "no answer"), (None, True, False), (0, 2), (False, True))
    for number, (enabled, suspended, reachable, failed, maintained) in enumerate(combinations):
        olt = make_olt(
            f"olt-{number:02}",
            enabled=enabled,
            suspended_reason=suspended,
            suspended_at=now if suspended else None,
            reachable=reachable,
            failed_in_a_row=failed,
        )
        if maintained:
            hour = timedelta(hours=1)
            MaintenanceWindow.objects.create(
                name=olt.name, olt=olt, starts_at=now - hour, ends_at=now + hour, created_at=now
            )
        found.append(olt)
    degraded, overloaded = degraded_reason(LastHour(800, 177, 90, 1)), overloaded_reason(71.26)
    return [
        *found,
        make_olt("degraded", reachable=True, degraded_reason=degraded),
        make_olt("overloaded", reachable=True, overloaded_reason=overloaded),
        make_olt(
            "degraded and overloaded", reachable=True, degraded_reason=degraded, overloaded_reason=overloaded
        ),
        make_olt("degraded, now failing", reachable=True, degraded_reason=degraded, failed_in_a_row=1),
    ]


def statuses() -> dict[str, Health]:
    """By the one function, row by row."""
    maintained = set(MaintenanceWindow.objects.values_list("olt_id", flat=True))
    return {olt.name: health_of(olt, maintained) for olt in Olt.objects.all()}


def test_rows_are_filtered_and_counted_by_the_same_rule_as_one_is_judged_by() -> None:
    every_combination()
    wanted = statuses()
    maintained = list(MaintenanceWindow.objects.values_list("olt_id", flat=True))
    assert dict(with_health(maintained).values_list("name", "condition")) == wanted
    for health in Health:
        names = {name for name, its in wanted.items() if its is health}
        assert set(with_health(maintained).filter(condition=health).values_list("name", flat=True)) == names
        assert counts_by_health(maintained).get(health, 0) == len(names)
    assert set(wanted.values()) == set(Health)


def test_pages_admin_api_and_command_line_say_the_same(admin_client: Client) -> None:
    olts = every_combination()
    wanted, now = statuses(), database_now()
    listed: dict[str, str] = {}
    for page in (1, 2, 3):
        listed |= {row.name: row.health for row in read_olt_list(OltQuery(page=page), now).rows}
    assert listed == wanted
    api = asking(Role.VIEWER).get("/api/v1/olts/?page_size=100").json()["results"]
    words = {Health.FINE: "reachable", Health.NEVER_ASKED: "new"}
    assert {row["name"]: row["state"] for row in api} == {
        name: words.get(health, health.value) for name, health in wanted.items()
    }
    maintained = set(MaintenanceWindow.objects.values_list("olt_id", flat=True))
    words = {Health.FINE: "reachable", Health.NEVER_ASKED: "not asked yet"}
    for olt in olts:
        health = wanted[olt.name]
        assert olt_row(olt, maintained)["state"] == words.get(health, health.value)
    shown = admin_client.get("/admin/hosts/olt/?all=1", headers={"accept-language": "en"})
    page = shown.context["cl"].model_admin
    assert {row.name: page.health.__wrapped__(page, row)[0] for row in shown.context["cl"].queryset} == wanted


def test_what_is_said_of_a_suspension_is_said_of_suspended_olts_alone() -> None:
    """A disabled or maintained OLT keeps the reason of its suspension, which is not its status."""
    olts = every_combination()
    wanted, now = statuses(), database_now()
    suspended = {name for name, health in wanted.items() if health is Health.SUSPENDED}
    rows = [row for page in (1, 2, 3) for row in read_olt_list(OltQuery(page=page), now).rows]
    assert {row.name for row in rows if row.trouble} == suspended | STRAINED
    assert {row.name for row in rows if row.since} == suspended
    heads = {
        olt.name: render_to_string("olts/head.html", {"head": read_olt_head(olt.id, now)}) for olt in olts
    }
    assert {name for name, head in heads.items() if "Down since" in head} == suspended
    client = asking(Role.VIEWER)
    for asked, names in (("true", suspended), ("false", wanted.keys() - suspended)):
        found = client.get(f"/api/v1/olts/?page_size=100&suspended={asked}").json()["results"]
        assert {row["name"] for row in found} == names
    measured = [each for each in samples(now, CONFIG) if each.metric == "facho_olt_suspended"]
    assert {each.labels[0]: bool(each.value) for each in measured} == {
        name: name in suspended for name in wanted
    }


def test_numbers_and_lists_of_trouble_come_from_the_same_status() -> None:
    every_combination()
    wanted, now = statuses(), database_now()
    count = {health: list(wanted.values()).count(health) for health in Health}
    told = read_system_status(now, CONFIG).olts
    assert (told.suspended, told.unreachable, told.maintenance, told.disabled) == (
        count[Health.SUSPENDED],
        count[Health.UNREACHABLE],
        count[Health.MAINTENANCE],
        count[Health.DISABLED],
    )
    measured = {each.labels[0]: each.value for each in samples(now, CONFIG) if each.metric == "facho_olts"}
    assert measured["suspended"] == told.suspended
    assert measured["maintenance"] == told.maintenance
    finding = check_olts(now, CONFIG).told
    assert f"{told.suspended} suspended" in finding
    assert f"{told.unreachable} unreachable" in finding
    silent = {name for name, health in wanted.items() if health in (Health.SUSPENDED, Health.UNREACHABLE)}
    problems = [each.olt for each in read_problems(olts_under_maintenance(now), 100)]
    assert set(problems[: len(silent)]) == silent
    assert set(problems[len(silent) :]) == STRAINED
    assert set(TROUBLE) == {
        Health.UNREACHABLE, Health.SUSPENDED, Health.FAILING, Health.DEGRADED, Health.OVERLOADED,
    }  # fmt: skip


def test_why_an_olt_is_degraded_or_overloaded_is_said_everywhere() -> None:
    every_combination()
    now, api = database_now(), asking(Role.VIEWER)
    for name, state, reason in (
        ("degraded", "degraded", TIMED_OUT),
        ("overloaded", "overloaded", TOO_MUCH),
        ("degraded and overloaded", "degraded", TIMED_OUT),
    ):
        olt = Olt.objects.get(name=name)
        (row,) = [
            row for row in read_olt_list(OltQuery(text=name, health=state), now).rows if row.name == name
        ]
        assert str(row.trouble) == reason
        (found,) = api.get("/api/v1/olts/", {"name": name, "state": state}).json()["results"]
        assert (found["state"], found["state_reason"]) == (state, reason)
        assert (olt_row(olt)["state"], olt_row(olt)["reason"]) == (state, reason)
        with translation.override("en"):
            head = render_to_string("olts/head.html", {"head": read_olt_head(olt.id, now)})
        assert f"{reason[0].upper()}{reason[1:]}." in head
        (problem,) = [each for each in read_problems([], 100) if each.olt == name]
        assert str(problem.reason) == reason
    assert api.get("/api/v1/olts/?state=reachable&name=degraded").json()["results"] == []
    degraded = Olt.objects.get(name="degraded")
    with translation.override("es"):
        head = render_to_string("olts/head.html", {"head": read_olt_head(degraded.id, now)})
    assert "degradada" in head
    assert "177 de 800 peticiones de la última hora no tuvieron respuesta" in head


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("age", [-20, 0, 9, 11, 49, 51])
def test_dashboard_doctor_and_health_agree_whether_the_scheduler_stands_still(age: int, every: int) -> None:
    config = Config(scheduler_step=timedelta(seconds=every))
    now = database_now()
    CoordinatorState.objects.create(name="scheduler", updated_at=now - timedelta(seconds=age))
    stalled = read_last_steps(now, config)[0].stalled
    step = read_system_status(now, config).scheduler
    level = check_step("scheduler", step, config.scheduler_step, config).level
    assert (level == "error") is (stalled or age < -15)
    reasons = [reason for reason in whole_health(lambda: now, config).reasons if reason.what == "scheduler"]
    assert bool(reasons) is (stalled or age < -15)


def test_a_worker_is_alive_for_all_or_for_nobody(admin_client: Client) -> None:
    now = database_now()
    Worker.objects.create(name="ahead", pollers=3, started_at=now, seen_at=now + timedelta(hours=1))
    assert check_workers(now, CONFIG).level == "error"
    assert read_system_status(now, CONFIG).pool.workers == 0
    shown = admin_client.get("/admin/zabbix_pollers/worker/", headers={"accept-language": "en"})
    assert "disconnected" in shown.content.decode()
