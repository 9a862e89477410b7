"""Stores the results of executions: each in a transaction that begins by checking the lease on its OLT.

Small results that end at about the same time share a transaction. Each has its own check of its lease: one
whose lease was lost writes nothing, and the others are stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import InterfaceError, OperationalError

from facho.apps.db import sql
from facho.apps.executions.models import State
from facho.config import Config
from facho.core.execution_end import decide_end
from facho.engine.collect.part_results import Collection
from facho.engine.collect.work_builder import Planned
from facho.engine.process.leases import StartedExecution
from facho.engine.record.execution_row import (
    ExecutionBefore,
    Recording,
    SharedWrites,
    check_leases,
    lease_lost,
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


# A result with more rows is stored alone, so that small ones do not wait for it.
_MOST_ROWS: Final = 1000


@dataclass(frozen=True, slots=True)
class Result:
    """What an execution of this process has found, and is to be stored."""

    started: StartedExecution
    planned: Planned
    collection: Collection

    @property
    def may_share(self) -> bool:
        """Tell whether it may be stored with others: it is small, and locks nothing but its execution first.

        A failed one locks its OLT and its node, and the reading of one ONU is urgent.
        """
        collection = self.collection
        is_usual = collection.succeeded and self.planned.reading is None
        return is_usual and sum(part.rows for part in collection.parts) <= _MOST_ROWS


def record(
    started: StartedExecution,
    planned: Planned,
    collection: Collection,
    now: datetime | None,
    config: Config,
) -> State:
    """Store a collection; for no time, at the server's. Raises LeaseLost, and has then written nothing."""
    states = _record_all([Result(started, planned, collection)], now, config)
    if not states:
        raise lease_lost(started)
    return states[started.execution_id]


def record_together(
    results: Sequence[Result], now: datetime | None, config: Config
) -> list[State | Exception]:
    """Store several results, none of which has its OLT in common with another, in one transaction.

    Return for each its state, or why it was not stored. If the transaction fails for any other reason than
    an unavailable database, each is stored alone, so that one that cannot be stored costs only itself.
    """
    if len(results) > 1:
        try:
            states = _record_all(results, now, config)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("results cannot be stored together", extra={"action": "not_stored_together"})
        else:
            return [states.get(each.started.execution_id, lease_lost(each.started)) for each in results]
    return [_record_alone(each, now, config) for each in results]


def _record_alone(result: Result, now: datetime | None, config: Config) -> State | Exception:
    try:
        return record(result.started, result.planned, result.collection, now, config)
    except Exception as error:  # noqa: BLE001 - raised in the thread of the execution
        return error


def _record_all(results: Sequence[Result], now: datetime | None, config: Config) -> dict[int, State]:
    """Return the states of those that were stored, by the ids of their executions."""
    with sql.write_transaction():
        held = check_leases([each.started for each in results], now)
        if not held:
            return {}
        writes = SharedWrites()
        # In the order of the OLTs: what locks several of them locks them in this order.
        stored = [each for each in results if each.started.execution_id in held]
        stored.sort(key=lambda each: each.started.olt_id)
        states = {
            each.started.execution_id: _store(each, held[each.started.execution_id], writes, config)
            for each in stored
        }
        writes.write(next(iter(held.values())).now)
    for each in stored:
        log.info(
            "execution ended",
            extra={
                "action": "execution_ended",
                "olt_id": each.started.olt_id,
                "execution_id": each.started.execution_id,
                "state": states[each.started.execution_id],
            },
        )
    return states


def _store(result: Result, before: ExecutionBefore, writes: SharedWrites, config: Config) -> State:
    started, planned, now = result.started, result.planned, before.now
    stored, collection = store_onus(planned, result.collection, now, config, begin=started.started_at)
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
    recording = Recording(started, planned, collection, before, stored, end, node, now, config, writes)
    for write in WRITERS:
        write(recording)
    return State(end.attempt.state.value)


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
