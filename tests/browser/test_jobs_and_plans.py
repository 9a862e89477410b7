"""What an operator does before a job is saved, and with the hours that come and went, in both languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting


@pytest.mark.parametrize(
    ("language", "preview", "warning", "outdated"),
    [
        ("en", "Preview", "“Optics Huawei” already asks for Power at the ONU on", "Out of date"),
        ("es", "Vista previa", "«Optics Huawei» ya pide Potencia en la ONU en", "Desactualizada"),
    ],
)
def test_a_job_for_a_site_is_previewed_while_its_facts_are_picked(
    visit: Visiting, language: str, preview: str, warning: str, outdated: str
) -> None:
    visitor = visit("admin", language=language)
    page = visitor.go("/admin/snmp_jobs/snmpjob/add/")
    page.fill("#id_name", "power")
    page.select_option("#id_kind", "get")
    page.fill("#id_interval", "15 min")
    expect(page.locator("#id_site")).to_be_hidden()
    page.select_option("#id_target", "site")
    page.select_option("#id_site", "Antofagasta")
    power = page.locator("input[value=onu_rx_dbm]")
    page.locator(".fd-picker details", has=power).locator("summary").click()
    power.check()
    page.get_by_role("button", name=preview).click()
    expect(page.locator("#what-if")).to_contain_text(warning)
    expect(page.locator("#what-if").get_by_role("cell", name="Centro-01")).to_be_in_viewport()
    page.locator("#id_name").scroll_into_view_if_needed()
    expect(page.get_by_text(warning)).to_be_in_viewport()
    visitor.shoot(f"job-preview-{language}")
    expect(page.get_by_text(outdated, exact=True)).to_be_hidden()
    page.fill("#id_interval", "20 min")
    expect(page.get_by_text(outdated, exact=True)).to_be_visible()
    page.get_by_role("button", name=preview).click()
    expect(page.get_by_text(outdated, exact=True)).to_be_hidden()
    assert not visitor.complaints


@pytest.mark.parametrize(
    ("language", "menu", "conflicts", "previous", "acknowledge", "number"),
    [
        ("en", "Next 60 minutes", "with conflicts", "previous hour", "Acknowledge", 1),
        ("es", "Próximos 60 minutos", "con conflictos", "hora anterior", "Reconocer", 2),
    ],
)
def test_from_the_next_hour_to_a_violation_of_the_last_one(
    visit: Visiting, language: str, menu: str, conflicts: str, previous: str, acknowledge: str, number: int
) -> None:
    visitor = visit("admin", language=language)
    page = visitor.go("/coordinator/dashboard/")
    page.locator("#nav-sidebar").get_by_role("link", name=menu).click()
    lanes = page.locator(".fd-ahead .fd-lane:not(.fd-lane-times)")
    expect(lanes.first).to_contain_text("Centro-01")
    page.select_option("#plans-conflicts", label=conflicts)
    expect(lanes).to_have_count(1)
    visitor.shoot(f"plans-{language}")
    page = visitor.go("/admin/execution_coordinator/quotatracker/?period_start=previous")
    expect(page.locator("a", has_text=previous).first).to_be_attached()
    page = visitor.go("/admin/execution_coordinator/quotaviolation/")
    page.locator(f'#result_list a[href="/violations/{number}/"]').first.click()
    page.fill("#note", "se cambió la tarjeta")
    visitor.shoot(f"violation-{language}")
    page.get_by_role("button", name=acknowledge).click()
    expect(page.locator("dl")).to_contain_text("se cambió la tarjeta")
    expect(page.locator("#note")).to_have_count(0)
    assert not visitor.complaints
