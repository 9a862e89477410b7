"""From nothing to the first ONUs, page by page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facho.apps.db.database import database_now
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.reasons import text_reason
from facho.core.roles import Role
from facho.engine.collect.identify import Identified
from facho.engine.commands import connection_test
from facho.engine.commands.connection_test import Silence
from facho.engine.commands.olts import olt_named
from facho.engine.commands.usual_jobs import attach_usual_jobs, usual_jobs_for
from facho.snmp import Target
from facho.snmp.errors import NoAnswer
from facho.vendors import Detection
from tests.api_clients import person
from tests.factories import add_job, add_olts, make_olt, queue, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

DASHBOARD = "/coordinator/dashboard/"
START = "/start/"
OLT = {"name": "norte", "address": "10.0.0.7", "port": "161", "version": "2c", "community": "hidden-word"}
RECOGNISED = Detection("huawei", "", text_reason("it says so"))
HUAWEI = Identified("Huawei Integrated Access Software", "1.3.6.1.4.1.2011.2.248", 7200.0, RECOGNISED)
IN_PART = {"HX-Request": "true"}


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(person(Role.ADMINISTRATOR))
    return client


def answers(monkeypatch: pytest.MonkeyPatch, answer: Identified | Silence) -> list[Target]:
    """Whatever is asked says this. Gives who was asked."""
    asked: list[Target] = []

    def ask(target: Target) -> Identified | Silence:
        asked.append(target)
        return answer

    monkeypatch.setattr(connection_test, "ask", ask)
    return asked


def steps_of(olt: Olt) -> list[str]:
    return [f"{START}{olt.id}/{step}/" for step in ("jobs", "what-if", "wait")]


def test_the_dashboard_without_olts_leads_there(admin: Client) -> None:
    assert f'class="fd-do fd-main" href="{START}"' in admin.get(DASHBOARD).content.decode()
    add_olts("norte")
    assert "fd-invitation" not in admin.get(DASHBOARD).content.decode()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_others_are_told_who_may_and_what_they_send_is_refused(client: Client, role: Role) -> None:
    client.force_login(person(role))
    assert f'href="{START}"' not in client.get(DASHBOARD).content.decode()
    (olt,) = add_olts("norte")
    for path in (START, *steps_of(olt)):
        said = client.get(path, headers={"accept-language": "en"})
        assert "Only administrators can add OLTs" in said.content.decode(), path
        assert client.post(path, OLT).status_code == 403, path
    assert list(Olt.objects.values_list("name", flat=True)) == ["norte"]
    assert not SnmpJob.objects.exists()


def test_an_olt_that_answers_is_added_and_gets_its_jobs_next(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, HUAWEI)
    said = admin.post(START, {**OLT, "add": "1"}, headers=IN_PART)
    olt = Olt.objects.get(name="norte")
    assert said["HX-Redirect"] == f"{START}{olt.id}/jobs/"
    assert (olt.brand.name, olt.credentials.community) == ("huawei", "hidden-word")
    assert [(target.host, target.community) for target in asked] == [("10.0.0.7", "hidden-word")]


def test_a_test_shows_what_it_is_and_adds_nothing(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, HUAWEI)
    page = admin.post(START, {**OLT, "test": "1"}, headers=IN_PART).content.decode()
    assert "Huawei Integrated Access Software" in page
    assert "it says so" in page
    assert not Olt.objects.exists()


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("sur already has the address 10.0.0.7 and the port 161", "Open sur")),
        ("es", ("sur ya tiene la dirección 10.0.0.7 y el puerto 161", "Abrir sur")),
    ],
)
def test_an_address_of_another_olt_is_refused_with_a_link_to_it(
    admin: Client, monkeypatch: pytest.MonkeyPatch, language: str, words: tuple[str, ...]
) -> None:
    asked = answers(monkeypatch, HUAWEI)
    other = make_olt("sur", address="10.0.0.7")
    headers = {**IN_PART, "accept-language": language}
    page = admin.post(START, {**OLT, "add": "1"}, headers=headers).content.decode()
    assert f'href="{reverse("olt", args=[other.id])}"' in page
    for each in words:
        assert each in page
    assert not asked
    assert Olt.objects.count() == 1


@pytest.mark.parametrize("part", [True, False])
def test_one_that_is_silent_is_not_added_and_its_secret_does_not_come_back(
    admin: Client, monkeypatch: pytest.MonkeyPatch, part: bool
) -> None:
    answers(monkeypatch, Silence(text_reason("no answer from 10.0.0.7"), NoAnswer("no answer")))
    page = admin.post(START, {**OLT, "add": "1"}, headers=IN_PART if part else {}).content.decode()
    assert "10.0.0.7" in page
    assert "hidden-word" not in page
    assert not Olt.objects.exists()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"community": ""}, "community"),
        ({"address": "not an address"}, "address"),
        ({"port": "0"}, "port"),
        ({"name": "taken"}, "name"),
        ({"version": "3"}, "v3_user"),
        (
            {"version": "3", "v3_user": "me", "auth_protocol": "SHA1", "auth_password": "short"},
            "auth_password",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_field_before_anything_is_asked(
    admin: Client, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], field: str
) -> None:
    add_olts("taken")
    asked = answers(monkeypatch, HUAWEI)
    said = admin.post(START, {**OLT, **given})
    assert list(said.context["form"].errors) == [field]
    assert not asked


def test_the_usual_jobs_are_shown_with_what_they_would_do_and_nothing_is_made(admin: Client) -> None:
    (olt,) = add_olts("norte")
    jobs, what_if, _ = steps_of(olt)
    page = admin.get(jobs)
    assert {row["usual"].offer for row in page.context["form"].rows()} >= {"discovery", "state", "optics"}
    assert f'<a href="/olts/{olt.pk}/">Ahora no</a>' in page.content.decode()
    ticked = {name: "on" for name in page.context["form"].fields if name.startswith("take_")}
    all_of_them = admin.post(what_if, {**ticked, **intervals(page)}).context["load"].after.p50_min
    assert all_of_them > 0
    one = admin.post(what_if, {"take_state": "on", **intervals(page)}).context["load"]
    assert 0 < one.after.p50_min < all_of_them
    assert not SnmpJob.objects.exists()


def test_traffic_is_offered_every_five_minutes_with_its_cost_where_counters_are_cheap(admin: Client) -> None:
    (huawei,) = add_olts("norte")
    jobs, what_if, _ = steps_of(huawei)
    page = admin.get(jobs)
    assert intervals(page)["every_traffic"] == "5 min"
    load = admin.post(what_if, {"take_traffic": "on", **intervals(page)}).context["load"]
    assert load.after.p50_min > load.before.p50_min
    # Its counters are in a table of which every row takes the OLT long, and nowhere else.
    assert {each.offer for each in usual_jobs_for(make_olt("sur", "cdata_fd11"))}.isdisjoint({"traffic"})


def intervals(page: object) -> dict[str, str]:
    form = page.context["form"]  # type: ignore[attr-defined]  # a response of a test's client
    return {name: field.initial for name, field in form.fields.items() if name.startswith("every_")}


def test_what_is_ticked_is_collected_and_the_onus_are_looked_for_at_once(admin: Client) -> None:
    (olt,) = add_olts("norte")
    jobs, _, wait = steps_of(olt)
    given = {**intervals(admin.get(jobs)), "take_discovery": "on", "take_state": "on", "every_state": "2m"}
    assert admin.post(jobs, given)["Location"] == wait
    found = dict(SnmpJobHost.objects.values_list("job__name", "job__interval_s"))
    assert found == {"discovery": 3600, "state": 120}
    assert list(Execution.objects.values_list("node__job__name", "run_now")) == [("discovery", True)]
    page = admin.get(wait, headers=IN_PART)
    assert [run.job for run in page.context["first"].runs] == ["discovery", "state"]


def test_an_interval_that_is_none_is_said_at_its_job(admin: Client) -> None:
    (olt,) = add_olts("norte")
    jobs = steps_of(olt)[0]
    said = admin.post(jobs, {**intervals(admin.get(jobs)), "take_state": "on", "every_state": "often"})
    assert list(said.context["form"].errors) == ["every_state"]
    assert not SnmpJob.objects.exists()


def test_the_next_olt_joins_the_jobs_of_the_first_at_their_intervals() -> None:
    add_olts("norte", "sur")
    attach_usual_jobs("norte", {"discovery": "30m"}, database_now())
    joined = {each.offer: each for each in usual_jobs_for(olt_named("sur"))}["discovery"]
    assert (joined.is_there, joined.job.interval) == (True, timedelta(minutes=30))
    attach_usual_jobs("sur", {"discovery": "1h"}, database_now())
    assert list(SnmpJob.objects.values_list("name", "interval_s")) == [("discovery", 1800)]
    assert SnmpJobHost.objects.count() == 2


def test_a_name_that_is_of_another_job_is_left_to_it() -> None:
    add_olts("norte")
    add_job("optics", brand="zte", kind="get", facts=["onu_rx_dbm"])
    attach_usual_jobs("norte", {"optics": "15m"}, database_now())
    assert SnmpJobHost.objects.get().job.name == "optics huawei"


def test_what_cannot_be_is_said_of_the_job_that_it_is_about_and_none_is_made() -> None:
    add_olts("norte")
    Olt.objects.update(shortest_interval_s=600)
    with refused("state", "it allows 10 min or longer"):
        attach_usual_jobs("norte", {"discovery": "1h", "state": "1m"}, database_now())


def test_looking_costs_the_same_however_much_there_is(admin: Client) -> None:
    add_olts("norte")
    wait = steps_of(olt_named("norte"))[2]
    assert queries_of(admin, wait) == 6
    attach_usual_jobs("norte", {"discovery": "1h", "state": "1m", "ports": "5m"}, database_now())
    for node in SnmpJobHost.objects.all():
        queue(node.job.name, "norte")
    assert queries_of(admin, wait) == 6


def test_the_offer_of_jobs_is_not_planned_before_it_is_shown(admin: Client) -> None:
    """What they would cost is asked for by the page itself."""
    add_olts("norte")
    jobs, what_if, _ = steps_of(olt_named("norte"))
    page = admin.get(jobs).content.decode()
    assert f'hx-post="{what_if}" hx-trigger="load, ' in page
    assert queries_of(admin, jobs) == 4


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(database) as queries:
        client.get(path, headers=IN_PART)
    # PostgreSQL is asked what time it is; SQLite has no clock.
    return len([query for query in queries if "clock_timestamp" not in query["sql"]])
