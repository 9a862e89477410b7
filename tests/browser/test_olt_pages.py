"""The pages of OLTs and ports as people see them, and what a button does while somebody looks."""

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import DESKTOP, PHONE, Visiting
from tests.browser.test_pages import TWO, shot

PAGES = {
    "/olts/": "Cerro-con-un-nombre-bastante-largo-05",
    "/olts/1/": "MA5800V100R019C10",
    "/olts/1/ports/": "GPON 0/1/5",
    "/olts/1/traffic/?hours=168": "ethernet0/9/1",
    "/traffic/": "0/1/3",
    "/olts/1/collection/": "gpon_optics.olt_rx_dbm",
    "/olts/1/hardware/": "H805GPFD",
    "/olts/1/parts/7/": "H801SCUN",
    "/olts/1/uplinks/2/": "to the core, second way",
    "/olts/1/load/": "SNMP",
    "/olts/1/events/": "HWTC00000007",
    "/olts/4/": "10.0.0.4",
    "/olts/4/collection/": "10.0.0.4",
    "/olts/1/ports/4/?sort=power&days=7": "HWTC0000A00C",
}


@pytest.mark.parametrize(("language", "viewport", "dark"), TWO)
def test_they_read_well(visit: Visiting, language: str, viewport: dict[str, int], dark: bool) -> None:
    visitor = visit("admin", language=language, viewport=viewport, dark=dark)
    for path, shown in PAGES.items():
        page = visitor.go(path)
        expect(page.locator(".fd").get_by_text(shown).first).to_be_visible()
        visitor.shoot(shot(path.partition("?")[0].strip("/"), language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
    assert not visitor.complaints


@pytest.mark.parametrize(("viewport", "most"), [(DESKTOP, 1500), (PHONE, 2500)])
@pytest.mark.parametrize("olt", [1, 4], ids=["with problems", "suspended"])
def test_the_overview_of_an_olt_is_short(
    visit: Visiting, olt: int, viewport: dict[str, int], most: int
) -> None:
    visitor = visit("admin", language="es", viewport=viewport)
    page = visitor.go(f"/olts/{olt}/")
    expect(page.locator("#onus-all")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") <= most
    assert not visitor.complaints


TABS = {
    "en": ("Overview", "ONUs and ports", "Traffic", "Hardware", "Collection", "Load", "Events"),
    "es": ("Resumen", "ONUs y puertos", "Tráfico", "Hardware", "Recolección", "Carga", "Eventos"),
}
ADDRESSES = (
    "/olts/1/",
    "/olts/1/ports/",
    "/olts/1/traffic/",
    "/olts/1/hardware/",
    "/olts/1/collection/",
    "/olts/1/load/",
    "/olts/1/events/",
)


@pytest.mark.parametrize("language", TABS)
def test_the_tabs_are_walked_through_by_keyboard_and_loaded_again(visit: Visiting, language: str) -> None:
    visitor = visit("viewer", language=language)
    page = visitor.go("/olts/1/")
    for name, address in zip(TABS[language][1:], ADDRESSES[1:], strict=True):
        # From the tab that is open to the next one.
        page.locator(".fd-tabs [aria-current=page]").focus()
        page.keyboard.press("Tab")
        expect(page.locator(".fd-tabs").get_by_role("link", name=name, exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_url(visitor.site.url + address)
        expect(page.locator(".fd-tabs [aria-current=page]")).to_have_text(name)
        page.reload()
        expect(page.locator(".fd-tabs [aria-current=page]")).to_have_text(name)
        expect(page.locator("#live").get_by_role("heading", name="Centro-01")).to_be_visible()
    page.go_back()
    expect(page.locator(".fd-tabs [aria-current=page]")).to_have_text(TABS[language][-2])
    assert not visitor.complaints


@pytest.mark.parametrize(
    ("language", "offline", "weak"),
    [("en", "ONUs offline", "Weak ONUs"), ("es", "ONUs fuera de línea", "ONUs débiles")],
)
def test_the_numbers_of_an_olt_lead_to_the_lists_of_these_onus(
    visit: Visiting, language: str, offline: str, weak: str
) -> None:
    visitor = visit("operator", language=language)
    page = visitor.go("/olts/1/")
    for title, link in ((offline, "#onus-offline"), (weak, "#onus-weak")):
        expect(page.locator(".fd-card", has=page.get_by_text(title, exact=True))).to_be_visible()
        number = int(page.locator(link).inner_text())
        assert number
        page.locator(link).click()
        expect(page.locator("#result_list tbody tr")).to_have_count(number)
        page.go_back()
    assert not visitor.complaints


def test_an_action_leads_back_to_the_tab_where_it_was_chosen(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/olts/5/events/")
    address = page.url
    page.get_by_role("link", name="Disable…", exact=True).click()
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(address)
    page.get_by_role("link", name="Disable…", exact=True).click()
    page.get_by_label("Reason").fill("new board")
    page.get_by_role("button", name="Disable").click()
    expect(page).to_have_url(address)
    expect(page.locator("#live").get_by_text("new board")).to_be_visible()
    page.get_by_role("button", name="Undo: enable it again").click()
    expect(page.get_by_text("is enabled: its nodes run after one interval.")).to_be_visible()
    expect(page).to_have_url(address)
    assert not visitor.complaints


SWAPPED = """() => new Promise((done) => {
    document.addEventListener("htmx:afterRequest", done, { once: true });
    window.release();
})"""


def test_a_button_that_is_pressed_while_the_page_is_refreshed_is_not_replaced(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/olts/5/collection/")
    polls: list[Route] = []
    page.expose_function("release", lambda: polls[0].continue_())
    page.route("**/olts/5/collection/part/", lambda route: polls.append(route))  # no builtin may be given
    button = page.get_by_role("button", name="Run Discovery Huawei now")
    with page.expect_request("**/olts/5/collection/part/"):
        pass
    button.hover()
    page.mouse.down()
    page.evaluate(SWAPPED)
    page.mouse.up()
    expect(page.get_by_text("runs next")).to_be_visible()
    expect(page).to_have_url(f"{visitor.site.url}/olts/5/collection/")
    page.unroute_all(behavior="ignoreErrors")
    assert not visitor.complaints


def test_a_button_says_what_came_of_it_and_the_page_goes_on_by_itself(visit: Visiting) -> None:
    visitor = visit("admin", language="en", viewport=PHONE)
    page = visitor.go("/olts/5/collection/")
    page.get_by_role("link", name="Disable Optics Huawei").click()
    page.get_by_label("Reason").fill("too slow")
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("Optics Huawei is disabled on this OLT.")).to_be_visible()
    enable = page.get_by_role("button", name="Enable Optics Huawei")
    enable.focus()
    with page.expect_response("**/olts/5/collection/part/"):
        pass
    # The part was replaced, and whoever uses the keyboard is where they were.
    expect(page.get_by_role("button", name="Enable Optics Huawei")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Optics Huawei is enabled")).to_be_visible()
    assert not visitor.complaints
