"""Which releases of Celery workers are not started with."""

import pytest

from facho.backends.start_checks import bad_version


@pytest.mark.parametrize("version", ["5.6.3", "5.6.4", "5.7.1", "6.0.0rc1"])
def test_a_worker_starts_with_it(version: str) -> None:
    assert list(bad_version(version)) == []


def test_one_whose_workers_end_with_their_broker_is_refused() -> None:
    (reason,) = bad_version("5.7.0")
    assert "5.7.0" in reason
    assert "install 5.6.3" in reason
