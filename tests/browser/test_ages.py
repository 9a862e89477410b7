"""Ages go on in the browser by the time that passed since the page came."""

from pathlib import Path

from playwright.sync_api import Browser

import facho.web

SCRIPT = Path(facho.web.__file__).parent / "static" / "facho" / "ages.js"
PAGE = '<span class="fd-age" data-stale-after="120"><time data-age="10">10 s</time></span>'
# A tab that was opened in the background, and a clock that can be put forward.
HIDDEN = """() => {
  window.away = true;
  window.later = 0;
  const clock = Date.now();
  Date.now = () => clock + window.later;
  Object.defineProperty(document, "hidden", { get: () => window.away });
}"""
SHOWN = """() => {
  window.later = 600000;
  window.away = false;
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_an_age_counts_the_time_in_which_nobody_saw_the_tab(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(PAGE)
    page.evaluate(HIDDEN)
    page.add_script_tag(path=SCRIPT)
    page.evaluate("document.dispatchEvent(new Event('DOMContentLoaded'))")
    assert page.locator("time").inner_text() == "10 s"
    page.evaluate(SHOWN)
    assert page.locator("time").inner_text() == "10 min 10 s"
    assert "fd-old" in (page.locator("span").get_attribute("class") or "")
    page.close()
