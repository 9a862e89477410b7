"""A private PostgreSQL on a unix socket, quick because it may lose everything when the machine goes down."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from tests.services import packages, process
from tests.services.folder import temporary_folder
from tests.services.unavailable import Unavailable

SERVICE = packages.POSTGRESQL.name
# The system's account that Debian's package makes, and the superuser of our databases.
USER = "postgres"
STOP_SECONDS = 20.0
# Commits stay synchronous: otherwise a server that is stopped at once forgets what it had just committed,
# and no real one does that. Without fsync they cost next to nothing.
OPTIONS = ("listen_addresses=", "max_connections=200", "fsync=off", "full_page_writes=off")


class Databases:
    """The databases of a running server, for whoever knows the folder of its socket."""

    # Its socket is named after it.
    port = 5432

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, database: str = "postgres") -> str:
        elsewhere = "" if self.port == Databases.port else f"&port={self.port}"
        return f"postgresql://{USER}@/{database}?host={self.folder}{elsewhere}"

    def create_database(self, name: str, template: str = "template1") -> None:
        names = map(sql.Identifier, (name, template))
        self._do(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))

    def drop_database(self, name: str) -> None:
        """Whoever is still connected to it is cut off."""
        self._do(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _do(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)


class Postgres(Databases):
    """A server that a test may stop and start."""

    def __init__(self, folder: Path, program: Path, log: Path) -> None:
        super().__init__(folder)
        self.log = log
        self.data = folder / "data"
        # Of the next start, beside those that all have.
        self.options: tuple[str, ...] = ()
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def own(self, path: Path) -> None:
        """Give a file to the server, which reads no key that belongs to others."""
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, *_account())

    def start(self) -> None:
        """Returns when it answers; raises DidNotStart with the last line of its log."""
        assert self._process is None, "it is running"
        argv = [*_as_its_user(), str(self._program), "-D", str(self.data), "-k", str(self.folder)]
        for option in (*OPTIONS, *self.options):
            argv += ["-c", option]
        self._process = process.start(argv, log=self.log, answers=self._answers)

    def stop(self, *, immediate: bool = True) -> None:
        """Immediately is as in a crash: connections break, and the next start recovers what was committed.

        Otherwise what is being done is rolled back, and the server ends in order.
        """
        if self._process is None:
            return
        by = signal.SIGQUIT if immediate else signal.SIGINT
        process.stop(self._process, by=by, seconds=STOP_SECONDS)
        self._process = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.02)
            return False
        return True


@contextlib.contextmanager
def run_postgres(
    folder: Path, *, pattern: Path | None = None, options: tuple[str, ...] = ()
) -> Iterator[Postgres]:
    """Its log is written in `folder`; data and socket are in a folder of their own, which goes away.

    `options` are settings as NAME=VALUE.
    `pattern` is the data of a server that was stopped in order, to begin with a copy of it.
    """
    program = Path(packages.find("postgres", packages.POSTGRESQL)).resolve()
    with temporary_folder() as home:
        postgres = Postgres(home, program, folder / "postgres.log")
        postgres.options = options
        try:
            if os.geteuid() == 0:
                shutil.chown(home, *_account())
            if pattern is None:
                _make_data(postgres, program.with_name("initdb"))
            else:
                copy_data(pattern, postgres.data)
            postgres.start()
        except process.DidNotStart as error:
            raise Unavailable(SERVICE, f"it does not start; {error}") from error
        try:
            yield postgres
        finally:
            postgres.stop()


def copy_data(source: Path, target: Path) -> None:
    """With its owner, who is not us if we are root."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def _make_data(postgres: Postgres, initdb: Path) -> None:
    argv = [*_as_its_user(), str(initdb), "-D", str(postgres.data), "-U", USER]
    argv += ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    # Small files of the log, for copies of the data to be small.
    argv += ["--wal-segsize=1"]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=postgres.folder, check=False
    )
    if done.returncode != 0:
        raise process.DidNotStart((done.stderr.strip().splitlines() or ["initdb said nothing"])[-1])


def _as_its_user() -> list[str]:
    """PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return []
    user, group = _account()
    setpriv = shutil.which("setpriv", path=packages.SEARCH_PATH)
    if setpriv is None:
        raise Unavailable(SERVICE, "it does not run as root, and there is no setpriv to become another user")
    return [setpriv, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]


def _account() -> tuple[int, int]:
    try:
        account = pwd.getpwnam(USER)
    except KeyError:
        raise Unavailable(SERVICE, f"it does not run as root, and there is no user {USER}") from None
    return account.pw_uid, account.pw_gid
