"""Windows in the admin: planned by a form, refused at its field, ended by a click."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.engine.commands import maintenance
from facho.engine.commands.errors import CommandError
from tests.factories import add_job, add_olts

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

LIST = "/admin/maintenance/maintenancewindow/"
HEADERS = {"accept-language": "en"}


@pytest.fixture(autouse=True)
def _olts(brands: None) -> None:
    add_olts("north", "south")
    Olt.objects.filter(name="south").update(site="Sur")


def plan(client: Client, path: str = f"{LIST}add/", **given: Any) -> Any:
    empty = {"starts_at_0": "", "starts_at_1": "", "ends_at_0": "", "ends_at_1": "", "start_time": ""}
    wanted = {"name": "work", "enabled": "on", "olt": "", "site": "", "duration": "", **empty, **given}
    return client.post(path, wanted, headers=HEADERS)


def now_for_an_hour() -> dict[str, Any]:
    now = timezone.now()
    return {
        "olt": Olt.objects.get(name="north").pk,
        "starts_at_0": f"{now - timedelta(minutes=1):%Y-%m-%d}",
        "starts_at_1": f"{now - timedelta(minutes=1):%H:%M:%S}",
        "duration": "1h",
    }


def test_one_is_planned_shown_and_ended(admin_client: Client) -> None:
    add_job("state", "north", now=timezone.now(), interval="5m")
    assert plan(admin_client, **now_for_an_hour()).status_code == 302
    window = MaintenanceWindow.objects.get()
    assert window.starts_at is not None
    assert (window.target, window.ends_at) == ("north", window.starts_at + timedelta(hours=1))

    shown = admin_client.get(f"{LIST}?when=now", headers=HEADERS)
    assert shown.context["cl"].result_count == 1
    assert (
        "maintenance"
        in admin_client.get("/admin/hosts/olt/", headers=HEADERS)
        .content.decode()
        .split('id="result_list"')[-1]
    )
    node = SnmpJobHost.objects.get()
    chosen = {"action": "run_now", "_selected_action": [node.pk]}
    told = admin_client.post("/admin/snmp_jobs/snmpjobhost/", chosen, follow=True, headers=HEADERS)
    assert "the OLT north is under maintenance until" in told.content.decode()

    chosen = {"action": "end", "_selected_action": [window.pk]}
    told = admin_client.post(LIST, chosen, follow=True, headers=HEADERS)
    assert "work has ended." in told.content.decode()
    for when, count in (("now", 0), ("ahead", 0), ("over", 1)):
        shown = admin_client.get(f"{LIST}?when={when}", headers=HEADERS)
        assert shown.context["cl"].result_count == count, when


def test_a_weekly_one_is_planned_changed_and_removed(admin_client: Client) -> None:
    weekly: dict[str, Any] = {
        "site": "Sur",
        "weekdays": ["sat", "mon"],
        "start_time": "02:00",
        "duration": "90m",
    }
    assert plan(admin_client, **weekly).status_code == 302
    window = MaintenanceWindow.objects.get()
    assert (window.weekdays, window.duration_s) == ("mon,sat", 5400)
    path = f"{LIST}{window.pk}/change/"
    assert "90 min" in admin_client.get(path, headers=HEADERS).content.decode()
    assert plan(admin_client, path, **{**weekly, "duration": "2h"}).status_code == 302
    window.refresh_from_db()
    assert window.duration_s == 7200
    assert admin_client.post(f"{LIST}{window.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not MaintenanceWindow.objects.exists()


def test_what_is_refused_is_said_at_its_field(admin_client: Client) -> None:
    refused = plan(admin_client, site="Norte", weekdays=["sat"], start_time="02:00", duration="1h")
    assert refused.context["adminform"].form.errors == {
        "site": ["no OLT is at the site 'Norte'; the sites are: Sur"]
    }
    refused = plan(admin_client, site="Sur", weekdays=["sat"], duration="1h")
    assert list(refused.context["adminform"].form.errors) == ["start_time"]
    refused = plan(admin_client, starts_at_0="2020-01-01", starts_at_1="10:00")
    assert list(refused.context["adminform"].form.errors) == ["olt"]
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize(
    ("given", "field"), [({"repeats": "weekly"}, "weekdays"), ({"repeats": "once"}, "starts_at")]
)
def test_times_that_are_missing_are_said_where_the_form_shows_them(
    admin_client: Client, given: dict[str, str], field: str
) -> None:
    shown = plan(admin_client, olt=Olt.objects.get(name="north").pk, **given)
    errors = shown.context["adminform"].form.errors
    assert errors == {field: ["give the start, a preset or the weekdays"]}


def test_a_preset_needs_no_times_and_hidden_fields_do_not_count(admin_client: Client) -> None:
    olt = Olt.objects.get(name="north").pk
    hidden: dict[str, Any] = {
        "starts_at_0": "2020-01-01",
        "starts_at_1": "10:00",
        "weekdays": ["sat"],
        "duration": "1h",
    }
    assert plan(admin_client, olt=olt, repeats="once", preset="next-2h", **hidden).status_code == 302
    window = MaintenanceWindow.objects.get()
    assert window.starts_at is not None
    assert window.ends_at == window.starts_at + timedelta(hours=2)
    assert not window.weekdays
    # Of a preset the form shows nothing else.
    again = plan(admin_client, olt=olt, name="again", repeats="once", preset="next-2h")
    assert list(again.context["adminform"].form.errors) == ["preset"]

    weekly = {**hidden, "start_time": "02:00", "preset": "tonight"}
    assert plan(admin_client, site="Sur", name="weekly", repeats="weekly", **weekly).status_code == 302
    window = MaintenanceWindow.objects.get(name="weekly")
    assert (window.weekdays, window.duration_s, window.starts_at) == ("sat", 3600, None)


@pytest.mark.parametrize(
    ("page", "leads_to"),
    [("/olts/1/", "/olts/1/"), ("https://elsewhere.example/", LIST), ("//x.example", LIST)],
)
def test_after_saving_one_is_back_where_one_came_from(admin_client: Client, page: str, leads_to: str) -> None:
    saved = plan(admin_client, f"{LIST}add/?next={page}", **now_for_an_hour())
    assert (saved.status_code, saved["location"]) == (302, leads_to)


def test_a_preset_with_other_times_is_refused() -> None:
    window = maintenance.Window("work", olt="north", preset="tonight", duration="1h")
    with pytest.raises(CommandError, match="a preset has its own times"):
        maintenance.add_window(window, timezone.now())
