"""Stores the results of an execution in one transaction, which begins by checking the lease on its OLT."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.executions.models import State
from facho.config import Config
from facho.core.execution_end import decide_end
from facho.engine.collect.part_results import Collection
from facho.engine.collect.work_builder import Planned
from facho.engine.process.leases import StartedExecution
from facho.engine.record.execution_row import (
    Recording,
    check_lease,
    lock_failed_node,
    summarise,
    write_execution,
    write_node_state,
    write_quotas,
)
from facho.engine.record.olt_state import write_chassis, write_olt_state, write_reachability
from facho.engine.record.onus import (
    store_onus,
    write_collected,
    write_onu_history,
    write_optics,
    write_outages,
    write_unreadable_rows,
)

log = logging.getLogger(__name__)


def record(
    started: StartedExecution,
    planned: Planned,
    collection: Collection,
    now: datetime | None,
    config: Config,
) -> State:
    """Store a collection; for no time, at the server's. Raises LeaseLost, and has then written nothing."""
    with sql.write_transaction():
        before = check_lease(started, now)
        now = before.now
        stored, collection = store_onus(planned, collection, now, config)
        summary = summarise(planned, collection)
        node = None
        if summary.has_failed:
            node = lock_failed_node(started.olt_id, started.node_id, started.attempt)
        end = decide_end(
            summary,
            started.attempt,
            node.before if node else None,
            before.olt,
            now,
            is_collection=not before.is_onu_read,
            emergency_failures=config.emergency_failures,
            probe_waits=config.probe_after,
        )
        recording = Recording(started, planned, collection, before, stored, end, node, now, config)
        for write in WRITERS:
            write(recording)
    state = State(end.attempt.state.value)
    log.info(
        "execution ended",
        extra={
            "action": "execution_ended",
            "olt_id": started.olt_id,
            "execution_id": started.execution_id,
            "state": state,
        },
    )
    return state


# In this order: the row of the execution is locked already, then those of the OLT and of its nodes. ONUs were
# stored before, because the decision on how the execution ends depends on them.
WRITERS: Final[tuple[Callable[[Recording], None], ...]] = (
    write_chassis,
    write_onu_history,
    write_collected,
    write_unreadable_rows,
    write_outages,
    write_optics,
    write_execution,
    write_olt_state,
    write_node_state,
    write_quotas,
    write_reachability,
)
