"""State of a loop, from the age of its last step."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

# A step is missing after this many step intervals.
LATE: Final = 10
_SECOND: Final = timedelta(seconds=1)


class StepState(StrEnum):
    FINE = "fine"
    NEVER = "never"
    STALLED = "stalled"
    # Its last step lies in the future: the clock was set back since.
    AHEAD = "ahead"


def step_state(age: timedelta | None, every: timedelta, *, ahead: timedelta) -> StepState:
    """Return the state. `age` is None before the first step; up to `ahead` in the future is fine."""
    if age is None:
        return StepState.NEVER
    if age > LATE * max(every, _SECOND):
        return StepState.STALLED
    return StepState.AHEAD if age < -ahead else StepState.FINE


SCHEDULER: Final = "scheduler"


COORDINATOR: Final = "coordinator"
