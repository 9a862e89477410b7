"""The collection that is being stored, and the execution it belongs to as it was before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.db.database import row_lock
from facho.apps.discovery.store import StoredOnus
from facho.apps.executions.models import Trigger
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.delay import Why
from facho.core.execution_end import CollectionEnd, CollectionSummary, NodeBefore, OltBefore
from facho.core.quota import FAILED, Outcome, SlotOutcome
from facho.core.reason_texts import CPU_TOO_HIGH
from facho.engine.collect.work import Collection, PartResult, PartState
from facho.engine.collect.work_builder import Planned
from facho.engine.coordinate.quotas import Slot, slot_from_row
from facho.engine.process.leases import LeaseLost, StartedExecution


@dataclass(frozen=True, slots=True)
class ExecutionBefore:
    """An execution that this process holds, and its OLT, before its attempt ends."""

    slot: Slot
    olt: OltBefore
    # Since when the stored states of its ONUs come from collections that broke off.
    unsure_since: datetime | None
    # It reads one ONU, and is no collection of the OLT.
    is_onu_read: bool
    # A person asked for it.
    is_run_now: bool
    # Some table had rows that could not be read.
    had_unreadable: bool


@dataclass(frozen=True, slots=True)
class LockedNode:
    """The node of a failed attempt, locked with its OLT until the transaction ends."""

    row: SnmpJobHost
    before: NodeBefore


@dataclass(frozen=True, slots=True)
class Recording:
    """A collection that is being stored: what every writer gets."""

    started: StartedExecution
    planned: Planned
    collection: Collection
    before: ExecutionBefore
    # What became of the ONUs, whose rows are written first: what follows depends on them.
    stored: StoredOnus
    end: CollectionEnd
    # Of an execution that failed and has a node.
    node: LockedNode | None
    now: datetime
    config: Config

    @property
    def olt_id(self) -> int:
        return self.started.olt_id


def check_lease(started: StartedExecution, now: datetime) -> ExecutionBefore:
    """Lock the execution's row, so that nobody aborts it or takes it back before this transaction ends.

    Everything else that the transaction locks comes after it, in the order of `executions.locks`. Raises
    LeaseLost.
    """
    rows = sql.fetch_rows(_HELD + row_lock("e"), [started.execution_id, started.token, sql.db_time(now)])
    if not rows:
        raise LeaseLost(f"execution {started.execution_id} was aborted or taken back; nothing was stored")
    slot, owes, trigger, onu_id, away_since, failed_in_a_row, unsure_since, had_unreadable = rows[0]
    return ExecutionBefore(
        slot_from_row(started.olt_id, sql.parse_time(slot), json.loads(owes)),
        OltBefore(None if away_since is None else sql.parse_time(away_since), failed_in_a_row),
        None if unsure_since is None else sql.parse_time(unsure_since),
        is_onu_read=onu_id is not None,
        is_run_now=trigger == Trigger.RUN_NOW,
        had_unreadable=bool(had_unreadable),
    )


_HELD: Final = (
    "SELECT e.slot, e.owes, e.trigger, e.onu_id, o.unreachable_since, o.failed_in_a_row,"
    " o.states_unsure_since, EXISTS (SELECT 1 FROM olt_unreadable_rows u WHERE u.olt_id = o.id)"
    " FROM snmp_executions e JOIN olts o ON o.id = e.olt_id"
    " WHERE e.id = %s AND e.lease_token = %s AND e.state = 'RUNNING' AND e.lease_expires_at > %s"
)


_OUTCOMES: Final = {
    PartState.SUCCESS: Outcome.COMPLETED,
    PartState.FAILED: Outcome.FAILED,
    PartState.SKIPPED: Outcome.SKIPPED,
}


def summarise(planned: Planned, collection: Collection) -> CollectionSummary:
    """Return what the decision on how the execution ends needs to know."""
    return CollectionSummary(
        [(part.part.node_id, _slot_outcome(part)) for part in collection.parts],
        [part.part.node_id for part in planned.unsupported if part.part.node_id],
        collection.was_asked,
        collection.silent,
    )


def _slot_outcome(part: PartResult) -> SlotOutcome:
    if part.error.code == CPU_TOO_HIGH:
        return SlotOutcome(Outcome.SKIPPED, why=Why.CPU_HIGH)
    return SlotOutcome(_OUTCOMES[part.state], part.seconds, FAILED, part.error)
