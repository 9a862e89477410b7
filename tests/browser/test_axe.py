"""Nothing keeps people from the main pages: neither weak eyes, nor a screen reader, nor having no mouse."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import NOWHERE, PHONE, Visit, Visiting

# Paths, and what is there when the page is.
PAGES = {
    "/coordinator/dashboard/": ".fd-lane",
    "/coordinator/dashboard/?wall=1": ".fd-lane",
    "/olts/": "#olts",
    "/olts/1/": "#onus-online",
    "/olts/1/ports/": "#unprovisioned",
    "/olts/1/collection/": "#facts table",
    "/olts/1/load/": ".fd-chart",
    "/olts/1/events/": "#all-logs",
    "/olts/1/ports/4/": "#onus",
    "/onus/8/": ".fd-chart",
    "/search/?q=cliente+1": ".fd-table",
    "/onus/worst/": ".fd-table",
    "/onus/unprovisioned/": ".fd-table",
    "/start/": "#id_community",
    "/start/1/jobs/": "#id_take_discovery",
    "/start/1/wait/": ".fd-first",
    "/plans/": ".fd-lane",
    "/violations/3/": "#note",
    "/executions/7/": ".fd-table",
    "/preferences/": "main select",
    "/olts/1/disable/": "#reason",
    NOWHERE: "[role=alert]",
    "/admin/": "#content",
    "/admin/hosts/olt/": "#result_list",
    "/admin/snmp_jobs/snmpjob/1/change/": "#id_interval",
    "/admin/snmp_jobs/snmpjob/add/": ".select2-selection[aria-label=Brand]",
}
GRAVE = ("serious", "critical")
STANDARD = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
# All that the night changes.
CONTRAST = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
# A colour that is still changing is not the one that people read.
AT_ONCE = "* { transition: none !important; animation: none !important; }"
# htmx gives the focus back to an element with an id when it replaces the part that has it.
REPLACED_WITHOUT_ID = ", ".join(
    f":is(#live, #timeline, #overview, #part, #facts) {kind}:not([id])"
    for kind in ("a[href]", "button", "input:not([type=hidden])", "select", "summary", "[tabindex]")
)
ON_THE_WAY = ("Search everything", "Puerto-04", "OLT or site", "Health", "Period", "Quotas this hour")


@pytest.mark.parametrize(
    "paths", [list(PAGES)[:10], list(PAGES)[10:]], ids=["watching", "finding and changing"]
)
def test_the_main_pages_have_no_grave_fault_by_day_and_by_night(visit: Visiting, paths: list[str]) -> None:
    found = {}
    for path in paths:
        visitor = visit("admin", language="en")
        expect(visitor.go(path).locator(PAGES[path]).first).to_be_visible()
        found[path] = faults(visitor)
    assert {path: each for path, each in found.items() if each} == {}


def test_the_login_page_has_no_grave_fault(visit: Visiting) -> None:
    visitor = visit(language="es", viewport=PHONE)
    expect(visitor.go("/").locator("#id_password")).to_be_visible()
    assert faults(visitor) == []


def faults(visitor: Visit) -> list[str]:
    """One line for each: the rule, and the element that breaks it."""
    page = visitor.page
    page.add_style_tag(content=AT_ONCE)
    by_day = _faults(page, STANDARD)
    # What the frame does for whoever has a dark screen.
    page.evaluate("document.documentElement.classList.add('dark')")
    return by_day + [f"by night, {fault}" for fault in _faults(page, CONTRAST)]


def _faults(page: Page, options: dict[str, list[str]]) -> list[str]:
    told = Axe().run(page, options=options).response["violations"]
    grave = [rule for rule in told if rule["impact"] in GRAVE]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in grave for node in rule["nodes"]]


def test_all_that_a_mouse_opens_is_reached_by_the_keyboard(visit: Visiting) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go("/coordinator/dashboard/")
    expect(page.locator(".fd-lane").first).to_be_visible()
    reached = tabbed_through(page)
    for shown in ON_THE_WAY:
        assert any(shown in each for each in reached), shown
    assert page.locator(REPLACED_WITHOUT_ID).evaluate_all("found => found.map(one => one.outerHTML)") == []
    page.locator("[role=button]", has_text="unfold_more").focus()
    page.keyboard.press("Enter")
    log_out = page.get_by_role("button", name="Log out")
    # The menu opens in a later task of the browser; until then Shift+Tab goes past it.
    expect(log_out).to_be_visible()
    page.keyboard.press("Shift+Tab")
    expect(log_out).to_be_focused()
    assert not visitor.complaints


@pytest.mark.parametrize("tab", ["", "ports/", "collection/", "load/", "events/"])
def test_nobody_loses_their_place_on_a_tab_of_an_olt_when_it_is_refreshed(visit: Visiting, tab: str) -> None:
    visitor = visit("admin", language="en")
    page = visitor.go(f"/olts/1/{tab}")
    expect(page.locator("#part section").first).to_be_visible()
    found = page.locator(REPLACED_WITHOUT_ID)
    assert found.evaluate_all("found => found.map(one => one.outerHTML)") == []
    ids = page.locator("[id]").evaluate_all("found => found.map(one => one.id)")
    assert sorted(ids) == sorted(set(ids))
    assert not visitor.complaints


def tabbed_through(page: Page) -> list[str]:
    """The names of what one comes by; each one shows that one is there."""
    reached: list[str] = []
    page.locator("body").focus()
    while len(reached) < 150:
        page.keyboard.press("Tab")
        name, outline = page.evaluate(WHERE)
        if name is None:
            return reached
        assert outline != "none", name
        reached.append(name)
    return reached


WHERE = """() => {
    const one = document.activeElement;
    if (one === document.body) return [null, null];
    return [one.getAttribute("aria-label") || one.textContent.trim(), getComputedStyle(one).outlineStyle];
}"""


def test_a_node_is_run_by_tab_and_enter(visit: Visiting) -> None:
    visitor = visit("operator", language="en")
    page = visitor.go("/olts/5/collection/")
    page.get_by_role("link", name="All OLTs").focus()
    run = page.get_by_role("button", name="Run Discovery Huawei now")
    for _ in range(30):
        if run.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("runs next")).to_be_visible()
    assert not visitor.complaints
