"""The pages of OLTs and ports as people see them, and what a button does while somebody looks."""

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import PHONE, Visiting
from tests.browser.test_pages import TWO, shot

PAGES = {
    "/olts/": "Cerro-con-un-nombre-bastante-largo-05",
    "/olts/1/": "MA5800V100R019C10",
    "/olts/4/": "10.0.0.4",
    "/olts/1/ports/4/?sort=power": "HWTC0000A00C",
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


SWAPPED = """() => new Promise((done) => {
    document.addEventListener("htmx:afterRequest", done, { once: true });
    window.release();
})"""


def test_a_button_that_is_pressed_while_the_page_is_refreshed_is_not_replaced(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/olts/5/")
    polls: list[Route] = []
    page.expose_function("release", lambda: polls[0].continue_())
    page.route("**/olts/5/live/", lambda route: polls.append(route))  # no builtin may be given
    button = page.get_by_role("button", name="Run Discovery Huawei now")
    with page.expect_request("**/olts/5/live/"):
        pass
    button.hover()
    page.mouse.down()
    page.evaluate(SWAPPED)
    page.mouse.up()
    expect(page.get_by_text("runs next")).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")
    assert not visitor.complaints


def test_a_button_says_what_came_of_it_and_the_page_goes_on_by_itself(visit: Visiting) -> None:
    visitor = visit("admin", language="en", viewport=PHONE)
    page = visitor.go("/olts/5/")
    page.get_by_role("link", name="Disable Optics Huawei").click()
    page.get_by_label("Reason").fill("too slow")
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("Optics Huawei is disabled on this OLT.")).to_be_visible()
    enable = page.get_by_role("button", name="Enable Optics Huawei")
    enable.focus()
    with page.expect_response("**/olts/5/live/"):
        pass
    # The part was replaced, and whoever uses the keyboard is where they were.
    expect(page.get_by_role("button", name="Enable Optics Huawei")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Optics Huawei is enabled")).to_be_visible()
    assert not visitor.complaints
