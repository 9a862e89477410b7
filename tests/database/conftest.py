import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import translation

from facho import logs
from facho.apps.db import sql
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.config import Config, current
from facho.engine.events.coordinator_log import log_writer
from tests.factories import know_brands


@pytest.fixture
def english() -> Iterator[None]:
    """Sentences in the language that the tests are written in."""
    with translation.override("en"):
        yield


@pytest.fixture
def brands(db: None) -> Iterator[None]:
    """The OID table of the profiles; and sentences in the language that the tests are written in."""
    with translation.override("en"):
        know_brands()
        yield


@pytest.fixture
def logged(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[CoordinatorLog]]:
    """What is in the coordinator's log by now. It does not wait for the end of the test's transaction."""
    log_writer.rows.clear()
    monkeypatch.setattr(sql, "after_commit", lambda write: write())

    def rows() -> list[CoordinatorLog]:
        log_writer.flush()
        return list(CoordinatorLog.objects.order_by("id"))

    return rows


@pytest.fixture
def config_with_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """The logs of an engine, in a folder of the test."""
    config = replace(Config(), home=tmp_path, request_timeout=timedelta(seconds=0.05), request_retries=0)
    for name in ("files", "rows"):
        log_writer.__dict__.pop(name, None)
    monkeypatch.setattr(log_writer, "config", config)
    root = logging.getLogger()
    before, level, raises = list(root.handlers), root.level, logging.raiseExceptions
    logs.set_up("engine", config, level=logging.DEBUG)
    yield config
    for handler in root.handlers:
        handler.close()
    root.handlers, logging.raiseExceptions = before, raises
    root.setLevel(level)
    for name in ("files", "rows"):
        log_writer.__dict__.pop(name, None)


@pytest.fixture
def local_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels may be on this machine, where the receivers of tests are."""
    allowing = replace(current(), notify_local_targets=True)
    monkeypatch.setattr("facho.engine.commands.channel_addresses.current", lambda: allowing)


@pytest.fixture
def live_poller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a poller no reading of an ONU is accepted."""
    monkeypatch.setattr("facho.engine.commands.runs.has_live_pollers", lambda _now: True)
