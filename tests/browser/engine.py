"""A whole system of the tests' own: `facho up` on SQLite, and simulated OLTs for it to ask."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.browser.conftest import Site, add_sample, answers, free_port
from tests.integration.own_facho import OwnFacho
from tests.services import pattern
from tests.services.process import LOOPBACK, running

FAMILIES = "huawei,zte,huawei"
ONUS = 64


@dataclass(frozen=True)
class System:
    site: Site
    fleet: FleetProcess
    facho: OwnFacho

    def add_olt(self, name: str, number: int, *, jobs: bool = True) -> str:
        """Add the simulated OLT of this number, with its usual jobs. Return the path of its page."""
        host, port = self.fleet.addresses[number]
        self.facho.does("olt", "add", name, f"{host}:{port}", "--community-env", "PUBLIC", PUBLIC="public")
        if jobs:
            self.add_usual_jobs(name)
        ((olt_id,),) = self.facho.rows("SELECT id FROM olts WHERE name = ?", name)
        return f"/olts/{olt_id}/"

    def add_usual_jobs(self, name: str) -> None:
        self.facho.does("job", "usual", name)


@contextlib.contextmanager
def whole_system(folder: Path) -> Iterator[System]:
    home = folder / "home"
    shutil.copytree(pattern.home(), home)
    settings = {"FACHO_DATABASE_URL": f"sqlite:///{home / 'facho.db'}"}
    # Nobody waits a minute here for what is new.
    settings["FACHO_FIRST_RUN_DELAY"] = "2s"
    # Nothing runs out by itself on a busy machine: what is held or slow to answer is still waited for.
    settings |= {"FACHO_REQUEST_TIMEOUT": "120s", "FACHO_LEASE": "120s", "FACHO_WORKER_SEEN_WITHIN": "120s"}
    # The receivers of notifications are on this machine.
    settings["FACHO_NOTIFY_LOCAL_TARGETS"] = "yes"
    environment = {**os.environ, "FACHO_HOME": str(home), **settings}
    add_sample("people", environment)
    address = f"{LOOPBACK}:{free_port()}"
    environment["FACHO_WEB_ADDRESS"] = address
    shots = os.environ.get("TESTS_SHOTS")
    site = Site(f"http://{address}", environment, Path(shots) if shots else None)
    argv = [sys.executable, "-m", "facho", "up"]
    with (
        FleetProcess(FleetConfig(olts=3, onus=ONUS, family=FAMILIES)) as fleet,
        running(argv, log=folder / "up.log", answers=answers(site.url), env=environment, seconds=180),
    ):
        yield System(site, fleet, OwnFacho(home, settings))
