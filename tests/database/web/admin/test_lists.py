"""The lists of the admin: all there is, and nothing to edit that only the system writes."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import unfold
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models import Model
from django.template import Context, Template
from django.template.loader import get_template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from unfold.templatetags import unfold_list
from unfold.widgets import UnfoldBooleanWidget

from facho.apps.access.models import UserPreferences
from facho.apps.discovery.models import Onu
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import SnmpJobOid
from facho.core.roles import Role
from tests.api_clients import person
from tests.sample_rows import fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

OURS = [model for model in apps.get_models() if model.__module__.startswith("facho.")]
# A part of its job's page; and bytes, which charts show.
INLINE = {SnmpJobOid, HistoryFrame, HistoryHour, UserPreferences}
LISTED = [pytest.param(model, id=model.__name__) for model in OURS if model not in INLINE]
WRITTEN_BY_THE_SYSTEM = {
    "Execution",
    "Attempt",
    "SkippedSlots",
    "ExecutionTotals",
    "Onu",
    "OnuEvent",
    "ClockState",
    "Collected",
    "UnreadableRows",
    "VersionCount",
    "PortOutage",
    "PonPort",
    "OltHealth",
    "Uplink",
    "Unprovisioned",
    "OltTraffic",
    "RemoteWriteCursor",
    "RemoteWriteTotals",
    "Worker",
    "Poller",
    "PollerStats",
    "CoordinatorState",
    "StorageSample",
    "TaskForecast",
    "ExecutionPlan",
    "QuotaTracker",
    "QuotaViolation",
    "CoordinatorLog",
    "OltConfiguration",
    "NotificationNotice",
    "NotificationDelivery",
    "AuditEntry",
    "LoginAttempt",
    "LoginAddress",
}


def page_of(model: type[Model], page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


def test_every_model_has_its_page() -> None:
    # The web looks for its pages when its addresses are read.
    import_module(settings.ROOT_URLCONF)
    assert {model for model in OURS if model not in admin.site._registry} == INLINE


def test_a_list_takes_as_many_queries_for_50_rows_as_for_5(admin_client: Client) -> None:
    paths = [page_of(model, "changelist") for model in OURS if model not in INLINE]
    fill(5)
    few = {path: queries_of(admin_client, path) for path in paths}
    fill(45, beginning_at=5)
    assert {path: queries_of(admin_client, path) for path in paths} == few
    assert max(few.values()) <= 12


@pytest.mark.parametrize("model", LISTED)
def test_only_boxes_are_named_boxes_on_a_phone(admin_client: Client, model: type[Model]) -> None:
    """Unfold takes a first column that is no link for the box that selects the row."""
    fill(1)
    page = admin_client.get(page_of(model, "changelist"), headers={"accept-language": "en"}).content.decode()
    assert 'name="_selected_action"' in page or 'data-label="Select record"' not in page


UNFOLDS_LIST = Path(unfold.__file__).with_name("templates") / "admin" / "change_list_results.html"


@pytest.mark.parametrize("model", LISTED)
def test_a_list_looks_as_unfold_makes_it(admin_client: Client, model: type[Model]) -> None:
    """Our template leaves out what unfold asks for each row, and no list here has."""

    def render(template: Any) -> str:
        found = unfold_list.result_list(page.context, page.context["cl"])
        shown = template.render(Context({**found, "request": page.wsgi_request}))
        return re.sub(r"\s+(?=>)", "", re.sub(r"\s*(<[^>]*>)\s*", r"\1", shown))

    fill(3)
    page: Any = admin_client.get(page_of(model, "changelist"))
    ours, plain = get_template("admin/change_list_results.html"), Template(UNFOLDS_LIST.read_text())
    assert render(ours.template) == render(plain)  # type: ignore[attr-defined]  # of Django's engine
    assert 'id="result_list"' in render(plain)


@pytest.mark.parametrize("model", LISTED)
def test_a_list_can_be_searched_or_has_no_box_for_it(admin_client: Client, model: type[Model]) -> None:
    fill(1)
    assert admin_client.get(page_of(model, "changelist"), {"q": "zzz"}).status_code == 200


@pytest.mark.parametrize("model", LISTED)
def test_what_only_the_system_writes_cannot_be_edited(admin_client: Client, model: type[Model]) -> None:
    fill(1)
    row = model._default_manager.get()
    system = model.__name__ in WRITTEN_BY_THE_SYSTEM
    # A brand comes from a profile, and people give it a title.
    is_added = not system and model is not Brand
    assert admin_client.get(page_of(model, "add")).status_code == (200 if is_added else 403)
    assert admin_client.get(page_of(model, "change", row.pk)).status_code == 200
    if system:
        assert admin_client.post(page_of(model, "change", row.pk), {}).status_code == 403
        assert admin_client.post(page_of(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_a_list_is_filtered_by_the_words_that_people_know(admin_client: Client) -> None:
    fill(5)
    spanish = {"accept-language": "es"}
    late = admin_client.get("/admin/executions/execution/?why_late=olt_busy", headers=spanish)
    assert late.context["cl"].result_count == 5
    assert "CPU de la OLT demasiado alta" in late.content.decode()
    onus = admin_client.get("/admin/discovery/onu/?state=los", headers=spanish)
    assert onus.context["cl"].result_count == 0
    assert "sin energía" in onus.content.decode()


def test_the_lease_of_an_execution_is_not_shown(admin_client: Client) -> None:
    fill(1)
    execution = apps.get_model("executions", "Execution").objects.get()
    execution.lease_token = "f00dcafe"
    execution.save()
    assert b"f00dcafe" not in admin_client.get(page_of(type(execution), "change", execution.pk)).content


def test_names_are_shown_as_they_are_and_not_run(admin_client: Client) -> None:
    fill(1)
    olt = apps.get_model("hosts", "Olt").objects.get()
    olt.name = "<script>alert(1)</script>"
    olt.save()
    for model in ("hosts_olt", "snmp_jobs_snmpjobhost", "executions_execution", "discovery_onu"):
        shown = admin_client.get(reverse(f"admin:{model}_changelist")).content.decode()
        assert "<script>alert(1)</script>" not in shown, model
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown, model


def test_a_list_makes_its_heads_once_and_not_for_every_row(admin_client: Client) -> None:
    fill(20)
    with patch.object(UnfoldBooleanWidget, "render", autospec=True, return_value="") as rendered:
        shown = admin_client.get(page_of(Olt, "changelist"))
    assert len(shown.context["cl"].result_list) == 20
    assert rendered.call_count < 5


def test_a_list_offers_to_show_all_only_where_some_are_left_out(admin_client: Client) -> None:
    fill(2)
    whole = admin_client.get(page_of(Onu, "changelist"), headers={"accept-language": "en"})
    assert "Show all" not in whole.content.decode()
    some = admin_client.get(page_of(Onu, "changelist"), {"state": "los"}, headers={"accept-language": "en"})
    assert "Show all" in some.content.decode()


def test_a_million_onus_are_not_sorted_by_what_no_index_has(admin_client: Client) -> None:
    fill(1)
    of_all = admin_client.get(page_of(Onu, "changelist")).context["cl"]
    assert set(of_all.sortable_by) == {"state_badge"}
    of_one = admin_client.get(page_of(Onu, "changelist"), {"olt__id__exact": Olt.objects.get().pk})
    assert "at_onu" in of_one.context["cl"].sortable_by


def test_the_history_of_a_row_is_what_the_audit_log_has_of_it(admin_client: Client) -> None:
    fill(2)
    olt = Olt.objects.order_by("id")[1]
    admin_client.post(
        page_of(Olt, "changelist"), {"action": "disable", "_selected_action": [olt.pk], "reason": "test"}
    )
    assert b"/history/" in admin_client.get(page_of(Olt, "change", olt.pk)).content
    found = admin_client.get(page_of(Olt, "history", olt.pk), follow=True).context["cl"].result_list
    assert {(entry.model, entry.object_id) for entry in found} == {("hosts.olt", olt.pk)}
    assert not LogEntry.objects.exists()


def test_who_may_not_see_the_audit_log_is_offered_no_history(client: Client) -> None:
    fill(1)
    client.force_login(person(Role.OPERATOR))
    olt = Olt.objects.get()
    assert b"/history/" not in client.get(page_of(Olt, "change", olt.pk)).content
    assert client.get(page_of(Olt, "history", olt.pk)).status_code == 403


def test_the_page_of_an_app_and_the_search_for_pages_still_know_its_lists(admin_client: Client) -> None:
    # The sidebar leads to lists too, and to no form.
    assert b"/admin/hosts/olt/add/" in admin_client.get("/admin/hosts/").content
    found = admin_client.get("/admin/search/?s=olt").content
    assert b"/admin/hosts/olt/" in found
    assert b"nav-sidebar" not in found
