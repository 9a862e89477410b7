"""The order in which rows are locked, the same for all of the engine, so that no two wait for each other.

An execution that runs; its OLT; its nodes; executions that wait. Whoever needs several of them takes them in
this order, and leaves out what it does not need. The recorder begins with the execution, which it holds while
it stores; so do recovery and a process that hands back. The scheduler and probes begin further down. People's
commands keep no order: they give way.

Nobody locks the key of a row that stays: to write one that refers to it, as the scheduler does when a slot is
skipped because of an execution that runs, would be to wait for it, in whatever order.
"""

from __future__ import annotations

from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost


def lock_running(execution_id: int, *, skip_locked: bool = False, **where: object) -> Execution | None:
    """None when it does not run any more, or not so; or when somebody has it who may be skipped."""
    running = Execution.objects.filter(id=execution_id, state=State.RUNNING, **where)
    return running.select_for_update(skip_locked=skip_locked, no_key=True).first()


def lock_olt_and_node(olt_id: int, node_id: int) -> None:
    """For who may suspend either."""
    list(Olt.objects.filter(id=olt_id).select_for_update(no_key=True).values_list("id"))
    lock_node(node_id)


def lock_node(node_id: int) -> None:
    """Whoever queues an execution of a node holds its row, so that two never do at once."""
    list(SnmpJobHost.objects.filter(id=node_id).select_for_update(no_key=True).values_list("id"))
