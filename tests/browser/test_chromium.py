"""The browser of these tests is a real one."""

import pytest
from playwright.sync_api import Browser

pytest_plugins = ["pytester"]


def test_it_renders_a_page(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 300})
    page.goto("data:text/html,<h1>An OLT</h1><script>document.title = 2 * 21</script>")
    assert page.title() == "42"
    box = page.get_by_role("heading", name="An OLT").bounding_box()
    assert box is not None
    assert box["height"] > 0
    page.close()


WITH_COROUTINES = """
import asyncio

def test_with_a_browser(browser): pass
def test_with_coroutines(): asyncio.run(asyncio.sleep(0))
"""


@pytest.mark.usefixtures("services_elsewhere")
def test_its_event_loop_is_not_in_the_way_of_tests_without_it(
    browser: Browser, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(WITH_COROUTINES)
    pytester.runpytest_subprocess("-p", "tests.services.plugin").assert_outcomes(passed=2)
