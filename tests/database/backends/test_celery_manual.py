"""Celery started by its own command: what `facho worker` refuses is refused there too, in the same words."""

import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from celery import signals
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from facho.backends import celery_worker
from facho.config import Config
from facho.keys import KeyProblem
from tests import older_schema

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
RIGHT = replace(Config(), database_url="postgresql://db/facho", broker_url="redis://db:6379/0")


class Starting:
    """A worker of Celery before it has set itself up: nothing is lent yet."""

    def __init__(self, pool: str) -> None:
        self.pool_cls = pool


# Not by sending the signals: others listen too, and close the connection that a test is about to roll back.
STARTS = (lambda: celery_worker._start(sender=Starting("threads")), celery_worker._check)


def use(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery_worker, "current", lambda: config)


@pytest.fixture(autouse=True)
def broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_there(url: str) -> Iterator[str]:
        return iter(())

    monkeypatch.setattr("facho.backends.start_checks.broker_away", is_there)


@pytest.mark.parametrize("start", STARTS, ids=["worker", "beat"])
@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (replace(RIGHT, database_url="sqlite:///x"), "^Error: workers on several machines need PostgreSQL"),
        (replace(RIGHT, broker_url=""), "^Error: no broker is set: set FACHO_BROKER_URL"),
        (replace(RIGHT, broker_url="amqp://db"), "^Error: FACHO_BROKER_URL must begin with redis://"),
    ],
)
def test_what_cannot_work_is_refused(
    start: Any, config: Config, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(config, monkeypatch)
    with pytest.raises(SystemExit, match=sentence):
        start()


@pytest.mark.parametrize("start", STARTS, ids=["worker", "beat"])
def test_keys_that_open_nothing_are_refused(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use(RIGHT, monkeypatch)
    monkeypatch.setattr(celery_worker, "key_problem", lambda: "no key opens the credentials")
    with pytest.raises(SystemExit, match=r"^Error: no key opens"):
        start()


@pytest.mark.parametrize("pool", ["solo", "prefork"])
def test_a_worker_whose_pollers_would_be_no_threads_is_refused(
    pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(RIGHT, monkeypatch)
    with pytest.raises(SystemExit, match="--pool threads"):
        celery_worker._start(sender=Starting(pool))


@pytest.mark.parametrize("start", STARTS, ids=["worker", "beat"])
def test_what_can_work_starts_and_closes_its_files_to_others(
    start: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(replace(RIGHT, home=tmp_path), monkeypatch)
    tmp_path.chmod(0o755)
    start()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_celery_tells_when_it_starts() -> None:
    heard = (
        (signals.worker_init, celery_worker._start),
        (signals.celeryd_after_setup, celery_worker._create_pollers),
        (signals.beat_init, celery_worker._check),
    )
    for signal, told in heard:
        assert told in [receiver() for _, receiver in signal.receivers]


@pytest.mark.parametrize("start", STARTS, ids=["worker", "beat"])
def test_a_database_of_another_version_is_refused(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use(RIGHT, monkeypatch)
    recorded = MigrationRecorder(connection)
    recorded.record_applied("hosts", "0099_from_the_future")
    with pytest.raises(SystemExit, match=r"changed by a newer facho \(hosts.0099_from_the_future\)"):
        start()
    recorded.record_unapplied("hosts", "0099_from_the_future")
    recorded.record_unapplied(older_schema.APP, older_schema.LAST)
    with pytest.raises(SystemExit, match="lacks 1 changes that this version needs: run facho migrate"):
        start()


@pytest.mark.parametrize("start", STARTS, ids=["worker", "beat"])
@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (OperationalError("no route to host"), "cannot be used: no route to host"),
        (KeyProblem("credentials.keys is empty"), r"^Error: credentials\.keys is empty"),
        (RuntimeError("a bug"), "a bug"),
    ],
)
@pytest.mark.parametrize("where", ["refuse_unready", "key_problem"])
def test_whatever_goes_wrong_it_does_not_start(
    start: Any, raised: Exception, sentence: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery logs any other exception of who listens to its signals, and goes on."""

    def fail() -> None:
        raise raised

    use(RIGHT, monkeypatch)
    monkeypatch.setattr(celery_worker, where, fail)
    with pytest.raises(SystemExit, match=sentence):
        start()
