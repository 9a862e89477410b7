"""How an OLT does, and whether a loop steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from facho.core.olt_status import LastHour, OltStatus, degraded_reason, down_since, olt_status
from facho.core.steps import StepState, step_state

WELL: dict[str, Any] = {
    "enabled": True, "maintained": False, "suspended": False, "reachable": True, "failed_in_a_row": 0,
}  # fmt: skip
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({}, OltStatus.FINE),
        ({"reachable": None}, OltStatus.NEVER_ASKED),
        ({"reachable": False}, OltStatus.UNREACHABLE),
        ({"failed_in_a_row": 1}, OltStatus.FAILING),
        ({"degraded": True, "overloaded": True}, OltStatus.DEGRADED),
        ({"overloaded": True}, OltStatus.OVERLOADED),
        ({"degraded": True, "failed_in_a_row": 1}, OltStatus.FAILING),
        ({"degraded": True, "maintained": True}, OltStatus.MAINTENANCE),
        # It is not asked any more: that it was silent is old news.
        ({"suspended": True, "reachable": False, "failed_in_a_row": 3}, OltStatus.SUSPENDED),
        ({"maintained": True, "suspended": True, "reachable": False}, OltStatus.MAINTENANCE),
        ({"enabled": False, "maintained": True, "suspended": True}, OltStatus.DISABLED),
    ],
)
def test_an_olt_has_one_status(facts: dict[str, Any], status: OltStatus) -> None:
    assert olt_status(**{**WELL, **facts}) is status


@pytest.mark.parametrize(
    ("hour", "code"),
    [
        (LastHour(5000, 177, 80, 0), "many_timeouts"),
        (LastHour(5000, 99, 80, 0), ""),
        # A few lost packets of few requests are no sign of anything.
        (LastHour(60, 19, 10, 0), ""),
        (LastHour(5000, 0, 9, 1), ""),
        (LastHour(5000, 0, 18, 2), "many_failures"),
        (LastHour(5000, 0, 19, 2), ""),
        (LastHour(5000, 177, 5, 5), "many_failures"),
        (LastHour(0, 0, 0, 0), ""),
    ],
)
def test_an_olt_is_degraded_by_the_shares_of_its_last_hour(hour: LastHour, code: str) -> None:
    assert degraded_reason(hour).code == code


@pytest.mark.parametrize(
    ("age", "every", "state"),
    [
        (None, 1, StepState.NEVER),
        (0, 1, StepState.FINE),
        (10, 1, StepState.FINE),
        (10.1, 1, StepState.STALLED),
        # Nobody is taken to stand still within seconds because the step is short.
        (9, 0.1, StepState.FINE),
        (50, 5, StepState.FINE),
        (50.1, 5, StepState.STALLED),
        (-15, 1, StepState.FINE),
        (-15.1, 1, StepState.AHEAD),
    ],
)
def test_a_loop_stands_still_after_ten_of_its_steps(
    age: float | None, every: float, state: StepState
) -> None:
    found = None if age is None else age * SECOND
    assert step_state(found, every * SECOND, ahead=15 * SECOND) is state


def test_an_olt_is_down_since_it_stopped_answering_although_it_is_suspended_later() -> None:
    silent = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert down_since(silent, None) == down_since(silent, silent + SECOND) == silent
    # Suspended while it answered, such as for wrong credentials.
    assert down_since(None, silent) == silent
    assert down_since(None, None) is None
