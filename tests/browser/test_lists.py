"""Where rows of lists lead, what is exported, and what is said when something fails, in both languages."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, NOWHERE, PHONE, Visiting
from tests.browser.test_pages import EVERYBODY, shot

PAGES = {
    "/plans/": ".fd-lane",
    "/violations/3/": "#note",
    "/executions/7/": ".fd-table",
    "/preferences/": "main select",
    "/olts/1/disable/": "#reason",
    NOWHERE: "[role=alert]",
}


def choose_row(page: Page, text: str) -> None:
    page.locator("#result_list").get_by_role("link", name=text, exact=True).first.click()


@pytest.mark.parametrize(("language", "executions"), [("en", "Executions"), ("es", "Ejecuciones")])
def test_rows_lead_from_a_list_to_the_execution_and_on_to_the_olt(
    visit: Visiting, language: str, executions: str
) -> None:
    visitor = visit("viewer", language=language, viewport=DESKTOP)
    page = visitor.go("/coordinator/dashboard/")
    page.locator("#nav-sidebar").get_by_role("link", name=executions, exact=True).click()
    choose_row(page, "7")
    expect(page).to_have_url(f"{visitor.site.url}/executions/7/")
    page.locator("#execution-olt").click()
    expect(page.locator("#live h2").first).to_be_visible()
    page = visitor.go("/admin/execution_coordinator/quotatracker/")
    choose_row(page, "Centro-01")
    expect(page).to_have_url(f"{visitor.site.url}/olts/1/")
    assert not visitor.complaints


@pytest.mark.parametrize(("language", "export"), [("en", "Export"), ("es", "Exportar")])
def test_a_list_is_exported_as_it_is_filtered(
    visit: Visiting, language: str, export: str, tmp_path: Path
) -> None:
    visitor = visit("viewer", language=language, viewport=PHONE if language == "es" else DESKTOP)
    page = visitor.go("/olts/")
    # Typed key by key: the list follows the keys.
    page.locator("#olts-text").press_sequentially("Centro-01")
    expect(page.locator("#olts tbody tr")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name=export, exact=True).click()
    rows = saved(download.value, tmp_path)
    assert [row.split(",")[1] for row in rows[1:]] == ["Centro-01"]
    page = visitor.go("/admin/discovery/onu/?olt__id__exact=2")
    with page.expect_download() as download:
        page.locator("#export").click()
    rows = saved(download.value, tmp_path)
    assert len(rows) > 1
    assert {row.split(",")[1] for row in rows[1:]} == {"Norte-02"}
    assert not visitor.complaints


def saved(download: object, folder: Path) -> list[str]:
    path = folder / "list.csv"
    download.save_as(path)  # type: ignore[attr-defined]  # as Playwright has it
    return path.read_text().splitlines()


@pytest.mark.parametrize(
    ("language", "preview", "missing", "refused"),
    [
        ("en", "Preview", "This page does not exist", "too many requests: try again in 21 seconds"),
        ("es", "Vista previa", "Esta página no existe", "demasiadas solicitudes: intente en 21 segundos"),
    ],
)
def test_what_fails_says_so_in_the_language_of_the_reader(
    visit: Visiting, language: str, preview: str, missing: str, refused: str
) -> None:
    visitor = visit("admin", language=language)
    page = visitor.go(NOWHERE)
    expect(page.get_by_role("heading")).to_have_text(missing)
    page = visitor.go("/admin/snmp_jobs/snmpjob/1/change/")
    body = f'<main><p role="alert">{refused}</p></main>'
    page.route("**/change/", lambda route: route.fulfill(status=429, body=body, content_type="text/html"))
    page.get_by_role("button", name=preview).click()
    expect(page.locator("#what-if")).to_have_text(refused)
    page.unroute_all()
    page = visitor.go("/olts/")
    page.route(
        "**/olts/?text=*", lambda route: route.fulfill(status=429, body=body, content_type="text/html")
    )
    page.locator("#olts-text").press_sequentially("N")
    expect(page.locator("#unheard")).to_have_text(refused)


@pytest.mark.parametrize(("language", "viewport", "dark"), EVERYBODY)
def test_the_pages_of_lists_read_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    for path, sign in PAGES.items():
        page = visitor.go(path)
        expect(page.locator(sign).first).to_be_visible()
        visitor.shoot(shot(path.strip("/"), language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
