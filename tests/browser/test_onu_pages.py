"""The ONU page, the worst ONUs, those that wait and the search, as people see them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Visiting
from tests.browser.test_pages import shot

PAGES = {
    "onus/8": "HWTC00000007",
    "onus/8/?days=7": "0/1/7:7",
    "onus/worst": "HWTC00000027",
    "onus/worst/?by=flaps": "HWTC00000007",
    "onus/unprovisioned": "HWTC0000BEEF",
    "search/?q=cliente+1": "HWTC00000001",
    "search/?q=centro": "10.0.0.1",
    "search/?q=nobody-is-called-so": "nobody-is-called-so",
}


@pytest.mark.parametrize(
    ("language", "viewport", "dark"),
    [
        pytest.param("es", PHONE, True, id="es-phone-dark"),
        pytest.param("en", DESKTOP, False, id="en-desktop-light"),
    ],
)
def test_the_pages_of_onus_read_well(
    visit: Visiting, language: str, viewport: dict[str, int], dark: bool
) -> None:
    visitor = visit("viewer", language=language, viewport=viewport, dark=dark)
    for path, shown in PAGES.items():
        page = visitor.go(f"/{path}" if "?" in path else f"/{path}/")
        expect(page.locator(".fd").get_by_text(shown).first).to_be_visible()
        visitor.shoot(shot(re.sub(r"\W+", "-", path), language, viewport, dark))
        assert not visitor.is_wider_than_the_window(), path
    assert not visitor.complaints


def test_an_outage_of_yesterday_makes_the_page_no_wider(visit: Visiting) -> None:
    """Its date is longer than the time of one of today."""
    visitor = visit("viewer", language="en", viewport=DESKTOP)
    page = visitor.go("/onus/worst/?by=flaps")
    last = page.locator("td[data-label='Last time']").first
    last.evaluate("cell => { cell.textContent = '2026-11-18 23:58:11' }")
    expect(last).to_have_text("2026-11-18 23:58:11")
    visitor.shoot("onus-worst-by-flaps-of-yesterday")
    assert not visitor.is_wider_than_the_window()


def test_a_slash_leads_to_the_search_and_a_serial_to_its_onu(visit: Visiting) -> None:
    visitor = visit("viewer")
    page = visitor.go("/onus/worst/")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("HWTC/00000007".replace("/", "-"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/onus/8/")
    assert not visitor.complaints
