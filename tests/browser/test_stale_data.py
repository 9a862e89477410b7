"""Open pages say by themselves that the engine was killed or an OLT is silent, until it is over."""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from playwright.sync_api import Browser, Page, expect

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.browser.conftest import Site, Visiting, add_sample, answers, free_port, visiting
from tests.integration.own_facho import OwnFacho
from tests.services import pattern, warm
from tests.services.process import LOOPBACK, running
from tests.waiting import wait_until

# Nothing here is quick on a busy machine, and nothing costs more than it takes.
SOON = 180_000
OLT = "Sur-02"


@dataclass(frozen=True)
class Words:
    stopped: str
    read: str
    refused: re.Pattern[str]
    silent: str
    unknown: str
    online: str


WORDS = {
    "en": Words(
        stopped="The engine has been stopped for",
        read="Read now",
        refused=re.compile("no poller is alive", re.IGNORECASE),
        silent=f"The OLT {OLT} has",
        unknown="unknown (OLT down)",
        online="online",
    ),
    "es": Words(
        stopped="El motor está detenido desde hace",
        read="Leer ahora",
        refused=re.compile("ningún poller activo", re.IGNORECASE),
        silent=f"La OLT {OLT} ",
        unknown="desconocido (OLT caída)",
        online="en línea",
    ),
}


@dataclass
class Apart:
    """A system whose engine and web are processes of their own, with one simulated OLT."""

    site: Site
    facho: OwnFacho
    fleet: FleetProcess
    output: IO[bytes]
    engine: warm.Process | None = None

    def start_engine(self) -> None:
        self.engine = warm.start(["engine"], env=self.site.environment, output=self.output)

    def kill_engine(self) -> None:
        assert self.engine is not None
        self.engine.kill()
        self.engine.wait(SOON / 1000)

    def path_of(self, what: str) -> str:
        ((olt, onu, port),) = self.facho.rows(
            "SELECT o.olt_id, o.id, p.id FROM onu_data o JOIN pon_ports p ON p.olt_id = o.olt_id"
            " WHERE o.state = 'online' ORDER BY o.id, p.id LIMIT 1"
        )
        return {"olt": f"/olts/{olt}/", "onu": f"/onus/{onu}/", "port": f"/olts/{olt}/ports/{port}/"}[what]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    with system_apart(tmp_path_factory.mktemp("stale")) as system:
        yield system


@contextlib.contextmanager
def system_apart(folder: Path) -> Iterator[Apart]:
    home = folder / "home"
    shutil.copytree(pattern.home(), home)
    settings = {
        "FACHO_DATABASE_URL": f"sqlite:///{home / 'facho.db'}",
        "FACHO_FIRST_RUN_DELAY": "2s",
        # The client gives up soon on an OLT that is silent, and asks again soon: that is what is waited for.
        "FACHO_REQUEST_TIMEOUT": "2s",
        "FACHO_REQUEST_RETRIES": "1",
        "FACHO_RETRY_DELAY": "2s",
        "FACHO_PROBE_AFTER": "2,2",
    }
    address = f"{LOOPBACK}:{free_port()}"
    environment = {**os.environ, "FACHO_HOME": str(home), "FACHO_WEB_ADDRESS": address, **settings}
    add_sample("people", environment)
    shots = os.environ.get("TESTS_SHOTS")
    site = Site(f"http://{address}", environment, Path(shots) if shots else None)
    argv = [sys.executable, "-m", "facho", "web"]
    with (
        FleetProcess(FleetConfig(olts=1, onus=16, family="huawei")) as fleet,
        running(argv, log=folder / "web.log", answers=answers(site.url), env=environment),
        (folder / "engine.log").open("ab") as output,
    ):
        system = Apart(site, OwnFacho(home, settings), fleet, output)
        host, port = fleet.addresses[0]
        system.facho.does("olt", "add", OLT, f"{host}:{port}", "--community-env", "PUBLIC", PUBLIC="public")
        system.facho.does("job", "usual", OLT)
        for job in ("state", "ports", "optics"):
            system.facho.does("job", "change", job, "--interval", "10s", "--yes")
        system.start_engine()
        try:
            wait_until(
                lambda: system.facho.rows("SELECT 1 FROM onu_data, pon_ports WHERE onu_data.state = 'online'")
            )
            yield system
        finally:
            system.kill_engine()


@pytest.fixture
def visit(system: Apart, browser: Browser) -> Iterator[Visiting]:
    with visiting(system.site, browser) as visit:
        yield visit


def opened(visit: Visiting, path: str) -> dict[str, Page]:
    """The same page as a reader of each language has it open. None of them is ever loaded again."""
    pages = {}
    for language in WORDS:
        pages[language] = visit("operator", language=language, alone=True).go(path)
        pages[language].evaluate("window.neverReloaded = true")
    return pages


def test_an_engine_that_is_killed_is_told_on_open_pages_until_it_is_back(
    system: Apart, visit: Visiting
) -> None:
    pages = opened(visit, system.path_of("onu"))
    lists = opened(visit, "/olts/")
    for page in (*pages.values(), *lists.values()):
        expect(page.locator("#banner .fd-banner")).to_have_count(0, timeout=SOON)
    system.kill_engine()
    for language, words in WORDS.items():
        for page in (pages[language], lists[language]):
            expect(page.locator("#banner")).to_contain_text(words.stopped, timeout=SOON)
        # The age of the silence goes on.
        age = pages[language].locator("#banner time")
        before = age.inner_text()
        expect(age).not_to_have_text(before, timeout=SOON)
        pages[language].get_by_role("button", name=words.read).click()
        expect(pages[language].locator("#reading")).to_contain_text(words.refused, timeout=SOON)
    # What is about to become old does so in the open page.
    system.facho.rows("UPDATE olt_collected SET collected_at = datetime('now', '-110 seconds')")
    for page in opened(visit, system.path_of("onu")).values():
        expect(page.locator(".fd-numbers .fd-old").first).to_be_visible(timeout=SOON)
    system.start_engine()
    for page in (*pages.values(), *lists.values()):
        expect(page.locator("#banner .fd-banner")).to_have_count(0, timeout=SOON)
        assert page.evaluate("window.neverReloaded")


def test_nothing_behind_a_silent_olt_looks_alive(system: Apart, visit: Visiting) -> None:
    pages = opened(visit, system.path_of("port"))
    for language, words in WORDS.items():
        expect(pages[language].locator("#onus .fd-badge", has_text=words.online).first).to_be_visible(
            timeout=SOON
        )
    system.fleet.call(0, "silence")
    for language, words in WORDS.items():
        page = pages[language]
        expect(page.locator("#banner")).to_contain_text(words.silent, timeout=SOON)
        states = page.locator("#onus tbody .fd-badge")
        expect(states.first).to_have_text(words.unknown, timeout=SOON, ignore_case=True)
        expect(states.filter(has_not_text=re.compile(re.escape(words.unknown), re.IGNORECASE))).to_have_count(
            0
        )
        expect(page.locator(".fd-success")).to_have_count(0)
        expect(page.locator("#onus h2 .fd-old")).to_be_visible()
        visitor = visit("operator", language=language, alone=True)
        for path in (system.path_of("olt"), system.path_of("onu")):
            other = visitor.go(path)
            expect(other.get_by_text(words.unknown, exact=True).first).to_be_visible(timeout=SOON)
            expect(other.locator(".fd-badge.fd-now.fd-success")).to_have_count(0)
            visitor.shoot(f"silent{path.replace('/', '-')}{language}")
        assert not visitor.complaints
    system.fleet.call(0, "silence", False)
    for language, words in WORDS.items():
        page = pages[language]
        expect(page.locator("#onus .fd-badge", has_text=words.online).first).to_be_visible(timeout=SOON)
        expect(page.locator("#banner .fd-banner")).to_have_count(0, timeout=SOON)
        assert page.evaluate("window.neverReloaded")
