"""Decides how an execution ends after an attempt, and what follows for its node, its OLT and its quotas.

What is stored is read before, and what is decided here is written after, in one transaction.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from facho.core.delay import Why
from facho.core.quota import Outcome, SlotOutcome

PROBE_AFTER: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=60),
)
# A power cut in the only attempt of a node is no reason to suspend it; being lost twice in a row is.
_LOST_BEFORE_SUSPENSION: Final = 2


class EndState(enum.StrEnum):
    """The state of an execution after an attempt."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    ABORTED = "ABORTED"
    # Another attempt follows.
    WAITING = "WAITING"


_STATES: Final = {
    Outcome.COMPLETED: EndState.SUCCESS,
    Outcome.FAILED: EndState.FAILED,
    # The master was skipped, and so nothing was asked.
    Outcome.SKIPPED: EndState.ABORTED,
}


class Suspension(enum.Enum):
    """What an execution that failed for good suspends: a silent OLT as a whole, otherwise its node."""

    OLT = "olt"
    NODE = "node"


class ReplanReason(enum.StrEnum):
    """Why the plans of an OLT are made again at once."""

    UNREACHABLE = "unreachable"
    BACK = "back"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """What a collection brought, without its data. The first part is the master's."""

    parts: Sequence[tuple[int | None, SlotOutcome]]
    # Nodes that were not asked, because the OLT's family has nothing for them.
    unsupported: Sequence[int] = ()
    # Whether anything was sent to the OLT, and whether nothing at all came back.
    was_asked: bool = True
    silent: bool = False

    @property
    def master(self) -> SlotOutcome:
        return self.parts[0][1]

    @property
    def has_failed(self) -> bool:
        return self.master.outcome is Outcome.FAILED


@dataclass(frozen=True, slots=True)
class NodeBefore:
    """The node of a failed attempt, as it was before. Its row and that of its OLT are locked."""

    max_attempts: int
    retry_delay: timedelta
    failures_in_a_row: int = 0
    # Whether a next attempt may wait: nobody switched the node off or queued another execution of it.
    may_queue: bool = True
    is_suspended: bool = False
    is_olt_suspended: bool = False
    failed_probes: int = 0
    failed_olt_probes: int = 0


@dataclass(frozen=True, slots=True)
class OltReachability:
    """Whether an OLT answered, and its failures in a row, before an attempt ended."""

    away_since: datetime | None = None
    failed_in_a_row: int = 0


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How an attempt ends: `retry_at` is that of the next one, `probe_in` that of what is suspended."""

    state: EndState
    retry_at: datetime | None = None
    suspension: Suspension | None = None
    probe_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class OltAfter:
    """What follows for the OLT. `reachable` is None if the attempt says nothing about that."""

    reachable: bool | None
    failed_in_a_row: int
    replan: ReplanReason | None = None


@dataclass(frozen=True, slots=True)
class CollectionEnd:
    """All that follows from a collection."""

    attempt: AttemptEnd
    olt: OltAfter
    # What to count for the quotas, by node, and for nodes that are not named; None while it is retried.
    outcomes: Mapping[int, SlotOutcome] | None
    otherwise: SlotOutcome


def decide_end(
    summary: CollectionSummary,
    number: int,
    node: NodeBefore | None,
    olt: OltReachability,
    now: datetime,
    *,
    is_collection: bool,
    emergency_failures: int,
    probe_waits: Sequence[timedelta] = PROBE_AFTER,
) -> CollectionEnd:
    """Decide what became of a collection. `node` is needed only if the master's part failed."""
    if summary.has_failed:
        attempt = end_failed_attempt(number, node, now, silent=summary.silent, probe_waits=probe_waits)
    else:
        attempt = AttemptEnd(_STATES[summary.master.outcome])
    outcomes, otherwise = count_parts(summary)
    return CollectionEnd(
        attempt,
        judge_olt(
            olt, attempt.state, summary, is_collection=is_collection, emergency_failures=emergency_failures
        ),
        None if attempt.state is EndState.WAITING else outcomes,
        otherwise,
    )


def end_failed_attempt(
    number: int,
    node: NodeBefore | None,
    now: datetime,
    *,
    silent: bool = False,
    lost: bool = False,
    probe_waits: Sequence[timedelta] = PROBE_AFTER,
) -> AttemptEnd:
    """Return the end of attempt `number`, counted from 1: another one follows, or none, with a suspension.

    `lost` is an attempt whose process died, hung or was cut off: the attempt may not be to blame.
    """
    if node is None:
        return AttemptEnd(EndState.FAILED)
    is_suspended = node.is_suspended or node.is_olt_suspended
    is_last = number >= node.max_attempts
    if not is_last and not is_suspended and node.may_queue:
        return AttemptEnd(EndState.WAITING, now + node.retry_delay)
    may_be_innocent = lost and node.failures_in_a_row + 1 < _LOST_BEFORE_SUSPENSION
    if not is_last or is_suspended or may_be_innocent:
        return AttemptEnd(EndState.FAILED)
    suspension = Suspension.OLT if silent else Suspension.NODE
    failed_probes = node.failed_olt_probes if silent else node.failed_probes
    return AttemptEnd(
        EndState.FAILED, suspension=suspension, probe_in=probe_after(failed_probes, waits=probe_waits)
    )


def probe_after(failed_probes: int, *, waits: Sequence[timedelta] = PROBE_AFTER) -> timedelta:
    """Return how long to leave a silent device alone. The last wait repeats."""
    return waits[min(failed_probes, len(waits) - 1)]


def count_parts(summary: CollectionSummary) -> tuple[Mapping[int, SlotOutcome], SlotOutcome]:
    """Return the outcome of each node for the quotas, and that of nodes that are not named.

    A part that the family has nothing for is completed as far as it can be. A node that has no part at all
    was suspended.
    """
    unsupported = dict.fromkeys(summary.unsupported, SlotOutcome(Outcome.COMPLETED))
    asked = {node_id: outcome for node_id, outcome in summary.parts if node_id is not None}
    return {**unsupported, **asked}, SlotOutcome(Outcome.SKIPPED, why=Why.SUSPENDED)


def judge_olt(
    before: OltReachability,
    state: EndState,
    summary: CollectionSummary | None,
    *,
    is_collection: bool,
    emergency_failures: int,
) -> OltAfter:
    """Decide whether the OLT answers, how many executions failed in a row, and whether to replan it.

    `summary` is None if it was never asked. What is no collection of the OLT, a reading of one ONU, says only
    whether the OLT answers: its failures are not counted.
    """
    failures = before.failed_in_a_row
    if is_collection and state in (EndState.SUCCESS, EndState.FAILED):
        failures = failures + 1 if state is EndState.FAILED else 0
    replan = _reachability_change(before, summary)
    if replan is None and is_collection and state is EndState.FAILED and failures == emergency_failures:
        replan = ReplanReason.FAILURES
    return OltAfter(_is_reachable(summary), failures, replan)


def _is_reachable(summary: CollectionSummary | None) -> bool | None:
    if summary is None or not (summary.silent or summary.was_asked):
        return None
    return not summary.silent


def _reachability_change(before: OltReachability, summary: CollectionSummary | None) -> ReplanReason | None:
    if summary is None or not summary.was_asked:
        return None
    if summary.silent:
        return ReplanReason.UNREACHABLE if before.away_since is None else None
    return None if before.away_since is None else ReplanReason.BACK
