"""A person's own conversation with an OLT: it stores nothing, and still has the OLT to itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.engine.collect.conversation import Guard, tag_of
from facho.engine.collect.work import Part, PartOutcome, PartState
from facho.engine.process.leases import LeaseLost, start_execution
from facho.engine.process.snmp_loop import SnmpTask
from facho.engine.record.no_collection import record_by_hand
from facho.engine.schedule.runner import Runtime, abandon_execution, retry_while_leased
from facho.snmp import Client, Load, SnmpError


@dataclass(frozen=True, slots=True)
class ManualResult:
    """What came of a conversation, for the execution that is its trace."""

    values: int = 0
    error: str = ""
    load: Load = field(default_factory=Load)


Conversing = Callable[[Client, Guard, int], Coroutine[Any, Any, ManualResult]]


def run_manual_session(execution_id: int, runtime: Runtime, what: str, conversation: Conversing) -> bool:
    """Under the lease of an execution that was claimed. False when the OLT was taken away meanwhile.

    What is asked must go through the client, the guard and the tag that `conversation` is given. Raises the
    SnmpError that it raises.
    """
    started = start_execution(execution_id, runtime.worker, runtime.config)
    if started is None:
        return False
    task = SnmpTask(runtime.snmp)
    with runtime.keeper.holding(started, task.cancel) as held:
        began = time.monotonic()
        try:
            sql.release_connection()
            came, error = _said(task, conversation(runtime.snmp.client, held.check, tag_of(started.run_id)))
            outcome = _outcome(what, came, began)
            retry_while_leased(lambda: record_by_hand(started, outcome, database_now()), held, runtime.config)
        except (LeaseLost, CancelledError):
            abandon_execution(started, runtime)
            return False
    if error is not None:
        raise error
    return True


def _said(
    task: SnmpTask, conversation: Coroutine[Any, Any, ManualResult]
) -> tuple[ManualResult, SnmpError | None]:
    try:
        return task.run(conversation), None
    except SnmpError as error:
        return ManualResult(error=str(error)), error


def _outcome(what: str, came: ManualResult, began: float) -> PartOutcome:
    part = Part(None, what, "walk", what, (), ())
    return PartOutcome(
        part,
        PartState.FAILED if came.error else PartState.SUCCESS,
        came.error,
        seconds=time.monotonic() - began,
        rows=came.values,
        load=came.load,
    )
