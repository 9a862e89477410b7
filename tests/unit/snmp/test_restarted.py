"""A restart during a walk is noticed; a clock that is only coarse, or wraps, is not taken for one."""

import pytest

from facho.snmp.values import TimeTicks
from facho.snmp.walk import restarted

SECOND = 100
DAY = 86_400 * SECOND
WRAP = 2**32


@pytest.mark.parametrize("elapsed", [0.0, 0.01, 1.0, 60.0, 3_600.0])
def test_a_clock_that_goes_on_shows_no_restart(elapsed: float) -> None:
    before = TimeTicks(30 * DAY)
    assert not restarted(before, TimeTicks(before + round(elapsed * SECOND)), elapsed)


def test_an_uptime_that_went_back_is_a_restart() -> None:
    assert restarted(TimeTicks(30 * DAY), TimeTicks(5 * SECOND), 60.0)


def test_an_uptime_later_than_before_but_too_early_is_a_restart() -> None:
    """Up for a second, walked for ten minutes, and now up for five: it started again in between."""
    assert restarted(TimeTicks(1 * SECOND), TimeTicks(300 * SECOND), 600.0)


@pytest.mark.parametrize(("elapsed", "shown"), [(9.0, 0.0), (60.0, 50.0), (600.0, 560.0), (60.0, 66.0)])
def test_a_coarse_or_drifting_clock_is_no_restart(elapsed: float, shown: float) -> None:
    before = TimeTicks(30 * DAY)
    assert not restarted(before, TimeTicks(before + round(shown * SECOND)), elapsed)


@pytest.mark.parametrize("until_wrap", [1, 10, 59])
def test_the_wrap_after_497_days_is_no_restart(until_wrap: int) -> None:
    before = TimeTicks(WRAP - until_wrap * SECOND)
    assert not restarted(before, TimeTicks((60 - until_wrap) * SECOND), 60.0)


def test_just_before_the_wrap_a_clock_that_has_not_wrapped_yet_is_no_restart() -> None:
    before = TimeTicks(WRAP - 61 * SECOND)
    assert not restarted(before, TimeTicks(before + 60 * SECOND), 60.0)


def test_a_restart_on_the_day_of_the_wrap_is_still_noticed() -> None:
    assert restarted(TimeTicks(WRAP - 10 * SECOND), TimeTicks(5 * SECOND), 120.0)
