"""A system in small for each way to run: the same engine, another way for an id to reach a poller."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from celery import Celery
from django.db import connection

from facho.apps.db.database import database_now
from facho.apps.executions.models import Attempt
from facho.apps.zabbix_pollers.models import Worker
from facho.apps.zabbix_pollers.store import register_worker
from facho.backends.celery_backend import CeleryBackend
from facho.backends.local_pollers import LocalBackend
from facho.backends.poller_process import PollerProcess
from facho.celery import settings
from facho.config import Config
from facho.engine.schedule.runner import PollerActivity, Runtime, SnmpLoop
from facho.engine.schedule.scheduler import SchedulerLoop
from tests.services import warm
from tests.services.redis import Redis
from tests.waiting import PATIENCE_S

# Nothing runs out by itself, however busy the machine is: neither a lease, nor the wait for an answer.
CONFIG: Final = replace(
    Config(),
    pollers=3,
    lease=timedelta(seconds=120),
    lease_renew=timedelta(seconds=0.5),
    worker_seen_within=timedelta(seconds=120),
    request_timeout=timedelta(seconds=120),
    stop_within=timedelta(seconds=2),
)
_AS_SETTINGS: Final = {
    "FACHO_POLLERS": "3",
    "FACHO_LEASE": "120",
    "FACHO_LEASE_RENEW": "0.5",
    "FACHO_WORKER_SEEN_WITHIN": "120",
    "FACHO_REQUEST_TIMEOUT": "120",
    "FACHO_STOP_WITHIN": "2",
}
# Of imports, most of it: on a busy machine they take long.
_START_S: Final = 180.0


class System(Protocol):
    """What the contract is about, whichever backend it is. Nobody steps: what is due is not its concern."""

    def submit(self, execution_id: int) -> None: ...

    def assign(self) -> None:
        """Claims what waits and submits it, as a step of the scheduler does."""

    def is_idle(self) -> bool:
        """Nothing runs, and nothing is on its way to a poller."""

    def stop(self) -> None: ...


class LocalSystem:
    """As in `facho engine`: the thread that steps is woken when an execution ends, and claims."""

    def __init__(self, process: PollerProcess) -> None:
        config = process.runtime.config
        self._pollers = config.pollers
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._backend = LocalBackend(process, self._ended.set)
        self._loop = SchedulerLoop(config, self._backend, process.activity, self._ended, database_now)
        self._claims = threading.Thread(target=self._claim_when_one_ended, name="claims")
        self._backend.start()
        self._claims.start()

    def submit(self, execution_id: int) -> None:
        self._backend.submit(execution_id)

    def assign(self) -> None:
        self._loop.assign()

    def is_idle(self) -> bool:
        return self._backend.free_pollers() == self._pollers

    def stop(self) -> None:
        self._stopping.set()
        self._ended.set()
        self._claims.join()
        self._backend.stop()

    def _claim_when_one_ended(self) -> None:
        while not self._stopping.is_set():
            if self._ended.wait(1.0):
                self._ended.clear()
                self._loop.assign()
        connection.close()


@contextmanager
def local_system() -> Iterator[LocalSystem]:
    name = "contract"
    register_worker(name, CONFIG.pollers, database_now())
    ending = threading.Event()
    with SnmpLoop() as snmp:
        runtime = Runtime(CONFIG, name, snmp, database_now)
        process = PollerProcess(runtime, PollerActivity(name, CONFIG.pollers, database_now()))
        system = LocalSystem(process)
        keeper = threading.Thread(target=process.run_heartbeat_loop, args=(ending,))
        keeper.start()
        try:
            yield system
        finally:
            system.stop()
            ending.set()
            keeper.join()


class CelerySystem:
    """One real `facho worker`; what a beat does beside it is done here."""

    def __init__(self, app: Any, redis: Redis, process: warm.Process, log: Path) -> None:
        self._config = replace(CONFIG, broker_url=redis.url)
        self._backend = CeleryBackend(app)
        self._redis = redis
        self._process = process
        self._log = log
        self._submitted = 0

    def submit(self, execution_id: int) -> None:
        self._submitted += 1
        self._backend.submit(execution_id)

    def assign(self) -> None:
        self._backend.assign(database_now(), self._config)

    def is_idle(self) -> bool:
        """Each message has made an attempt, which has ended, or has found nothing to start."""
        ended = Attempt.objects.exclude(ended_at=None).count()
        dropped = self._log.read_text().count("action=nothing_to_start")
        return ended + dropped >= self._submitted

    def stop(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        self._process.kill()
        self._process.wait()


@contextmanager
def celery_app(redis: Redis) -> Iterator[Any]:
    app = Celery("contract", set_as_current=False)
    app.config_from_object(settings(replace(CONFIG, broker_url=redis.url)))
    try:
        yield app
    finally:
        app.close()


@contextmanager
def celery_system(redis: Redis) -> Iterator[CelerySystem]:
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryDirectory() as folder,
        celery_app(redis) as app,
    ):
        # A home of its own, for a log of its own, with the keys of the tests.
        home = Path(folder) / "home"
        shutil.copytree(os.environ["FACHO_HOME"], home, ignore=shutil.ignore_patterns("logs", "*.sqlite3*"))
        addresses = {
            "FACHO_HOME": str(home),
            "FACHO_DATABASE_URL": _database_url(),
            "FACHO_BROKER_URL": redis.url,
        }
        process = warm.start(["worker"], env={**os.environ, **_AS_SETTINGS, **addresses}, output=output)
        system = CelerySystem(app, redis, process, home / "logs" / "worker.log")
        try:
            _wait_for(process, output)
            yield system
        finally:
            system.stop()


def _database_url() -> str:
    """Of the database that the tests have, which is not the one that they were started with."""
    ours = connection.settings_dict
    return f"postgresql://{ours['USER']}@/{ours['NAME']}?host={ours['HOST']}"


def _wait_for(process: warm.Process, output: Any) -> None:
    until = time.monotonic() + _START_S
    while not Worker.objects.exists():
        if process.poll() is not None or time.monotonic() > until:
            output.seek(0)
            raise AssertionError(f"the worker did not start: {output.read().decode(errors='replace')}")
        time.sleep(0.05)


Way = Callable[[pytest.FixtureRequest], AbstractContextManager[System]]


def systems(database: str) -> dict[str, Way]:
    """By name, those that can be had on a database: workers on several machines need PostgreSQL."""
    found: dict[str, Way] = {"local": lambda _: local_system()}
    if database == "postgresql":
        found["celery"] = lambda request: celery_system(request.getfixturevalue("own_redis"))
    return found
