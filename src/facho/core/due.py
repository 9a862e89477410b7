"""The fate of a due slot: queued, adopted by a waiting run-now, or skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from facho.core.cpu import Asking
from facho.core.delay import Why


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An execution of the node that has not ended yet."""

    execution_id: int
    # WAITING; otherwise PENDING or RUNNING.
    waiting: bool
    # Waiting for the time of its next attempt.
    retrying: bool
    # Requested by a person; it is not the run of a slot.
    by_hand: bool
    attempt: int


@dataclass(frozen=True, slots=True)
class Node:
    """The state of a node that decides about its slot, apart from an unfinished execution."""

    is_get: bool
    suspended: str
    olt_suspended: str
    asking: Asking
    # The execution that holds the OLT now, if any.
    olt_busy_with: int | None
    # The slot lies in a maintenance window.
    left_alone: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """Queue an execution. `attempt` counts the attempts of the execution that it replaces."""

    attempt: int = 0
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Adopt:
    """The run that a person asked for, and that has not begun, becomes the slot's."""

    execution_id: int


@dataclass(frozen=True, slots=True)
class Skip:
    why: Why
    execution_id: int | None = None
    detail: str = ""


Fate: TypeAlias = Queue | Adopt | Skip


def fate_of_slot(node: Node, unfinished: Unfinished | None) -> Fate:
    if node.left_alone:
        return Skip(Why.MAINTENANCE)
    if node.olt_suspended:
        return Skip(Why.OLT_UNREACHABLE, detail=node.olt_suspended)
    if node.suspended:
        return Skip(Why.SUSPENDED, detail=node.suspended)
    if node.is_get and node.asking is Asking.SKIP_GETS:
        return Skip(Why.CPU_HIGH)
    if unfinished is None:
        return Queue()
    return _fate_with_unfinished(unfinished, node.olt_busy_with)


def _fate_with_unfinished(unfinished: Unfinished, olt_busy_with: int | None) -> Fate:
    if not unfinished.waiting:
        return Skip(Why.STILL_RUNNING, unfinished.execution_id)
    if unfinished.retrying:
        # The next slot comes before the retry: the old slot has failed, and this one is the next attempt.
        return Queue(unfinished.attempt, unfinished.execution_id)
    if unfinished.by_hand:
        return Adopt(unfinished.execution_id)
    if olt_busy_with is not None:
        return Skip(Why.OLT_BUSY, olt_busy_with)
    return Skip(Why.POLLERS_BUSY, unfinished.execution_id)
