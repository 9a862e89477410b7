"""Tasks that can wait: each has its turn, whatever the others do."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import OperationalError

from facho.celery import beat_schedule
from facho.config import Config
from facho.engine.upkeep.housekeeping import run_housekeeping, run_housekeeping_loop

CONFIG = Config()


def read_clock() -> datetime:
    return datetime(2025, 6, 10, tzinfo=UTC)


def test_a_task_that_fails_keeps_no_other_from_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def away(_now: datetime, _config: Config) -> None:
        raise OperationalError("no such server")

    def wrong(_now: datetime, _config: Config) -> None:
        raise ValueError("a bug")

    def good(now: datetime, config: Config) -> None:
        done.append(f"{now:%d.%m.} {config.pollers}")

    with caplog.at_level(logging.ERROR):
        run_housekeeping(read_clock, CONFIG, (away, wrong, good))
    assert done == ["10.06. 10"]
    assert [_said(record) for record in caplog.records] == [("database_failed", "away"), ("bug", "wrong")]


def _said(record: Any) -> tuple[str, str]:
    return record.action, record.loop


def test_a_turn_is_left_out_while_the_one_before_takes_its_time() -> None:
    turns: list[str] = []

    def slow(_now: datetime, _config: Config) -> None:
        turns.append("slow")
        other = threading.Thread(target=run_housekeeping, args=(read_clock, CONFIG, (quick,)))
        other.start()
        other.join(120)
        assert not other.is_alive()

    def quick(_now: datetime, _config: Config) -> None:
        turns.append("quick")

    run_housekeeping(read_clock, CONFIG, (slow,))
    assert turns == ["slow"]
    run_housekeeping(read_clock, CONFIG, (quick,))
    assert turns == ["slow", "quick"]


def test_it_goes_on_until_it_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping, turns = threading.Event(), []

    def turn(_clock: object, config: Config) -> None:
        turns.append(config)
        stopping.set()

    monkeypatch.setattr("facho.engine.upkeep.housekeeping.run_housekeeping", turn)
    run_housekeeping_loop(stopping, CONFIG)
    assert turns == [CONFIG]


def test_a_beat_calls_it_every_minute() -> None:
    entry = beat_schedule(CONFIG)["housekeeping"]
    assert entry["schedule"] == 60
    assert entry["options"] == {"queue": "coordinator", "expires": 60}
