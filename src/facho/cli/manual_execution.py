"""Executions by a command instead of an engine: they wait for their turn, and hold the lease of the OLT."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from facho.cli.errors import Exit
from facho.core.reasons import Reason

if TYPE_CHECKING:
    from facho.apps.executions.models import Execution
    from facho.config import Config
    from facho.engine.schedule.runner import Runtime

CHECK_EVERY_S: Final = 0.3


@contextmanager
def manual_runtime(config: Config) -> Iterator[Runtime]:
    from facho.apps.db.database import database_now
    from facho.backends.poller_process import worker_name
    from facho.engine.schedule.runner import Runtime, SnmpLoop

    ending = threading.Event()
    with SnmpLoop() as snmp:
        runtime = Runtime(config, f"{worker_name()} (by hand)", snmp, database_now)
        keeper = threading.Thread(target=runtime.leases.renew_until, args=(ending,), daemon=True)
        keeper.start()
        try:
            yield runtime
        finally:
            ending.set()
            keeper.join()


def wait_for_turn(execution_id: int, config: Config, stopping: threading.Event) -> None:
    """Wait until the execution is claimed by this process, or by an engine that was quicker."""
    from facho.apps.db.database import database_now
    from facho.engine.commands.runs import abort_execution, keep_waiting
    from facho.engine.schedule.assign import claim_execution
    from facho.engine.schedule.recovery import recover

    renewed = now = database_now()
    while not claim_execution(execution_id, now, config):
        if load_execution(execution_id).state != "WAITING":
            return
        if now - renewed > config.lease_renew:
            keep_waiting(execution_id, now)
            # Without an engine, nobody else frees the OLT from a process that died.
            recover(now, config)
            renewed = now
        if stopping.wait(CHECK_EVERY_S):
            abort_execution(execution_id, database_now(), Reason.of("person_went_away"))
            raise typer.Exit(Exit.INCOMPLETE)
        now = database_now()


def stop_runtime_with(stopping: threading.Event, runtime: Runtime) -> None:
    """Stop the runtime and lose its leases as soon as `stopping` is set."""
    threading.Thread(target=_stop, args=(stopping, runtime), daemon=True).start()


def _stop(stopping: threading.Event, runtime: Runtime) -> None:
    stopping.wait()
    runtime.stopping.set()
    runtime.leases.lose_all()


def load_execution(execution_id: int) -> Execution:
    from facho.apps.executions.models import Execution

    return Execution.objects.get(id=execution_id)
