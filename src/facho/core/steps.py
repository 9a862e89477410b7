"""Whether a loop that should step again and again does so, by the age of its last step."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

# What is later than so many times its step is missing.
LATE: Final = 10
_SECOND: Final = timedelta(seconds=1)


class StepState(StrEnum):
    FINE = "fine"
    NEVER = "never"
    STALLED = "stalled"
    # Its last step lies in the future: the clock was set back since.
    AHEAD = "ahead"


def step_state(age: timedelta | None, every: timedelta, *, ahead: timedelta) -> StepState:
    """`age` is None when there was no step yet. One no further in the future than `ahead` is fine."""
    if age is None:
        return StepState.NEVER
    if age > LATE * max(every, _SECOND):
        return StepState.STALLED
    return StepState.AHEAD if age < -ahead else StepState.FINE


SCHEDULER: Final = "scheduler"


COORDINATOR: Final = "coordinator"
