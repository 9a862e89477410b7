"""Row locks, always taken in the same order, so that no two transactions of the engine wait for each other.

The order: a running execution, its OLT, its nodes, waiting executions. A transaction leaves out what it does
not need. The recorder begins with the execution, which it holds while it stores; so do recovery and a process
that hands back. The scheduler and probes begin further down. People's commands keep no order: they give way.

The locks leave out the key of a row that stays. Otherwise writing a row that refers to it would wait, as when
the scheduler skips a slot because of a running execution.
"""

from __future__ import annotations

from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost


def lock_running(execution_id: int, *, skip_locked: bool = False, **where: object) -> Execution | None:
    """Return None when it does not run any more, or not like this, or is locked and may be skipped."""
    running = Execution.objects.filter(id=execution_id, state=State.RUNNING, **where)
    return running.select_for_update(skip_locked=skip_locked, no_key=True).first()


def lock_olt_and_node(olt_id: int, node_id: int) -> None:
    """Lock both, for a transaction that may suspend either."""
    list(Olt.objects.filter(id=olt_id).select_for_update(no_key=True).values_list("id"))
    lock_node(node_id)


def lock_node(node_id: int) -> None:
    """Lock a node before queueing an execution of it, so that two never do at once."""
    list(SnmpJobHost.objects.filter(id=node_id).select_for_update(no_key=True).values_list("id"))
