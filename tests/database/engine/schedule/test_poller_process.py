"""What a process with pollers does while it runs, beside polling."""

from __future__ import annotations

import gc
import threading

import pytest

from facho.backends import poller_process as module
from facho.backends.poller_process import poller_process
from facho.config import Config
from tests.waiting import wait_until


@pytest.mark.django_db(transaction=True)
def test_garbage_is_collected_from_time_to_time_and_not_when_objects_become_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_COLLECT_ALL_EVERY_S", 0.01)
    before, all_collections = gc.get_threshold(), gc.get_stats()[2]["collections"]
    with poller_process(Config()):
        assert gc.get_threshold()[2] > 1_000_000
        assert gc.get_freeze_count() > 0
        wait_until(lambda: gc.get_stats()[2]["collections"] > all_collections + 3)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "garbage"]
