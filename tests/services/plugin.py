"""Fixtures for the real services, the database of a run, and the line that names what could not be had."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

import pytest

from tests.services import packages, pattern, postgres
from tests.services.folder import temporary_folder
from tests.services.postgres import Databases, Postgres, run_postgres
from tests.services.prometheus import Prometheus, run_prometheus
from tests.services.proxies import Proxy, run_caddy, run_nginx
from tests.services.redis import Redis, run_redis
from tests.services.snmpd import Snmpd, run_snmpd
from tests.services.snmpsim import Snmpsim, run_snmpsim
from tests.services.unavailable import Unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Browser

UNAVAILABLE = pytest.StashKey[dict[str, str]]()
WORKER_KEY = "facho_unavailable"
# The server that all tests share in a run on PostgreSQL.
POSTGRES = pytest.StashKey[Databases]()
POSTGRES_KEY = "facho_postgres"
# Names the process whose xdist workers find their environment ready.
CONTROLLER = "TESTS_CONTROLLER"
# Their files wait for real processes, mostly; the other ones compute.
WAITING = (("tests", "faults"), ("tests", "integration"))
# What every deployment relies on, whichever database it has.
ON_BOTH_DATABASES = (("tests", "contract"), ("tests", "database"))


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


@pytest.fixture
def own_postgres(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Postgres]:
    """A PostgreSQL of the test's own, that it may stop and start; on any `--database`."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(run_postgres(tmp_path, pattern=pattern.postgres_data()))
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield server


@pytest.fixture
def own_redis(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """A Redis of the test's own, that it may stop, start and flush."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(run_redis())
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield server


@pytest.fixture(scope="module")
def shared_postgres(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Postgres]:
    """One for all tests of a module; whoever stops it starts it again."""
    with ExitStack() as stack:
        try:
            folder = tmp_path_factory.mktemp("postgres")
            server = stack.enter_context(run_postgres(folder, pattern=pattern.postgres_data()))
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield server


@pytest.fixture(scope="module")
def shared_redis(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """One for all tests of a module; whoever stops it starts it again."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(run_redis())
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield server


@pytest.fixture
def own_prometheus(request: pytest.FixtureRequest) -> Iterator[Prometheus]:
    """A Prometheus that takes remote write, and that a test may stop, start and ask."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(run_prometheus())
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield server


@pytest.fixture(scope="module", params=[run_nginx, run_caddy], ids=["nginx", "caddy"])
def proxy_in_front(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Proxy]]:
    """Starts a proxy with TLS, from its file in deploy/, in front of what listens on HOST:PORT."""
    with ExitStack() as stack:

        def start(behind: str) -> Proxy:
            try:
                return stack.enter_context(request.param(behind))  # type: ignore[no-any-return]
            except Unavailable as missing:
                _give_up(request.config, missing)

        yield start


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator["Browser"]:
    """A Chromium for the whole session. Tests that use it run last, and use no coroutines of their own."""
    # Imported here because it takes a quarter of a second, which few runs need to spend.
    from tests.services.chromium import run_chromium

    with ExitStack() as stack:
        try:
            chromium = stack.enter_context(run_chromium())
        except Unavailable as missing:
            _give_up(request.config, missing)
        yield chromium


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new, empty database of the kind that `--database` asks for, gone after the test."""
    if request.config.getoption("--database") == "sqlite":
        yield f"sqlite:///{tmp_path / 'facho.db'}"
        return
    databases = request.config.stash[POSTGRES]
    name = f"facho_{uuid4().hex}"
    databases.create_database(name)
    try:
        yield databases.url(name)
    finally:
        databases.drop_database(name)


def _give_up(config: pytest.Config, missing: Unavailable) -> NoReturn:
    config.stash[UNAVAILABLE][missing.service] = missing.why
    if os.environ.get("CI") and not missing.optional:
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=("sqlite", "postgresql"),
        default="sqlite",
        help="the database of the tests; PostgreSQL is a private server of this run",
    )


# Before pytest-django's, which imports the settings, which read the environment.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    early_config.stash[UNAVAILABLE] = {}
    if _is_worker() or options.help or options.version:
        return
    folder = _prepare_environment(early_config)
    if options.database == "postgresql":
        _prepare_postgres(early_config, folder)


def _is_worker() -> bool:
    """Whether our parent has prepared the environment. A pytest that a test starts has another parent."""
    return "PYTEST_XDIST_WORKER" in os.environ and os.environ.get(CONTROLLER) == str(os.getppid())


def _prepare_environment(config: pytest.Config) -> Path:
    """Nothing of the person's own facho, neither files nor settings, is seen by a test."""
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = stack.enter_context(temporary_folder())
    environment = stack.enter_context(pytest.MonkeyPatch.context())
    for name in [name for name in os.environ if name.startswith("FACHO_")]:
        environment.delenv(name)
    home = folder / "home"
    home.mkdir()
    environment.setenv("FACHO_HOME", str(home))
    # Tests ask more often in a minute than anybody may.
    for name in ("FACHO_API_REQUESTS_A_MINUTE", "FACHO_API_REFUSALS_A_MINUTE"):
        environment.setenv(name, "1000000")
    environment.setenv(CONTROLLER, str(os.getpid()))
    return folder


def _prepare_postgres(config: pytest.Config, folder: Path) -> None:
    stack = ExitStack()
    config.add_cleanup(stack.close)
    try:
        server = stack.enter_context(run_postgres(folder))
    except Unavailable as missing:
        if os.environ.get("CI"):
            raise pytest.UsageError(str(missing)) from missing
        config.stash[UNAVAILABLE][missing.service] = missing.why
        return
    server.create_database("facho")
    stack.enter_context(pytest.MonkeyPatch.context()).setenv("FACHO_DATABASE_URL", server.url("facho"))
    config.stash[POSTGRES] = server


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    server = node.config.stash.get(POSTGRES, None)
    node.workerinput[POSTGRES_KEY] = server and str(server.folder)
    node.workerinput[WORKER_KEY] = node.config.stash[UNAVAILABLE]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "both_databases: `make test` runs it on SQLite and on PostgreSQL")
    config.addinivalue_line("markers", "one_database: what it tests does not depend on the database")
    given = getattr(config, "workerinput", {})
    config.stash[UNAVAILABLE].update(given.get(WORKER_KEY, {}))
    if given.get(POSTGRES_KEY):
        config.stash[POSTGRES] = Databases(Path(given[POSTGRES_KEY]))


def pytest_itemcollected(item: pytest.Item) -> None:
    if _folder(item) in ON_BOTH_DATABASES and item.get_closest_marker("one_database") is None:
        item.add_marker(pytest.mark.both_databases)


def _folder(item: pytest.Item) -> tuple[str, ...]:
    root = item.config.rootpath
    return item.path.relative_to(root).parts[:2] if item.path.is_relative_to(root) else ()


def _spread(items: list[pytest.Item]) -> None:
    """Files that wait among files that compute: while all wait no core has work, and later too few have."""
    files = {item.path: _folder(item) in WAITING for item in items}
    places: dict[Path, float] = {}
    for waits in (True, False):
        paths = [path for path, found in files.items() if found is waits]
        places |= {path: number / len(paths) for number, path in enumerate(paths)}
    items.sort(key=lambda item: (places[item.path], item.path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        _spread(items)
    # Once there is a browser, its event loop is in the way of the tests that run one.
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
    if config.getoption("--database") == "postgresql" and POSTGRES not in config.stash:
        why = config.stash[UNAVAILABLE][postgres.SERVICE]
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"{postgres.SERVICE} is unavailable: {why}"))


def pytest_collection_finish() -> None:
    """All that is imported by now stays: to look through it for garbage was a sixth of the work of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


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
