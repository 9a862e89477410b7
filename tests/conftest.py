import os
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import pytest
from hypothesis import settings

from tests.hypothesis_runs import often

# On a busy machine a slow example says nothing about the code.
settings.register_profile("facho", often(200), deadline=None)
settings.load_profile("facho")


@pytest.fixture(scope="session", autouse=True)
def no_thread_of_the_log() -> None:
    """It would write to the database of a test while another one empties it."""
    from facho.engine.events.coordinator_log import log_writer

    log_writer.background = False


@pytest.fixture(autouse=True)
def requests_are_counted_for_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for all that run at once, which would ask too often together."""
    from facho.web import throttles

    monkeypatch.setattr(throttles, "_counters", throttles.FileCounters(":memory:"))
    monkeypatch.setattr(throttles, "_own_counters", throttles.FileCounters(":memory:"))
    monkeypatch.setattr(throttles, "_failures", throttles.CountingFailures())


@pytest.fixture(autouse=True)
def nothing_is_cached_yet() -> None:
    """The cache is the process's: a test would see what the pages of another one worked out."""
    from django.core.cache import cache

    cache.clear()


@pytest.fixture(autouse=True)
def secrets_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget them after each test: a community of one may be a word in a sentence that another expects."""
    from facho import masking

    for name in ("_known", "_forms", "_short"):
        monkeypatch.setattr(masking, name, copy(getattr(masking, name)))


@pytest.fixture(autouse=True)
def default_language_and_time_zone() -> None:
    """Start each test in those of the settings: a command or a page leaves its own active in this thread."""
    from django.utils import timezone, translation

    translation.deactivate()
    timezone.deactivate()


@pytest.fixture(scope="session", autouse=True)
def passwords_that_cost_nothing() -> Iterator[None]:
    """The real ones take half a second each, which is more than most pages that a test logs in for."""
    from django.test import override_settings

    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_are_found_once() -> Iterator[None]:
    """Each client of a test has a handler of its own, which would look for all of them again."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    find = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, dict[str, Any]] = {}

    def find_once(self: Any) -> None:
        if self.static_prefix not in found:
            find(self)
            found[self.static_prefix] = self.files
        self.files = dict(found[self.static_prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_are_emptied_row_by_row(pytestconfig: pytest.Config) -> Iterator[None]:
    """TRUNCATE makes new files of all tables and indexes, which takes half a second; their rows are few."""
    if pytestconfig.getoption("--database") == "sqlite":
        yield
        return
    from django.db.backends.postgresql.operations import DatabaseOperations

    def sql_flush(self: DatabaseOperations, style: Any, tables: Iterable[str], **_: bool) -> list[str]:
        return [f"DELETE FROM {self.quote_name(table)}" for table in tables]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """Workers have a database each, and make the tables of all of them once."""
    from django.db.backends.base.creation import BaseDatabaseCreation

    from tests.services.tables import made_once

    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(
                BaseDatabaseCreation, "create_test_db", made_once(BaseDatabaseCreation.create_test_db)
            )
        yield


@pytest.fixture
def services_elsewhere(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest that a test starts in another folder finds `tests.services`, and leaves facho itself alone."""
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:schemathesis -p no:anyio")
