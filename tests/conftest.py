from collections.abc import Iterator

import pytest
from hypothesis import settings

# On a busy machine a slow example says nothing about the code.
settings.register_profile("facho", deadline=None)
settings.load_profile("facho")


@pytest.fixture(scope="session", autouse=True)
def no_thread_of_the_log() -> None:
    """It would write to the database of a test while another one empties it."""
    from facho.engine.journal import journal

    journal.background = False


@pytest.fixture(scope="session", autouse=True)
def passwords_that_cost_nothing() -> Iterator[None]:
    """The real ones take half a second each, which is more than most pages that a test logs in for."""
    from django.test import override_settings

    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture
def services_elsewhere(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest that a test starts in another folder finds `tests.services`, and leaves facho itself alone."""
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
