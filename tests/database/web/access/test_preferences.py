"""Each person sees the pages in a time zone of their choice."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from facho.apps.access.models import AuditEntry
from facho.apps.access.selectors import read_account, time_zone_of
from facho.cli.user import zone
from facho.core.roles import Role
from facho.engine.commands.users import set_time_zone
from tests.api_clients import person
from tests.factories import at, make_execution, make_node, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]


@pytest.fixture
def client() -> Client:
    return Client(headers={"accept-language": "en"})


@pytest.fixture
def ana(client: Client) -> User:
    user = person(Role.VIEWER, "ana")
    client.force_login(user)
    return user


@pytest.mark.usefixtures("ana")
def test_every_page_names_its_zone_and_links_to_the_choice(client: Client) -> None:
    for address in ("/olts/", "/admin/executions/execution/", "/preferences/"):
        text = client.get(address).content.decode()
        assert re.search(r'class="fd-zone" href="/preferences/" title="Times in [^"]+"', text), address


def test_a_choice_holds_for_pages_admin_and_tooltips(client: Client, ana: User) -> None:
    run = make_execution(make_node(), at("10:00:00"), "SUCCESS")
    assert client.post("/preferences/", {"time_zone": "Asia/Kolkata"}, follow=True).status_code == 200
    page = client.get(f"/olts/{run.olt_id}/").content.decode()
    assert "Times in Asia/Kolkata (UTC+5:30)" in page
    listed = client.get("/admin/executions/execution/").content.decode()
    assert "15:30:00" in listed
    set_time_zone(ana, "")
    assert "Asia/Kolkata" not in client.get("/olts/").content.decode()


def test_it_costs_no_statement(client: Client, ana: User, django_assert_num_queries: Any) -> None:
    set_time_zone(ana, "Asia/Kolkata")
    with django_assert_num_queries(1):
        account = read_account(ana.pk)
        assert time_zone_of(account) == "Asia/Kolkata"


def test_unknown_zones_are_refused(client: Client, ana: User) -> None:
    with refused("time_zone", "'Mars/Olympus' is no time zone"):
        set_time_zone(ana, "Mars/Olympus")
    assert client.post("/preferences/", {"time_zone": "Mars/Olympus"}).status_code == 200
    assert time_zone_of(User.objects.get(pk=ana.pk)) == ""


def test_nobody_without_a_login_chooses(client: Client) -> None:
    assert client.get("/preferences/").headers["Location"].startswith("/admin/login/")


def test_the_command_line_and_administrators_choose_for_others(client: Client) -> None:
    ana, carla = person(Role.VIEWER, "ana"), person(Role.ADMINISTRATOR, "carla")
    zone("ana", "America/Santiago")
    assert time_zone_of(User.objects.get(pk=ana.pk)) == "America/Santiago"
    client.force_login(carla)
    form = {"username": "ana", "role": "viewer", "is_active": "on", "time_zone": "America/Lima"}
    assert client.post(f"/admin/auth/user/{ana.pk}/change/", form).status_code == 302
    assert time_zone_of(User.objects.get(pk=ana.pk)) == "America/Lima"
    entry = AuditEntry.objects.filter(model="access.userpreferences").first()
    assert entry is not None
    assert (entry.name, entry.changes["time_zone"]["new"]) == ("ana", "America/Lima")
