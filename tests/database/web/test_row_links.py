"""Rows lead to pages, lists are exported as they are filtered, and errors are explained."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from facho.apps.chassis.models import PonPort, Unprovisioned
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog, ExecutionPlan, QuotaTracker, TaskForecast
from facho.apps.executions.models import Attempt, Execution
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.core.quota import running_hour
from facho.core.roles import Role
from facho.web.access.error_pages import server_failed
from facho.web.server.refusals import database_too_slow, render_refusal
from tests.api_clients import person
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


def listed(client: Client, model: Any, at: str = "changelist") -> Any:
    return client.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{at}"))


@pytest.mark.parametrize(("model", "path"), [(Onu, "/onus/"), (Olt, "/olts/"), (Execution, "/executions/")])
def test_rows_lead_to_pages(viewer: Client, model: Any, path: str) -> None:
    fill(1)
    row = model.objects.get()
    html = listed(viewer, model).content.decode()
    assert f'href="{path}{row.pk}/"' in html
    assert "fd-edit" not in html
    assert viewer.get(f"{path}{row.pk}/").status_code == 200


def test_ports_lead_to_their_page(viewer: Client) -> None:
    fill(1)
    port = PonPort.objects.get()
    assert reverse("port", args=[port.olt_id, port.pk]) in listed(viewer, PonPort).content.decode()


def test_who_may_edit_has_a_link_to_the_form(client: Client) -> None:
    client.force_login(person(Role.ADMINISTRATOR))
    fill(1)
    html = listed(client, Olt).content.decode()
    assert f'class="fd-edit" href="{reverse("admin:hosts_olt_change", args=[Olt.objects.get().pk])}"' in html


def test_every_list_can_be_exported(client: Client) -> None:
    client.force_login(person(Role.ADMINISTRATOR))
    fill(1)
    for model in admin.site._registry:
        answer = listed(client, model, "export")
        assert answer.status_code == 200, model
        assert b"\n" in answer.getvalue(), model


def test_an_export_has_the_filters_of_its_list(viewer: Client) -> None:
    fill(3)
    olt = Olt.objects.order_by("id").first()
    assert olt is not None
    answer = viewer.get(reverse("admin:discovery_onu_export"), {"olt__id__exact": olt.pk})
    assert answer.getvalue().decode().count("\n") == 1 + Onu.objects.filter(olt=olt).count()


@pytest.mark.parametrize(
    ("path", "of_one"),
    [
        ("/olts/?text=%s", "olt"),
        ("/search/?q=%s&of=olts", "olt"),
        ("/search/?q=%s&of=onus", "onu"),
        ("/onus/worst/?olt=%s", "onu"),
        ("/onus/unprovisioned/", "unprovisioned"),
        ("/plans/?text=%s", "olt"),
    ],
)
def test_a_list_of_a_page_is_exported_as_it_is_filtered(viewer: Client, path: str, of_one: str) -> None:
    fill(3)
    olt = Olt.objects.order_by("id").first()
    assert olt is not None
    Onu.objects.filter(olt=olt).update(onu_rx_dbm=-30.0, serial="ALCL00000001")
    plan_of(olt)
    wanted = olt.pk if "olt=" in path else "ALCL0000000" if of_one == "onu" else olt.name
    asked = path % wanted if "%s" in path else path
    lines = exported(viewer, asked)
    count = Unprovisioned.objects.count() if of_one == "unprovisioned" else 1
    assert len(lines) == 1 + count
    assert olt.name in lines[1]
    html = viewer.get(asked, headers={"Accept-Language": "en"}).content.decode()
    links = [unescape(link) for link in re.findall(r'href="([^"]*export=csv)"[^>]*>Export<', html)]
    assert lines in [exported(viewer, link.removesuffix("export=csv").rstrip("?&")) for link in links]


def test_the_onus_of_a_port_are_exported_in_the_order_of_the_list(viewer: Client) -> None:
    fill(1)
    port = PonPort.objects.get()
    first = Onu.objects.get()
    Onu.objects.filter(pk=first.pk).update(
        frame=port.frame, slot=port.slot, port=port.port, onu_id=1, onu_rx_dbm=-20.0, olt_rx_dbm=None
    )
    second = Onu.objects.create(
        olt=first.olt, address="other", frame=port.frame, slot=port.slot, port=port.port, onu_id=2,
        serial="WEAKER", onu_rx_dbm=-25.0, first_seen=first.first_seen, last_seen=first.last_seen,
    )  # fmt: skip
    page = reverse("port", args=[port.olt_id, port.pk])
    lines = exported(viewer, f"{page}?sort=power")
    assert [line.split(",")[0] for line in lines[1:]] == [str(second.pk), str(first.pk)]


def test_the_exports_of_pages_need_the_rights_of_the_pages(client: Client) -> None:
    for path in ("/olts/", "/plans/", "/onus/worst/", "/onus/unprovisioned/", "/search/"):
        assert client.get(f"{path}?export=csv").status_code == 302, path


def exported(client: Client, path: str) -> list[str]:
    answer = client.get(f"{path}{'&' if '?' in path else '?'}export=csv")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment")
    text: str = answer.getvalue().decode()
    return text.splitlines()


def plan_of(olt: Olt) -> None:
    now = database_now()
    hour = running_hour(now, current().time_zone)
    ExecutionPlan.objects.create(
        olt=olt, period_start=hour.start, period_end=hour.end, load_p50_min=3.0, load_p95_min=4.0,
        total_tasks=1, created_at=now, updated_at=now, signature="s",
    )  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [Onu, OnuEvent, Execution, Attempt, SnmpJobHost, QuotaTracker, CoordinatorLog, TaskForecast, PonPort],
)
def test_the_olt_of_a_row_leads_to_its_page(viewer: Client, model: Any) -> None:
    fill(1)
    html = listed(viewer, model).content.decode()
    assert f'href="{reverse("olt", args=[Olt.objects.get().pk])}"' in html


def test_who_may_not_see_a_list_cannot_export_it(viewer: Client) -> None:
    assert viewer.get(reverse("admin:access_auditentry_export")).status_code == 403


def test_a_missing_page_is_explained_in_the_language_of_the_reader(viewer: Client) -> None:
    answer = viewer.get("/executions/99999999/", headers={"Accept-Language": "es"})
    assert answer.status_code == 404
    assert "Esta página no existe" in answer.content.decode()
    assert "No Execution matches" not in answer.content.decode()


@pytest.mark.parametrize(("language", "said"), [("en", "Not allowed"), ("es", "No permitido")])
def test_who_may_not_see_a_list_is_told_so_and_may_log_out(viewer: Client, language: str, said: str) -> None:
    answer = viewer.get("/admin/access/auditentry/", headers={"Accept-Language": language})
    page = answer.content.decode()
    assert answer.status_code == 403
    assert said in page
    assert "facho/error.css" in page
    assert f'action="{reverse("logout")}"' in page


@pytest.mark.parametrize(("language", "said"), [("en", "not a page"), ("es", "no es una página")])
def test_the_address_of_a_button_explains_itself(viewer: Client, language: str, said: str) -> None:
    answer = viewer.get("/olts/1/enable/", headers={"Accept-Language": language})
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert said in answer.content.decode()


def test_a_button_that_is_pressed_after_a_log_out_leads_back_to_its_page(client: Client) -> None:
    answer = client.post("/olts/1/enable/", headers={"Referer": "http://testserver/olts/1/?x=1"})
    assert answer["Location"] == f"{reverse('login')}?next=/olts/1/"
    elsewhere = client.post("/olts/1/enable/", headers={"Referer": "http://example.com/olts/1/"})
    assert elsewhere["Location"] == f"{reverse('login')}?next="


@pytest.mark.parametrize("path", ["/olts/1/test/", "/admin/hosts/olt/test/"])
def test_a_part_that_is_asked_for_after_a_log_out_loads_the_page_again(client: Client, path: str) -> None:
    answer = client.post(path, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Refresh"]) == (200, "true")


def test_refused_requests_look_as_the_other_pages_of_errors(rf: Any) -> None:
    with override("es"):
        page = render_refusal(rf.get("/olts/"), database_too_slow())
        api = render_refusal(rf.get("/api/v1/olts/"), database_too_slow())
    assert "facho/error.css" in page.content.decode()
    assert "Intente" in page.content.decode()
    assert api["Content-Type"] == "application/problem+json"
    assert (page["Retry-After"], api["Retry-After"]) == ("30", "30")


def test_a_session_without_its_token_is_refused_in_the_language_of_the_reader() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person(Role.ADMINISTRATOR))
    answer = browser.post("/api/v1/olts/", {}, "application/json", headers={"Accept-Language": "es"})
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert "X-CSRFToken" in answer.json()["detail"]
    assert "CSRF Failed" not in answer.json()["detail"]


def test_the_page_of_a_failure_needs_no_database(rf: Any, django_assert_num_queries: Any) -> None:
    with override("en"), django_assert_num_queries(0):
        answer = server_failed(rf.get("/olts/"))
    assert answer.status_code == 500
    assert b"Something went wrong" in answer.content
