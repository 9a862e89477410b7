"""The pages as people see them: in their language, on a desk and on a phone, by day and by night."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Visiting

EVERYBODY = [
    pytest.param("es", DESKTOP, True, id="es-desktop-dark"),
    pytest.param("es", PHONE, False, id="es-phone-light"),
    pytest.param("en", DESKTOP, False, id="en-desktop-light"),
    pytest.param("en", PHONE, True, id="en-phone-dark"),
]
TWO = [
    pytest.param("es", PHONE, True, id="es-phone-dark"),
    pytest.param("en", DESKTOP, False, id="en-desktop-light"),
]
LISTS = {
    "hosts/olt": "Centro-01",
    "discovery/onu": "HWTC0000",
    "discovery/onuevent": "0/1/3:12",
    "chassis/ponport": "0/1/5",
    "chassis/olthealth": "H801SCUN",
    "chassis/uplink": "0/9/1",
    "chassis/unprovisioned": "HWTC0000BEEF",
    "snmp_jobs/snmpjob": "Optics Huawei",
    "snmp_jobs/snmpjobhost": "Optics Huawei",
    "executions/execution": "Centro-01",
    "zabbix_pollers/poller": "host-a:4711",
    "execution_coordinator/quotatracker": "get_onu_rx_dbm",
    "execution_coordinator/quotaviolation": "Puerto-04",
    "execution_coordinator/coordinatorlog": "GLOBAL",
}
FORMS = {"hosts/olt/1/change": "10.0.0.1", "snmp_jobs/snmpjob/2/change": "5 min"}
READINGS = {
    "executions/execution/7/change": "Puerto-04",
    "execution_coordinator/quotatracker/8/change": "time-out: no answer to 3 requests",
    "execution_coordinator/quotaviolation/2/change": "get_description_and_another_long_name",
    "execution_coordinator/coordinatorlog/1/change": "Optics Huawei",
    "execution_coordinator/oltconfiguration/1/change": "Ñuñoa",
}
TITLES = {"es": "Ejecuciones recientes", "en": "Recent executions"}


def shot(name: str, language: str, viewport: dict[str, int], dark: bool) -> str:
    return f"{name}-{language}-{viewport['width']}-{'dark' if dark else 'light'}".replace("/", "-")


@pytest.mark.parametrize(("language", "viewport", "dark"), EVERYBODY)
def test_the_dashboard_reads_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    page = visitor.go("/coordinator/dashboard/")
    expect(page.get_by_role("heading", name=TITLES[language])).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator(".fd-lane").first).to_be_visible()
    visitor.shoot(shot("dashboard", language, viewport, dark))
    assert not visitor.is_wider_than_the_window()
    if viewport == DESKTOP:
        assert not visitor.is_higher_than_the_window()
        assert page.locator("#nav-sidebar-apps").evaluate("menu => menu.scrollHeight <= menu.clientHeight")
    assert not visitor.complaints


@pytest.mark.parametrize("viewport", [{"width": 1920, "height": 1080}, {"width": 1440, "height": 900}])
def test_a_wall_fills_one_screen_without_a_frame(visit: Visiting, viewport: dict[str, int]) -> None:
    visitor = visit("viewer", language="es", viewport=viewport)
    page = visitor.go("/coordinator/dashboard/")
    page.get_by_role("link", name="Pantalla mural").click()
    expect(page.locator(".fd-lane").first).to_be_visible()
    expect(page.locator("nav").first).to_be_hidden()
    clock = page.locator(".fd-clock")
    # It ticks.
    expect(clock).not_to_have_text(clock.inner_text())
    expect(page.locator(".fd-wall-head small")).to_have_text("UTC")
    visitor.shoot(f"wall-{viewport['width']}")
    assert not visitor.is_wider_than_the_window()
    assert not visitor.is_higher_than_the_window()
    assert not visitor.complaints


@pytest.mark.parametrize(("language", "viewport", "dark"), TWO)
def test_the_lists_of_the_admin_read_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    for path, shown in LISTS.items():
        page = visitor.go(f"/admin/{path}/")
        expect(page.locator("#result_list").get_by_text(shown).first).to_be_visible()
        visitor.shoot(shot(path, language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
    assert not visitor.complaints


@pytest.mark.parametrize(("language", "viewport", "dark"), TWO)
def test_the_forms_of_the_admin_read_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    for path, shown in FORMS.items():
        page = visitor.go(f"/admin/{path}/")
        assert shown in page.locator("form input").evaluate_all("all => all.map(one => one.value)")
        visitor.shoot(shot(path, language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
    assert not visitor.complaints


@pytest.mark.parametrize(("language", "viewport", "dark"), TWO)
def test_what_only_the_system_writes_reads_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    for path, shown in READINGS.items():
        page = visitor.go(f"/admin/{path}/")
        expect(page.locator(".readonly").get_by_text(shown).first).to_be_visible()
        visitor.shoot(shot(path, language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
    assert not visitor.complaints


def test_the_login_page_says_whose_it_is(visit: Visiting) -> None:
    visitor = visit(language="es", viewport=PHONE)
    page = visitor.go("/")
    expect(page.get_by_role("button", name="Iniciar sesión")).to_be_visible()
    expect(page.get_by_text("Facho Deluxe")).to_be_visible()
    visitor.shoot("login")
    assert not visitor.is_wider_than_the_window()
    assert not visitor.complaints


def test_the_page_of_the_api_shows_what_can_be_asked(visit: Visiting) -> None:
    visitor = visit("admin")
    page = visitor.go("/api/v1/docs/")
    page.get_by_role("link", name="nodes", exact=True).click()
    expect(page.locator('[data-path*="nodes/{id}/run"]').first).to_be_visible()
    visitor.shoot("api-docs")
    assert not visitor.complaints
