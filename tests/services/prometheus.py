"""A private Prometheus on loopback that takes remote write, and scrapes nothing."""

import contextlib
import http.client
import json
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.services import packages, process
from tests.services.folder import temporary_folder
from tests.services.unavailable import Unavailable

# By label and value, sorted.
Labels = tuple[tuple[str, str], ...]


class Prometheus:
    """A server that a test may stop and start; what it has taken is kept."""

    def __init__(self, folder: Path, program: str) -> None:
        self._folder = folder
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        # Lines of its configuration for the next start.
        self.settings = "global: {scrape_interval: 1m}\n"
        # The same of its web server: TLS, users.
        self.web_settings = ""

    @property
    def write_url(self) -> str:
        return f"http://{process.LOOPBACK}:{self.port}/api/v1/write"

    def start(self) -> None:
        assert self._process is None, "it is running"
        config, web = self._folder / "prometheus.yml", self._folder / "web.yml"
        config.write_text(self.settings)
        web.write_text(self.web_settings)
        argv = [
            self._program,
            f"--config.file={config}",
            f"--web.config.file={web}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address={process.LOOPBACK}:{self.port}",
            "--web.enable-remote-write-receiver",
            # Hours that are asked for at once.
            "--query.max-samples=50000000",
            "--log.level=warn",
        ]
        self._process = process.start(
            [*process.dies_with_us(), *argv], log=self._folder / "log", answers=self._answers, seconds=60
        )

    def stop(self) -> None:
        if self._process is not None:
            process.stop(self._process)
            self._process = None

    def samples(self, name: str, at: float, seconds: int = 7200) -> dict[Labels, list[tuple[float, float]]]:
        """Return all samples of a metric in so many seconds before `at`, by labels, through its query API."""
        query = urllib.parse.urlencode({"query": f"{name}[{seconds}s]", "time": at})
        url = f"http://{process.LOOPBACK}:{self.port}/api/v1/query?{query}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return {_labels(each["metric"]): _values(each) for each in found["data"]["result"]}

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(process.LOOPBACK, self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/-/ready")
                # With users it asks for a password, with TLS for TLS, and is ready too.
                return connection.getresponse().status in (200, 400, 401)
            except OSError:
                return False


def _labels(metric: Mapping[str, str]) -> Labels:
    return tuple(sorted((name, value) for name, value in metric.items() if name != "__name__"))


def _values(series: Mapping[str, Any]) -> list[tuple[float, float]]:
    return [(float(at), float(value)) for at, value in series["values"]]


@contextlib.contextmanager
def run_prometheus() -> Iterator[Prometheus]:
    program = packages.find("prometheus", packages.PROMETHEUS)
    with temporary_folder() as folder:
        server = Prometheus(folder, program)
        try:
            server.start()
        except process.DidNotStart as error:
            raise Unavailable(packages.PROMETHEUS.name, f"it does not start; {error}") from error
        try:
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind((process.LOOPBACK, 0))
        port: int = trial.getsockname()[1]
        return port
