"""A real server with sample rows, and people who look at it with a real browser."""

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.services import pattern
from tests.services.process import LOOPBACK, running
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

SAMPLE = Path(__file__).with_name("sample.py")
PASSWORD = "a-long-password-7"
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# What docs/ shows, of what is shot: as much as the window has. Made anew when TESTS_PICTURES is set.
PICTURES = {
    "start-olt": "first-run-olt",
    "start-jobs": "first-run-jobs",
    "start-wait": "first-run-onus",
    "dashboard-en-1280-light": "dashboard",
    "olts-1-en-1280-light": "olt",
    "olts-1-traffic-en-1280-light": "olt-traffic",
    "olts-1-hardware-en-1280-light": "olt-hardware",
    "onus-8-en-1280-light": "onu",
}
DOCS = Path(__file__).parents[2] / "docs" / "pictures"
BROKEN_OFF = "net::ERR_ABORTED"
# An address without a page, for the page that says so. The server logs it as any other.
NOWHERE = "/nowhere/"
# On every page: what is written in is complained of, be it a script or what it does on an event.
NOTHING_INLINE = """addEventListener("DOMContentLoaded", () => {
    const isInline = (one) => one.tagName === "SCRIPT" && !one.src && !one.type.endsWith("json")
        || one.getAttributeNames().some((name) => name.startsWith("on"));
    [...document.querySelectorAll("*")].filter(isInline).forEach(
        (one) => console.error(`inline: ${one.outerHTML.slice(0, 200)}`));
});"""


@dataclass(frozen=True)
class Look:
    """Who looks at a page, and with what."""

    who: str
    language: str
    width: int
    height: int
    dark: bool


@dataclass(frozen=True)
class Site:
    """A running server. `shots` is the folder for pictures of its pages, which TESTS_SHOTS names."""

    url: str
    environment: dict[str, str]
    shots: Path | None
    cookies: dict[str, Any] = field(default_factory=dict)
    contexts: dict[Look, "BrowserContext"] = field(default_factory=dict)

    def sample(self, what: str) -> None:
        add_sample(what, self.environment)


def add_sample(what: str, environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, SAMPLE, what], env=environment, check=True, timeout=PATIENCE_S)


@dataclass(frozen=True)
class Visit:
    """A page that somebody has open. `complaints` is what its console said and what it could not load."""

    page: "Page"
    context: "BrowserContext"
    complaints: list[str]
    site: Site

    def go(self, path: str) -> "Page":
        self.page.goto(self.site.url + path)
        return self.page

    def is_wider_than_the_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def is_higher_than_the_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollHeight > window.innerHeight"))

    def shoot(self, name: str) -> None:
        if self.site.shots is not None:
            self.page.screenshot(path=self.site.shots / f"{name}.png", full_page=True)
        if "TESTS_PICTURES" in os.environ and name in PICTURES:
            self.page.screenshot(path=DOCS / f"{PICTURES[name]}.png")


Visiting = Callable[..., Visit]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(pattern.home(), home)
    environment = {
        **os.environ,
        "FACHO_HOME": str(home),
        "FACHO_DATABASE_URL": f"sqlite:///{home / 'facho.db'}",
        "DJANGO_SETTINGS_MODULE": "facho.settings",
        "PYTHONWARNINGS": "error",
        # The samples' worker is seen once.
        "FACHO_WORKER_SEEN_WITHIN": "1h",
        # No OLT of theirs answers: nobody waits for that.
        "FACHO_REQUEST_TIMEOUT": "1s",
        "FACHO_REQUEST_RETRIES": "0",
    }
    shots = os.environ.get("TESTS_SHOTS")
    add_sample("fill", environment)
    # Until the server has the port, others may take it: it is chosen last.
    port = free_port()
    site = Site(f"http://{LOOPBACK}:{port}", environment, Path(shots) if shots else None)
    argv = [
        sys.executable,
        "-m",
        "uvicorn",
        "facho.asgi:application",
        "--host",
        LOOPBACK,
        "--port",
        str(port),
    ]
    log = home / "web.log"
    with running(
        [*argv, "--log-level", "warning"], log=log, answers=answers(site.url), env=environment, seconds=60
    ):
        yield site
    said = [line for line in log.read_text().splitlines() if line != f"Not Found: {NOWHERE}"]
    assert not said, "the server complained"


@pytest.fixture
def visit(site: Site, browser: "Browser") -> Iterator[Visiting]:
    """Opens a page as somebody: `visit("admin", language="es", viewport=PHONE, dark=True)`."""
    with visiting(site, browser) as visit:
        yield visit


@contextlib.contextmanager
def visiting(site: Site, browser: "Browser") -> Iterator[Visiting]:
    with contextlib.ExitStack() as stack:

        def open_page(
            who: str = "",
            *,
            language: str = "es",
            viewport: dict[str, int] = DESKTOP,
            dark: bool = False,
            alone: bool = False,
        ) -> Visit:
            look = Look(who, language, viewport["width"], viewport["height"], dark)
            context = _context(site, browser, look) if alone else _shared(site, browser, look)
            visitor = _watched(context, site)
            stack.callback(context.close if alone else visitor.page.close)
            return visitor

        yield open_page


def _shared(site: Site, browser: "Browser", look: Look) -> "BrowserContext":
    """It has the scripts and the fonts already. Whoever changes what a browser keeps has one `alone`."""
    if look not in site.contexts:
        site.contexts[look] = _context(site, browser, look)
    return site.contexts[look]


def _context(site: Site, browser: "Browser", look: Look) -> "BrowserContext":
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        locale=look.language,
        color_scheme="dark" if look.dark else "light",
        storage_state=_state(site, browser, look.who) if look.who else None,
    )
    context.add_init_script(NOTHING_INLINE)
    return context


def _watched(context: "BrowserContext", site: Site) -> Visit:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    # Whoever goes on to another page breaks off what this one was asking.
    page.on(
        "requestfailed",
        lambda one: complaints.append(f"failed: {one.url}") if one.failure != BROKEN_OFF else None,
    )
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    elsewhere = f"loaded from elsewhere than {site.url}: "
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((site.url, "data:"))
            else complaints.append(elsewhere + request.url)
        ),
    )
    return Visit(page, context, complaints, site)


def _state(site: Site, browser: "Browser", who: str) -> Any:
    """The cookies of somebody who has logged in; each of them does it once."""
    if who not in site.cookies:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{site.url}/")
        page.fill("#id_username", who)
        page.fill("#id_password", PASSWORD)
        page.press("#id_password", "Enter")
        page.wait_for_url("**/coordinator/dashboard/")
        site.cookies[who] = context.storage_state()
        context.close()
    return site.cookies[who]


def answers(url: str) -> Callable[[], bool]:
    def ask() -> bool:
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            urllib.request.urlopen(f"{url}/admin/login/", timeout=20) as answer,
        ):
            return bool(answer.status == 200)
        return False

    return ask


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
