import pytest

from facho.core.optics import (
    FEWEST_HOURS,
    Limits,
    baseline_of,
    has_weak_power,
    is_below,
    judge_power,
    middle_half,
    optical_change,
    power_difference,
)


def turns(powers: list[float], usual: float | None = None) -> list[str]:
    """What is told on the way, with the power at which it was."""
    state, told = "", []
    for power in powers:
        now = judge_power(power, usual, state, Limits())
        if (said := optical_change(state, now)) is not None:
            told.append(f"{said} {power}")
        state = now.value
    return told


@pytest.mark.parametrize(
    ("powers", "usual", "told"),
    [
        ([-26.9, -27.0], None, []),
        # At the limit it does not come and go.
        ([-26.9, -27.1, -26.9, -27.2, -26.1, -26.0], None, ["weak -27.1", "recovered -26.0"]),
        ([-20.0, -22.9, -23.0, -22.5, -22.1, -22.0], -20.0, ["falling -23.0", "recovered -22.0"]),
        # It fell, and fell further.
        ([-24.5, -27.5], -21.0, ["falling -24.5", "weak -27.5"]),
        # It is better, and not well.
        ([-27.5, -25.0, -22.0], -21.0, ["weak -27.5", "recovered -22.0"]),
        ([-40.0], None, ["weak -40.0"]),
        # Who never had more has not lost it.
        ([-26.5], -26.0, []),
        ([-18.0], -20.0, []),
    ],
)
def test_what_is_told_of_a_power(powers: list[float], usual: float | None, told: list[str]) -> None:
    assert turns(powers, usual) == told


def test_hundredths_are_not_lost_in_floats() -> None:
    assert judge_power(-20.1, -17.1, "", Limits()) == "falling"
    assert judge_power(-26.0, None, "weak", Limits()) == ""


def test_the_limits_can_be_set() -> None:
    limits = Limits(weak_dbm=-25.0, fall_db=2.0)
    assert judge_power(-25.1, None, "", limits) == "weak"
    assert judge_power(-22.0, -20.0, "", limits) == "falling"


def test_nothing_is_told_twice() -> None:
    assert turns([-30.0, -30.0, -31.0]) == ["weak -30.0"]
    assert turns([-24.0, -24.0, -25.0], -20.0) == ["falling -24.0"]


def test_usual_is_the_middle_of_a_day_or_more() -> None:
    assert baseline_of([-20.0] * (FEWEST_HOURS - 1)) is None
    assert baseline_of([-20.0] * FEWEST_HOURS) == -20.0
    # A bad night does not move it.
    assert baseline_of([-20.0] * 100 + [-28.0] * 12) == -20.0


@pytest.mark.parametrize(("state", "weak"), [("", False), ("weak", True), ("falling", True)])
def test_weak_is_what_the_last_collection_judged_so(state: str, weak: bool) -> None:
    assert has_weak_power(state) is weak


def test_a_power_is_compared_with_that_of_others() -> None:
    assert power_difference(-25.5, -23.5) == -2.0
    assert power_difference(None, -23.5) is None
    assert power_difference(-25.5, None) is None


def test_the_middle_half_needs_four_powers() -> None:
    assert middle_half([-22.0, -23.0, -24.0]) is None
    assert middle_half([-22.0, -23.0, -24.0, -25.0]) == (-24.25, -22.75)


@pytest.mark.parametrize(("power", "below"), [(-27.0, False), (-27.001, False), (-27.01, True)])
def test_a_power_is_below_a_limit_by_a_hundredth(power: float, below: bool) -> None:
    assert is_below(power, -27.0) is below
