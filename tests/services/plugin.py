"""Fixtures for the real services, and the line that names those that could not be had."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NoReturn

import pytest

from tests.services import packages
from tests.services.snmpd import Snmpd, run_snmpd
from tests.services.snmpsim import Snmpsim, run_snmpsim
from tests.services.unavailable import Unavailable

UNAVAILABLE = pytest.StashKey[dict[str, str]]()
WORKER_KEY = "facho_unavailable"


@pytest.fixture(scope="session")
def snmpd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    """A private net-snmp agent, one for the whole session (one for each xdist worker)."""
    with ExitStack() as stack:
        try:
            agent = stack.enter_context(run_snmpd(tmp_path_factory.mktemp("snmpd")))
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield agent


@pytest.fixture(scope="session")
def net_snmp(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The path of one of net-snmp's tools: `net_snmp("snmpget")`."""

    def find(tool: str) -> str:
        try:
            return packages.find(tool, packages.SNMP_TOOLS)
        except Unavailable as missing:
            _give_up(request.config, missing)

    return find


@pytest.fixture
def snmpsim(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Snmpsim]]:
    """Starts an agent that answers from the .snmprec lines it is given; stopped after the test."""
    with ExitStack() as stack:

        def start(records: str) -> Snmpsim:
            try:
                return stack.enter_context(run_snmpsim(tmp_path_factory.mktemp("snmpsim"), records))
            except Unavailable as missing:
                _give_up(request.config, missing)

        yield start


def _give_up(config: pytest.Config, missing: Unavailable) -> NoReturn:
    config.stash[UNAVAILABLE][missing.service] = missing.why
    if os.environ.get("CI") and not missing.optional:
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[UNAVAILABLE] = {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Only an xdist worker has this; it travels to the controller, which prints the line.
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[WORKER_KEY] = session.config.stash[UNAVAILABLE]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # A worker that crashed has no output.
    output = getattr(node, "workeroutput", {})
    node.config.stash[UNAVAILABLE].update(output.get(WORKER_KEY, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    missing = config.stash[UNAVAILABLE]
    if missing:
        named = "; ".join(f"{service} ({why})" for service, why in sorted(missing.items()))
        terminalreporter.write_line(f"Unavailable here, their tests did not run: {named}", yellow=True)
