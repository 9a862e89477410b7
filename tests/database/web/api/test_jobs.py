"""Jobs through the API: made, seen before they are saved, changed, put on OLTs and removed."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.roles import Role
from tests.api_clients import asking, refused_at
from tests.database.engine.commands.test_what_if import takes
from tests.factories import add_job, add_olts, node_of, queue

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

JOBS = "/api/v1/jobs/"
WHAT_IF = "/api/v1/what-if/"


@pytest.fixture
def admin() -> APIClient:
    return asking(Role.ADMINISTRATOR)


def brand(name: str = "huawei") -> int:
    return Brand.objects.get(name=name).id


def optics(**more: object) -> dict[str, object]:
    return {
        "name": "optics", "brand": brand(), "kind": "get", "interval": "5m", "facts": ["onu_rx_dbm"], **more,
    }  # fmt: skip


def add(name: str, *olts: str, **more: Any) -> SnmpJob:
    """Made now, as those that the API makes."""
    return add_job(name, *olts, now=timezone.now(), **more)


@pytest.mark.both_databases
def test_a_job_is_made_and_runs_on_its_olts(admin: APIClient) -> None:
    north, south = add_olts("north", "south")
    discovery = add("discovery", "north", kind="discovery", facts=())
    answer = admin.post(JOBS, optics(olts=[north.id, south.id], master=discovery.id, retry_delay="1m"))
    assert answer.status_code == 201
    job = answer.json()
    assert answer["Location"] == f"http://testserver{JOBS}{job['id']}/"
    assert admin.get(f"{JOBS}{job['id']}/").json() == job
    assert (job["interval"], job["interval_s"], job["retry_delay_s"], job["priority"]) == ("5m", 300, 60, 40)
    assert (job["task_type"], job["master_name"], job["olt_count"]) == ("get_onu_rx_dbm", "discovery", 2)
    assert node_of("optics", "north").next_run_at is None
    assert node_of("optics", "south").next_run_at is not None


def test_oids_are_given_in_numbers(admin: APIClient) -> None:
    given = {"name": "own", "brand": brand(), "kind": "bulk", "interval": "1h", "oids": ["1.3.6.1.4.1.5.6"]}
    job = admin.post(JOBS, given).json()
    assert job["oids"] == ["1.3.6.1.4.1.5.6"]
    assert Oid.objects.filter(oid="1.3.6.1.4.1.5.6", brand__name="huawei").exists()
    assert admin.patch(f"{JOBS}{job['id']}/", {"oids": ["1.3.6.1.4.1.5.7"]}).json()["oids"] == [
        "1.3.6.1.4.1.5.7"
    ]


def test_everything_that_is_wrong_is_said_at_once(admin: APIClient) -> None:
    given = {"interval": "5 fortnights", "kind": "guess", "olts": [7], "priority": 101, "task_type": "a b"}
    assert refused_at(admin.post(JOBS, given)).keys() == {
        "name", "interval", "kind", "olts", "priority", "task_type",
    }  # fmt: skip
    assert refused_at(admin.post(JOBS, optics(olt="north"))).keys() == {"olt"}


@pytest.mark.parametrize(
    ("more", "field"),
    [({"facts": ["onu_rx"]}, "facts"), ({"facts": []}, "facts"), ({"oids": ["one.two"]}, "oids")],
)
def test_what_only_the_command_knows_is_said_at_its_field(
    admin: APIClient, more: dict[str, object], field: str
) -> None:
    assert refused_at(admin.post(JOBS, optics(**more))).keys() == {field}
    assert not SnmpJob.objects.exists()


@pytest.mark.both_databases
def test_it_is_seen_before_it_is_saved(admin: APIClient) -> None:
    (north,) = add_olts("north")
    answer = admin.post(f"{JOBS}?preview", optics(olts=[north.id]))
    assert answer.status_code == 200
    (row,) = answer.json()["olts"]
    assert (row["olt"], row["olt_name"], row["minutes_before"], row["sure"]) == (north.id, "north", 0, False)
    assert row["minutes_after"] > 0
    assert not SnmpJob.objects.exists()
    # The same question of its own; who only sees may ask it.
    asked = asking(Role.VIEWER).post(WHAT_IF, {"new_job": optics(olts=[north.id])})
    assert (asked.status_code, asked.json()) == (200, answer.json())
    job = add("state", "north", interval="5m")
    takes("north", "get_state", 60.0)
    faster = asking(Role.VIEWER).post(WHAT_IF, {"job": job.id, "interval": "30s"}).json()
    assert (faster["becomes_impossible"], faster["olts"][0]["at_risk"][0]["task_type"]) == (1, "get_state")
    previewed = admin.patch(f"{JOBS}{job.id}/?preview", {"interval": "30s"}).json()["olts"][0]
    assert previewed["minutes_after"] == faster["olts"][0]["minutes_after"] > 60
    node = node_of("state", "north")
    previewed = admin.patch(f"/api/v1/nodes/{node.id}/?preview=true", {"interval": "30 s"}).json()["olts"][0]
    assert previewed["minutes_after"] == faster["olts"][0]["minutes_after"]
    assert node_of("state", "north").interval_s is None
    job.refresh_from_db()
    assert job.interval_s == 300


@pytest.mark.both_databases
def test_a_target_covers_olts_that_are_not_named(admin: APIClient) -> None:
    north, south = add_olts("north", "south")
    Olt.objects.filter(pk=north.pk).update(site="North")
    job = admin.post(JOBS, optics(target="all")).json()
    # All OLTs of a job with a brand are those of the brand.
    assert (job["target"], job["site"], job["olt_count"]) == ("brand", "", 2)
    path = f"{JOBS}{job['id']}/"
    rows = admin.patch(f"{path}?preview", {"target": "site", "site": "North"}).json()["olts"]
    assert {row["olt"]: row["minutes_after"] > 0 for row in rows} == {north.id: True, south.id: False}
    moved = admin.patch(path, {"target": "site", "site": "North"}).json()
    assert (moved["target"], moved["site"], moved["olt_count"]) == ("site", "North", 1)
    assert [row["id"] for row in admin.get(JOBS, {"target": "site"}).json()["results"]] == [job["id"]]
    assert not admin.get(JOBS, {"target": "all"}).json()["results"]
    assert refused_at(admin.patch(path, {"site": " "})).keys() == {"site"}
    assert refused_at(admin.patch(path, {"target": "moon"})).keys() == {"target"}


def test_a_job_without_a_brand_is_for_any(admin: APIClient) -> None:
    given = optics(name="any")
    del given["brand"]
    assert admin.post(JOBS, given).json()["brand"] == brand("generic")


def test_a_preview_names_the_jobs_that_ask_the_same(admin: APIClient) -> None:
    (north,) = add_olts("north")
    add("power", "north", facts=["onu_rx_dbm", "olt_rx_dbm"])
    repeats = [{"job": "power", "facts": ["onu_rx_dbm"], "olts": 1}]
    assert admin.post(f"{JOBS}?preview", optics(olts=[north.id])).json()["repeats"] == repeats
    asked = asking(Role.VIEWER).post(WHAT_IF, {"new_job": optics(olts=[north.id])})
    assert asked.json()["repeats"] == repeats
    job = admin.post(JOBS, optics(facts=["distance_m"], olts=[north.id])).json()
    path = f"{JOBS}{job['id']}/?preview"
    assert admin.patch(path, {"interval": "10m"}).json()["repeats"] == []
    assert admin.patch(path, {"facts": ["onu_rx_dbm"]}).json()["repeats"] == repeats


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "job"),
        ({"job": 1, "new_job": {}}, "job"),
        ({"new_job": {"name": "x", "colour": 1}}, "new_job.colour"),
    ],
)
def test_a_question_that_is_not_clear(given: dict[str, object], field: str) -> None:
    assert field in refused_at(asking(Role.VIEWER).post(WHAT_IF, given))


def test_a_change_is_made_as_a_whole_or_not_at_all(admin: APIClient) -> None:
    add_olts("north")
    job = add("state", "north")
    path = f"{JOBS}{job.id}/"
    assert refused_at(admin.patch(path, {"interval": "7m", "priority": 9, "facts": ["no"]})).keys() == {
        "facts"
    }
    assert refused_at(admin.patch(path, {"interval": "7m", "master": job.id})).keys() == {"master"}
    assert refused_at(admin.patch(path, {"kind": "walk"})).keys() == {"kind"}
    job.refresh_from_db()
    assert (job.interval_s, job.priority) == (600, 40)
    changed = admin.patch(path, {"interval": "7m", "priority": 9, "enabled": False}).json()
    assert (changed["interval"], changed["priority"], changed["enabled"]) == ("7m", 9, False)
    assert changed["facts"] == ["state"]
    assert node_of("state", "north").next_run_at is None


def test_an_operator_switches_jobs_and_configures_none() -> None:
    add_olts("north")
    job = add("state", "north")
    client, path = asking(Role.OPERATOR), f"{JOBS}{job.id}/"
    assert client.post(f"{path}disable/").json()["nodes"] == 0
    assert client.post(f"{path}enable/").json()["nodes"] == 1
    assert client.patch(path, {"enabled": False}).status_code == 403
    assert client.delete(path).status_code == 403
    acts = ("duplicate", "attach", "detach")
    assert {client.post(f"{path}{act}/", {}).status_code for act in acts} == {403}
    assert asking(Role.VIEWER).post(f"{path}disable/").status_code == 403


@pytest.mark.both_databases
def test_olts_are_attached_and_detached(admin: APIClient) -> None:
    north, south, other = *add_olts("north", "south"), *add_olts("other", brand="zte")
    job = add("state", "north")
    path = f"{JOBS}{job.id}/"
    assert admin.post(f"{path}attach/?preview", {"olts": [south.id]}).json()["olts"][0]["olt_name"] == "south"
    assert admin.post(f"{path}attach/", {"olts": [north.id, south.id]}).json()["nodes"] == 1
    assert refused_at(admin.post(f"{path}attach/", {"olts": [other.id]})).keys() == {"olts"}
    assert refused_at(admin.post(f"{path}attach/", {"olts": []})).keys() == {"olts"}
    queue("state", "south")
    assert admin.post(f"{path}detach/", {"olts": [south.id]}).json()["aborted"] == 1
    assert [node.olt.name for node in job.nodes.all()] == ["north"]


def test_a_copy_has_another_name_and_no_olts(admin: APIClient) -> None:
    add_olts("north")
    job = add("state", "north")
    copy = admin.post(f"{JOBS}{job.id}/duplicate/", {"name": "state 2"}).json()
    assert (copy["name"], copy["facts"], copy["olt_count"]) == ("state 2", ["state"], 0)
    assert refused_at(admin.post(f"{JOBS}{job.id}/duplicate/", {"name": "state"})).keys() == {"name"}


@pytest.mark.both_databases
def test_a_job_goes_when_it_does_not_run_and_what_was_chained_runs_on_its_own(admin: APIClient) -> None:
    add_olts("north")
    job = add("state", "north")
    add("optics", "north", facts=["onu_rx_dbm"], master="state")
    running = queue("state", "north", State.RUNNING)
    assert refused_at(admin.delete(f"{JOBS}{job.id}/")).keys() == {"olts"}
    Execution.objects.filter(id=running.id).update(state=State.SUCCESS)
    assert node_of("optics", "north").next_run_at is None
    assert admin.delete(f"{JOBS}{job.id}/").status_code == 204
    assert admin.get(f"{JOBS}{job.id}/").status_code == 404
    assert [node.job.name for node in SnmpJobHost.objects.all()] == ["optics"]
    assert node_of("optics", "north").next_run_at is not None


def test_jobs_of_an_olt() -> None:
    (north, _south) = add_olts("north", "south")
    add("state", "north", "south")
    add("optics", "south", facts=["onu_rx_dbm"])
    found = asking(Role.VIEWER).get(f"{JOBS}?olt={north.id}").json()["results"]
    assert [row["name"] for row in found] == ["state"]
