"""The housekeeping closes hours, by the operator's settings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from facho.apps.history.models import HistoryHour
from facho.apps.history.store import append_frame
from facho.backends.tasks import housekeeping_task
from facho.config import Config
from facho.engine.upkeep.housekeeping import TASKS, close_history_hours
from tests.factories import at
from tests.findings import an_olt
from tests.history_rows import add_frame

pytestmark = pytest.mark.django_db


def test_hours_are_closed_ten_minutes_after_their_end_or_when_the_operator_says() -> None:
    assert close_history_hours in TASKS
    add_frame(an_olt(), "10:00", {1: -20.0})
    assert close_history_hours(at("11:09"), Config()) == 0
    assert close_history_hours(at("11:01"), replace(Config(), history_close_after=timedelta(seconds=30))) == 1
    assert HistoryHour.objects.get().hour == at("10:00")


def test_a_beat_s_message_closes_hours_too() -> None:
    long_ago = datetime(2001, 1, 1, 10, tzinfo=UTC)
    append_frame(an_olt().pk, long_ago, "onu", [1], {"onu_rx_dbm": [-20.0]})
    housekeeping_task()
    assert HistoryHour.objects.get().hour == long_ago
