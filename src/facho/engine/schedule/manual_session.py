"""Runs a person's own questions to an OLT: nothing is stored, but the OLT is leased like for an execution."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from facho.apps.db.database import release_connection
from facho.core.reasons import NO_REASON, Reason
from facho.engine.collect.column_reader import Guard, request_tag
from facho.engine.collect.part_results import PartResult, PartState
from facho.engine.collect.request_plan import Part
from facho.engine.process.leases import LeaseLost, start_execution
from facho.engine.record.no_collection import record_by_hand
from facho.engine.schedule.runner import Runtime, SnmpTask, abandon_execution, retry_while_leased
from facho.snmp import Client, Load, SnmpError


@dataclass(frozen=True, slots=True)
class ManualResult:
    """The result of a session, for the execution that is its trace."""

    values: int = 0
    error: Reason = NO_REASON
    load: Load = field(default_factory=Load)


Questions: TypeAlias = Callable[[Client, Guard, int], Coroutine[Any, Any, ManualResult]]


def run_manual_session(execution_id: int, runtime: Runtime, what: str, questions: Questions) -> bool:
    """Ask under the lease of a claimed execution. Return False when the lease was lost meanwhile.

    All requests must go through the client, the guard and the tag that `questions` is given. Raises the
    SnmpError that it raises.
    """
    started = start_execution(execution_id, runtime.worker, runtime.clock, runtime.config)
    if started is None:
        return False
    task = SnmpTask(runtime.snmp)
    snmp_error: SnmpError | None = None
    with runtime.leases.holding(started, task.cancel) as held:
        began = time.monotonic()
        try:
            release_connection()
            try:
                result = task.run(questions(runtime.snmp.client, held.check, request_tag(started.run_id)))
            except SnmpError as error:
                result, snmp_error = ManualResult(error=error.reason), error
            outcome = _outcome(what, result, time.monotonic() - began)
            retry_while_leased(lambda now: record_by_hand(started, outcome, now), held, runtime)
        except (LeaseLost, CancelledError):
            abandon_execution(started, runtime)
            return False
    if snmp_error is not None:
        raise snmp_error
    return True


def _outcome(what: str, result: ManualResult, seconds: float) -> PartResult:
    return PartResult(
        Part(None, what, "walk", what, (), ()),
        PartState.FAILED if result.error else PartState.SUCCESS,
        result.error,
        seconds=seconds,
        rows=result.values,
        load=result.load,
    )
