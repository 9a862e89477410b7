"""How long a task takes is learned run by run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from facho.core.forecast import Learned, learn, predict, typical_error

BEGINS = datetime(2026, 3, 2, tzinfo=UTC)
MINUTES = timedelta(minutes=1)
HOUR = timedelta(hours=1)
Seconds = Callable[[datetime], float]


class Task:
    """A task on an OLT, taught run after run."""

    def __init__(self, every: timedelta = 10 * MINUTES, onus: int = 1000) -> None:
        self.learned = Learned()
        self.now = BEGINS
        self.every = every
        self.onus = onus

    def run(self, *seconds: float) -> None:
        for each in seconds:
            self.learned = learn(self.learned, self.now, each, self.onus, UTC)
            self.now += self.every

    def run_for(self, time: timedelta, seconds: Seconds) -> None:
        until = self.now + time
        while self.now < until:
            self.run(seconds(self.now))

    def predicted(self, at: datetime | None = None, onus: int | None = None) -> float:
        return predict(self.learned, at or self.now, onus or self.onus, UTC).p50_s


def evening(at: datetime) -> float:
    return 16.0 if at.hour in (20, 21, 22) else 10.0


def test_what_always_takes_the_same_is_predicted_so() -> None:
    task = Task()
    task.run(*[12.0] * 30)
    assert task.predicted() == pytest.approx(12)
    assert task.learned.error_pct == pytest.approx(0.1)


@pytest.mark.parametrize(("runs", "sure"), [(1, False), (2, False), (3, True)])
def test_after_three_runs_it_is_sure(runs: int, sure: bool) -> None:
    task = Task()
    task.run(*[12.0] * runs)
    assert predict(task.learned, task.now, 1000, UTC).sure is sure


def test_one_outlier_does_not_bend_it() -> None:
    task = Task()
    task.run(*[10.0] * 8, 300.0)
    assert task.predicted() == pytest.approx(10, rel=0.07)
    task.run(10.0, 10.0, 400.0, 10.0)
    assert task.predicted() == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_jump_that_stays_is_believed_after_three_runs(factor: float) -> None:
    task = Task()
    task.run(*[10.0] * 40, *[10.0 * factor] * 2)
    assert task.predicted() == pytest.approx(10, rel=0.15)
    task.run(10.0 * factor)
    assert task.predicted() == pytest.approx(10 * factor, rel=0.02)


def test_after_a_jump_the_curve_of_the_day_is_still_known() -> None:
    task = Task()
    task.run_for(timedelta(days=3, hours=12), evening)
    task.run_for(HOUR, lambda at: 2 * evening(at))
    tonight = task.now.replace(hour=21, minute=30)
    assert task.predicted(tonight) == pytest.approx(32, rel=0.1)


def test_the_evening_is_predicted_before_it_comes() -> None:
    task = Task(every=HOUR)
    task.run_for(timedelta(days=5, hours=15), evening)
    assert task.predicted() == pytest.approx(10, rel=0.1)
    assert task.predicted(task.now.replace(hour=21, minute=30)) == pytest.approx(16, rel=0.15)


def test_an_hour_that_is_hardly_known_counts_little() -> None:
    once, often = Task(every=HOUR), Task(every=HOUR)
    once.run_for(timedelta(days=1, hours=4), evening)
    often.run_for(timedelta(days=6, hours=4), evening)
    at = timedelta(hours=17, minutes=30)
    tonight, later = (task.predicted(task.now + at) for task in (once, often))
    assert 10 < tonight < later < 16.5


def test_the_hours_are_those_of_the_operators_clock() -> None:
    zone = ZoneInfo("America/Bogota")
    learned = Learned()
    for hour in range(24 * 5):
        at = BEGINS + hour * HOUR
        learned = learn(learned, at, evening(at.astimezone(zone)), 1000, zone)
    night = datetime(2026, 3, 8, 21, 30, tzinfo=zone)
    assert predict(learned, night, 1000, zone).p50_s > 14
    assert predict(learned, night.replace(tzinfo=UTC), 1000, zone).p50_s < 12


def test_more_onus_take_longer() -> None:
    task = Task(onus=950)
    task.run(*[20.0] * 10)
    # As if 50 more of them were the fixed part, until something else is known.
    assert task.predicted(onus=1950) == pytest.approx(40, rel=0.01)


@pytest.mark.parametrize("depends", [True, False])
def test_what_depends_on_onus_is_learned_when_many_come_and_go_at_once(depends: bool) -> None:
    task, dice = Task(onus=1000), Random(1)
    for onus in (1000, 1300, 1000, 1400, 1100, 1500, 1200, 1600):
        task.onus = onus
        task.run(*[10.0 * (onus / 1000 if depends else 1) * math.exp(dice.gauss(0, 0.02)) for _ in range(14)])
    twice = task.predicted(onus=3200) / task.predicted(onus=1600)
    assert twice > 1.9 if depends else twice < 1.45


def test_slow_growth_is_followed() -> None:
    task = Task(every=HOUR)
    for day in range(10):
        task.onus = round(1000 * 1.02**day)
        task.run(*[10.0 * 1.02**day] * 24)
    assert task.predicted() == pytest.approx(10 * 1.02**9, rel=0.03)


def test_nineteen_of_twenty_runs_take_no_longer_than_p95() -> None:
    task, dice, within = Task(), Random(7), []
    for _ in range(1500):
        seconds = 10 * math.exp(dice.gauss(0, 0.2))
        if task.learned.samples > 100:
            within.append(seconds <= predict(task.learned, task.now, 1000, UTC).p95_s)
        task.run(seconds)
    assert sum(within) / len(within) == pytest.approx(0.95, abs=0.02)


def test_the_error_is_that_of_half_of_the_predictions() -> None:
    task, dice = Task(), Random(3)
    task.run(*[10 * math.exp(dice.gauss(0, 0.15)) for _ in range(600)])
    assert task.learned.error_pct == pytest.approx(10.5, abs=3)


def test_the_error_of_runs_far_shorter_than_predicted_stays_below_100_percent() -> None:
    task = Task()
    task.run(100.0, 1.5)
    assert task.learned.error_pct == pytest.approx(98.5)
    task.run(*[500.0, 1.5] * 20)
    assert task.learned.error_pct is not None
    assert task.learned.error_pct < 100


def test_an_error_without_bound_of_an_earlier_version_is_read_as_a_share_of_the_longer() -> None:
    task = Task()
    task.run(*[10.0] * 4)
    assert Learned.from_json({**task.learned.as_json(), "error": 64.12}).error_pct == pytest.approx(
        98.46, abs=0.01
    )


@pytest.mark.parametrize(
    ("predicted_s", "error_pct", "seconds", "accuracy"),
    [
        (100, 8, 8, "good"),
        (100, 30, 30, "fair"),
        (100, 60, 60, "poor"),
        (1.2, 60, 0.72, "good"),
        (10, 6412, 9.8, "poor"),
    ],
)
def test_an_error_is_judged_by_its_seconds_too(
    predicted_s: float, error_pct: float, seconds: float, accuracy: str
) -> None:
    typical = typical_error(predicted_s, error_pct)
    assert typical is not None
    assert typical.seconds == pytest.approx(seconds, abs=0.1)
    assert typical.accuracy == accuracy


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_what_has_no_duration_teaches_nothing(seconds: float) -> None:
    task = Task()
    task.run(10.0)
    before = task.learned
    task.run(seconds)
    assert task.learned == before


def test_it_is_written_down_and_read_again() -> None:
    task, dice = Task(), Random(5)
    task.run(*[10 * math.exp(dice.gauss(0, 0.2)) for _ in range(200)])
    again = Learned.from_json(json.loads(json.dumps(task.learned.as_json())))
    assert again.as_json() == task.learned.as_json()
    assert predict(again, task.now, 1000, UTC).p50_s == pytest.approx(task.predicted(), rel=0.001)


@pytest.mark.parametrize("written", [{}, {"hours": 3}, {**Learned().as_json(), "another": 1}])
def test_what_another_version_wrote_is_learned_anew(written: dict[str, Any]) -> None:
    assert Learned.from_json(written) == Learned()


def test_its_parts_add_up_to_what_it_takes() -> None:
    task = Task(onus=450)
    task.run(*[20.0] * 20)
    assert task.learned.fixed_s == pytest.approx(2, rel=0.01)
    assert task.learned.fixed_s + 450 * task.learned.per_onu_s == pytest.approx(20, rel=0.01)
