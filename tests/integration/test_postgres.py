"""PostgreSQL as the tests have it: real, private, and gone when they end."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.services.postgres import Postgres
from tests.services.process import DidNotStart

pytest_plugins = ["pytester"]

# Tells where the run has its files, then lasts for longer than anybody waits.
LASTING = """
import os, time
from pathlib import Path

def test_lasting():
    server = os.environ["FACHO_DATABASE_URL"].partition("host=")[2]
    Path("draft").write_text(server + "\\n" + os.environ["FACHO_HOME"])
    os.rename("draft", "where")
    time.sleep(600)
"""


def test_it_answers(own_postgres: Postgres) -> None:
    with psycopg.connect(own_postgres.url()) as connection:
        (version,) = connection.execute("SELECT version()").fetchone() or ("",)
    assert version.startswith("PostgreSQL ")


@pytest.mark.parametrize("immediate", [True, False])
def test_what_was_committed_is_there_after_a_stop_and_a_start(
    own_postgres: Postgres, immediate: bool
) -> None:
    own_postgres.create_database("kept")
    with psycopg.connect(own_postgres.url("kept")) as connection:
        connection.execute("CREATE TABLE olts AS SELECT 7 AS id")
    own_postgres.stop(immediate=immediate)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_postgres.url("kept"))
    own_postgres.start()
    with psycopg.connect(own_postgres.url("kept")) as connection:
        assert connection.execute("SELECT id FROM olts").fetchall() == [(7,)]


def test_a_database_is_dropped_under_those_who_are_connected_to_it(own_postgres: Postgres) -> None:
    own_postgres.create_database("lost")
    connection = psycopg.connect(own_postgres.url("lost"))
    own_postgres.drop_database("lost")
    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        connection.execute("SELECT 1")
    connection.close()


def test_its_log_says_why_it_does_not_start(own_postgres: Postgres) -> None:
    own_postgres.stop()
    (own_postgres.data / "PG_VERSION").write_text("1\n")
    with pytest.raises(DidNotStart, match="initialized by PostgreSQL version 1"):
        own_postgres.start()


@pytest.fixture
def lasting_run(
    own_postgres: Postgres, pytester: pytest.Pytester, services_elsewhere: None
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts pytest with a server of its own, and waits until a test of it is under way.

    `own_postgres` is asked for because it skips where there is no PostgreSQL.
    """
    pytester.makepyfile(LASTING)
    where = pytester.path / "where"
    with ExitStack() as stack:

        def start(*options: str) -> subprocess.Popen[bytes]:
            argv = [sys.executable, "-m", "pytest", "-p", "tests.services.plugin", "--database=postgresql"]
            run: subprocess.Popen[bytes] = pytester.popen([*argv, *options], stdin=subprocess.DEVNULL)
            stack.enter_context(run)
            stack.callback(run.kill)
            _wait_until(lambda: where.exists() or run.poll() is not None)
            assert where.exists(), run.communicate()
            return run

        yield start


@pytest.mark.parametrize(
    ("options", "by"),
    [((), signal.SIGTERM), (("-n1",), signal.SIGKILL)],
    ids=["alone-SIGTERM", "xdist-SIGKILL"],
)
def test_neither_server_nor_files_outlive_pytest(
    lasting_run: Callable[..., subprocess.Popen[bytes]],
    pytester: pytest.Pytester,
    by: signal.Signals,
    options: tuple[str, ...],
) -> None:
    run = lasting_run(*options)
    server, home = map(Path, (pytester.path / "where").read_text().splitlines())
    pid = int((server / "data" / "postmaster.pid").read_text().split()[0])
    assert home.exists()
    run.send_signal(by)
    run.communicate(timeout=60)
    _wait_until(lambda: not (server.exists() or home.parent.exists() or _is_running(pid)))


def _is_running(pid: int) -> bool:
    try:
        # One that has ended is there until its parent, who may be slow, asks how.
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_until(fact: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)
