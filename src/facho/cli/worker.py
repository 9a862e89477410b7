"""`facho worker` and `facho beat`: the processes of a system of several machines."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.errors import fail, refuse
from facho.cli.remote_write import refuse_bad_files, running_sender
from facho.cli.system import system
from facho.cli.up import Pollers

if TYPE_CHECKING:
    from facho.config import Config

app = typer.Typer()
log = logging.getLogger(__name__)

# The steps of the scheduler and the coordinator, the check of quotas, the housekeeping and the cleaning of
# logs may run at once.
_STEPS_AT_ONCE: Final = 5
_WORKER_EXAMPLES: Final = """
**Examples**

`facho worker`  with as many pollers as FACHO_POLLERS says

`facho worker --pollers 40`

`facho worker --queues snmp_highprio`  only for runs that people ask for
"""
_BEAT_EXAMPLES: Final = """
**Examples**

`facho beat`  on one machine, or on two for safety: a second one does no harm
"""


@app.command(epilog=_WORKER_EXAMPLES)
def worker(
    pollers: Pollers = None,
    queues: Annotated[
        str, typer.Option(metavar="NAME,...", help="Take only these queues; all three if not given.")
    ] = "",
) -> None:
    """Run pollers for a system of several machines (PostgreSQL and Redis)."""
    with system(by_person=False) as config:
        from facho.core.pool import SNMP_QUEUES

        chosen = tuple(name.strip() for name in queues.split(",") if name.strip()) or SNMP_QUEUES
        if unknown := [name for name in chosen if name not in SNMP_QUEUES]:
            refuse(f"--queues: there is no queue {unknown[0]}; there are {', '.join(SNMP_QUEUES)}")
        _check_start(config)
        _run_worker("worker", config if pollers is None else replace(config, pollers=pollers), chosen)


@app.command(epilog=_BEAT_EXAMPLES)
def beat() -> None:
    """Run the scheduler and the coordinator of a system of several machines."""
    with system(by_person=False) as config:
        from facho.backends.celery_names import STEP_QUEUES

        _check_start(config)
        refuse_bad_files(config)
        with _steps_with_worker(config), running_sender(config):
            _run_worker("beat", replace(config, pollers=_STEPS_AT_ONCE), STEP_QUEUES)


def _check_start(config: Config) -> None:
    from facho.backends.start_checks import key_problem, reasons_not_to_start

    for reason in reasons_not_to_start(config):
        fail(reason)
    if problem := key_problem():
        fail(problem)


@contextmanager
def _steps_with_worker(config: Config) -> Iterator[None]:
    """Make the steps in threads of the worker, so that neither outlives the other."""
    from celery import signals

    from facho.backends.beat_loops import BeatLoops
    from facho.celery import app as celery

    loops = BeatLoops(celery)

    def start(**_: Any) -> None:
        loops.start()
        log.info("beat started", extra={"action": "beat_started", "beat": os.getpid()})

    def stop(**_: Any) -> None:
        loops.stop()

    signals.worker_ready.connect(start)
    signals.worker_shutting_down.connect(stop)
    try:
        yield
    finally:
        loops.join(config.stop_within)


def _run_worker(role: str, config: Config, queues: tuple[str, ...]) -> None:
    import signal
    import socket

    from facho import logs
    from facho.backends.celery_worker import leave_pool
    from facho.celery import app as celery

    logs.set_up(role, config)
    # Celery handles signals only once it has started.
    signal.signal(signal.SIGTERM, _exit)
    try:
        running = celery.Worker(
            hostname=f"{role}-{os.getpid()}@{socket.gethostname()}",
            quiet=True,
            pool="threads",
            concurrency=config.pollers,
            queues=list(queues),
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        running.start()
    finally:
        leave_pool()
    raise typer.Exit(running.exitcode or 0)


def _exit(*_: Any) -> None:
    raise SystemExit(0)
