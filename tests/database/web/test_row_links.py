"""Rows lead to pages, lists are exported as they are filtered, and errors are explained."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.access.error_pages import server_failed
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


def test_who_may_not_see_a_list_cannot_export_it(viewer: Client) -> None:
    assert viewer.get(reverse("admin:access_auditentry_export")).status_code == 403


def test_a_missing_page_is_explained_in_the_language_of_the_reader(viewer: Client) -> None:
    answer = viewer.get("/executions/99999999/", headers={"Accept-Language": "es"})
    assert answer.status_code == 404
    assert "Esta página no existe" in answer.content.decode()
    assert "No Execution matches" not in answer.content.decode()


def test_the_page_of_a_failure_needs_no_database(rf: Any, django_assert_num_queries: Any) -> None:
    with override("en"), django_assert_num_queries(0):
        answer = server_failed(rf.get("/olts/"))
    assert answer.status_code == 500
    assert b"Something went wrong" in answer.content
