"""Whether what is shown is still true: of the engine, of an OLT, of a value, of the state of an ONU."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from facho.core.olt_status import OltStatus
from facho.core.steps import StepState

# A value is old after so many intervals of the node that collects it.
STALE_INTERVALS: Final = 3
# Less is no sign of anything: a node with a short interval may be late by this much on a busy OLT.
_SHORTEST: Final = timedelta(minutes=2)
# A value that no node collects any more is old after a day.
_UNCOLLECTED: Final = timedelta(days=1)

# An OLT in one of these states is not asked, or does not answer.
NOT_DELIVERING: Final = frozenset(
    (OltStatus.UNREACHABLE, OltStatus.SUSPENDED, OltStatus.MAINTENANCE, OltStatus.DISABLED)
)
UNKNOWN: Final = "unknown"


class EngineProblem(StrEnum):
    """Why the engine delivers nothing, or not all."""

    NEVER_STARTED = "never_started"
    STOPPED = "stopped"
    NO_POLLERS = "no_pollers"
    # Data arrive; changes of the configuration and quotas are not processed.
    COORDINATOR_STOPPED = "coordinator_stopped"


# With these nothing is collected.
BLOCKING: Final = frozenset((EngineProblem.NEVER_STARTED, EngineProblem.STOPPED, EngineProblem.NO_POLLERS))


def engine_problem(scheduler: StepState, coordinator: StepState, pollers: int) -> EngineProblem | None:
    """Return what keeps the engine from delivering; None when it delivers. `pollers` are those alive."""
    if scheduler is StepState.NEVER:
        return EngineProblem.NEVER_STARTED
    if scheduler is StepState.STALLED:
        return EngineProblem.STOPPED
    if not pollers:
        return EngineProblem.NO_POLLERS
    if coordinator is StepState.STALLED:
        return EngineProblem.COORDINATOR_STOPPED
    return None


def is_delivering(status: OltStatus) -> bool:
    return status not in NOT_DELIVERING


def stale_after(interval: timedelta | None) -> timedelta:
    """Return the age at which a value is old. The interval is None when nothing collects it."""
    return _UNCOLLECTED if interval is None else max(_SHORTEST, STALE_INTERVALS * interval)


def is_stale(collected_at: datetime, interval: timedelta | None, now: datetime) -> bool:
    return now - collected_at > stale_after(interval)


@dataclass(frozen=True, slots=True)
class ShownState:
    """The state of an ONU as people may believe it, and the one that was collected last."""

    state: str
    last_known: str
    # The status of the OLT that makes the state unknown; None when the state is known.
    because: OltStatus | None = None

    @property
    def is_known(self) -> bool:
        return self.because is None


def shown_state(state: str, status: OltStatus) -> ShownState:
    """Return the state to show of an ONU behind an OLT of this status. Nobody knows it behind a dead OLT."""
    if is_delivering(status):
        return ShownState(state, state)
    return ShownState(UNKNOWN, state, status)
