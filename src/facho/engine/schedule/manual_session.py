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
from facho.engine.process.leases import LeaseLost, start
from facho.engine.process.snmp_loop import Errand
from facho.engine.record.recorder import record_by_hand
from facho.engine.schedule.runner import Runtime, insist, let_go
from facho.snmp import Client, Load, SnmpError


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a conversation, for the execution that is its trace."""

    values: int = 0
    error: str = ""
    load: Load = field(default_factory=Load)


Conversing = Callable[[Client, Guard, int], Coroutine[Any, Any, Came]]


def converse(execution_id: int, runtime: Runtime, what: str, conversation: Conversing) -> bool:
    """Under the lease of an execution that was claimed. False when the OLT was taken away meanwhile.

    What is asked must go through the client, the guard and the tag that `conversation` is given. Raises the
    SnmpError that it raises.
    """
    started = start(execution_id, runtime.worker, runtime.config)
    if started is None:
        return False
    errand = Errand(runtime.snmp)
    with runtime.keeper.holding(started, errand.cancel) as held:
        began = time.monotonic()
        try:
            sql.give_back()
            came, error = _said(errand, conversation(runtime.snmp.client, held.check, tag_of(started.run_id)))
            outcome = _outcome(what, came, began)
            insist(lambda: record_by_hand(started, outcome, database_now()), held, runtime.config)
        except (LeaseLost, CancelledError):
            let_go(started, runtime)
            return False
    if error is not None:
        raise error
    return True


def _said(errand: Errand, conversation: Coroutine[Any, Any, Came]) -> tuple[Came, SnmpError | None]:
    try:
        return errand.run(conversation), None
    except SnmpError as error:
        return Came(error=str(error)), error


def _outcome(what: str, came: Came, began: float) -> PartOutcome:
    part = Part(None, what, "walk", what, (), ())
    return PartOutcome(
        part,
        PartState.FAILED if came.error else PartState.SUCCESS,
        came.error,
        seconds=time.monotonic() - began,
        rows=came.values,
        load=came.load,
    )
