"""What is too old, and from when on a clock is believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.retention import SETTLES_IN, Turns, kept_from, next_turn

NOW = datetime(2026, 3, 10, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def turns_every_minute(count: int, start: datetime, before: Turns | None = None) -> Turns:
    for number in range(count):
        before = next_turn(before, start + number * MINUTE, every=MINUTE)
    assert before is not None
    return before


def test_what_is_kept_is_as_old_as_it_may_be() -> None:
    assert kept_from(NOW, timedelta(days=30)) == datetime(2026, 2, 8, 10, 0, tzinfo=UTC)
    assert kept_from(NOW, timedelta()) == NOW


def test_what_is_kept_for_ever_can_be_written_as_a_very_long_time() -> None:
    assert kept_from(NOW, timedelta.max) == datetime(1970, 1, 1, tzinfo=UTC)


def test_the_first_turns_remove_nothing() -> None:
    assert not next_turn(None, NOW, every=MINUTE).settled
    assert not turns_every_minute(60, NOW).settled
    assert turns_every_minute(61, NOW).settled


@pytest.mark.parametrize("jump", [timedelta(days=3650), timedelta(hours=2), timedelta(days=-400)])
def test_a_clock_that_was_set_is_not_believed_at_once(jump: timedelta) -> None:
    settled = turns_every_minute(61, NOW)
    assert not next_turn(settled, settled.last + jump, every=MINUTE).settled
    assert turns_every_minute(61, settled.last + jump, settled).settled


def test_a_restart_is_no_gap() -> None:
    settled = turns_every_minute(61, NOW)
    assert next_turn(settled, settled.last + timedelta(minutes=20), every=MINUTE).settled


def test_two_processes_whose_clocks_differ_a_little_take_turns() -> None:
    settled = turns_every_minute(61, NOW)
    assert next_turn(settled, settled.last - timedelta(seconds=1), every=MINUTE) == settled


def test_rare_turns_are_no_gaps() -> None:
    rare = timedelta(hours=3)
    first = next_turn(None, NOW, every=rare)
    assert next_turn(first, NOW + rare, every=rare).settled
    assert rare > SETTLES_IN
