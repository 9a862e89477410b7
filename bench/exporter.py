"""prometheus-snmp-exporter as a peer: started with its own configuration, scraped once for each agent."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.process_groups import cpu_s_of
from bench.walker import COMMUNITY, Cost

PROGRAM: Final = "prometheus-snmp-exporter"
_PATIENCE_S: Final = 10.0
_TEXT_COLUMNS: Final = ("43.1.3", "43.1.9")
_PDUS: Final = "snmp_scrape_pdus_returned"


class Exporter:
    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self._port = port

    def measure(self, addresses: Sequence[tuple[str, int]]) -> Cost:
        before = cpu_s_of(self._process.pid)
        values = sum(self._scrape(address) for address in addresses)
        return Cost(values, cpu_s_of(self._process.pid) - before)

    def _scrape(self, address: tuple[str, int]) -> int:
        """Return the number of values that the exporter says it walked."""
        host, port = address
        url = f"http://127.0.0.1:{self._port}/snmp?target={host}:{port}&module=olt"
        with urllib.request.urlopen(url, timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return int(next(float(line.split()[-1]) for line in lines if line.startswith(_PDUS)))

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/", timeout=1):
                    return
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{PROGRAM} does not start") from None
                time.sleep(0.05)


@contextlib.contextmanager
def running_exporter(columns: Sequence[str], repetitions: int) -> Iterator[Exporter]:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "snmp.yml")
        config.write_text(_config(columns, repetitions))
        port = _free_port()
        process = subprocess.Popen(
            [
                PROGRAM,
                f"--config.file={config}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            exporter = Exporter(process, port)
            exporter.wait_until_ready()
            yield exporter
        finally:
            process.kill()
            process.wait()


def _config(columns: Sequence[str], repetitions: int) -> str:
    """Make every column a metric: it exports all that it walks, as the other clients return all of it."""
    module = {
        "walk": list(columns),
        "metrics": [_metric(number, column) for number, column in enumerate(columns)],
        "version": 2,
        "max_repetitions": repetitions,
        "timeout": "10s",
        "auth": {"community": COMMUNITY},
    }
    # JSON is YAML too.
    return json.dumps({"olt": module})


def _metric(number: int, column: str) -> dict[str, object]:
    return {
        "name": f"column{number}",
        "oid": column,
        "type": "OctetString" if column.endswith(_TEXT_COLUMNS) else "gauge",
        "help": "a column",
        "indexes": [{"labelname": "port", "type": "gauge"}, {"labelname": "onu", "type": "gauge"}],
    }


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
