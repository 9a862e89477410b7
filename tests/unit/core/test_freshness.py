from __future__ import annotations

from datetime import timedelta

import pytest

from facho.core.freshness import EngineProblem, engine_problem, shown_state, stale_after
from facho.core.olt_status import OltStatus
from facho.core.steps import StepState

FINE, NEVER, STALLED = StepState.FINE, StepState.NEVER, StepState.STALLED


@pytest.mark.parametrize(
    ("scheduler", "coordinator", "pollers", "problem"),
    [
        (FINE, FINE, 1, None),
        (FINE, NEVER, 1, None),
        (NEVER, NEVER, 0, EngineProblem.NEVER_STARTED),
        (STALLED, STALLED, 0, EngineProblem.STOPPED),
        (FINE, FINE, 0, EngineProblem.NO_POLLERS),
        (FINE, STALLED, 1, EngineProblem.COORDINATOR_STOPPED),
    ],
)
def test_what_stops_the_data_is_named_before_what_stops_less(
    scheduler: StepState, coordinator: StepState, pollers: int, problem: EngineProblem | None
) -> None:
    assert engine_problem(scheduler, coordinator, pollers) is problem


@pytest.mark.parametrize("status", OltStatus)
def test_the_state_of_an_onu_is_unknown_behind_an_olt_that_delivers_nothing(status: OltStatus) -> None:
    silent = status.value in ("unreachable", "suspended", "maintenance", "disabled")
    shown = shown_state("online", status)
    assert shown.state == ("unknown" if silent else "online")
    assert shown.last_known == "online"
    assert shown.because == (status if silent else None)


def test_a_value_is_old_after_three_intervals_and_not_before_two_minutes() -> None:
    assert stale_after(timedelta(minutes=5)) == timedelta(minutes=15)
    assert stale_after(timedelta(seconds=10)) == timedelta(minutes=2)
    assert stale_after(None) == timedelta(days=1)
