"""A private Redis on a unix socket, that keeps nothing on disk."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import redis

from tests.services import packages, process
from tests.services.folder import temporary_folder
from tests.services.unavailable import Unavailable


class Redis:
    """A server that a test may stop, start and flush. What it held is gone when it stops."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self.log = folder / "redis.log"
        self._socket = folder / "redis.sock"
        self._program = program
        # Of the next start, beside those that all have.
        self.options: tuple[str, ...] = ()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """As Celery takes it."""
        return f"redis+socket://{self._socket}"

    def client(self) -> "redis.Redis":
        return redis.Redis(unix_socket_path=str(self._socket))

    def start(self) -> None:
        assert self._process is None, "it is running"
        argv = [self._program, "--port", "0", "--unixsocket", str(self._socket)]
        argv += ["--save", "", "--appendonly", "no", "--dir", str(self.folder), *self.options]
        self._process = process.start([*process.dies_with_us(), *argv], log=self.log, answers=self._answers)

    def stop(self) -> None:
        if self._process is not None:
            process.stop(self._process)
            self._process = None

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@contextlib.contextmanager
def run_redis() -> Iterator[Redis]:
    program = packages.find("redis-server", packages.REDIS)
    with temporary_folder() as folder:
        server = Redis(folder, program)
        try:
            server.start()
        except process.DidNotStart as error:
            raise Unavailable(packages.REDIS.name, f"it does not start; {error}") from error
        try:
            yield server
        finally:
            server.stop()
