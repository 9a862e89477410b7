"""Pollers on any number of machines: ids travel over Celery."""

from __future__ import annotations

import logging
from typing import Any

from kombu.exceptions import OperationalError

from facho.apps.db.clock import database_now
from facho.apps.executions.models import Execution
from facho.backends import queues
from facho.backends.local import unclaim
from facho.config import Config
from facho.engine.schedule.assign import claim_executions

log = logging.getLogger(__name__)


class CeleryBackend:
    """`submit` reaches whichever worker is free first."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def submit(self, execution_id: int) -> None:
        found = Execution.objects.filter(id=execution_id).values_list("run_now", "attempt").first()
        run_now, attempt = found or (False, 0)
        task, queue = queues.route(run_now=run_now, attempt=attempt)
        try:
            self._app.send_task(task, args=[execution_id], queue=queue)
        except OperationalError as error:
            # Nobody will hear of it, so it waits for the next step, and not for its reservation to run out.
            log.error(
                "the broker does not take messages",
                extra={"action": "broker_failed", "execution_id": execution_id, "error": str(error)},
            )
            unclaim(execution_id)

    def room(self) -> None:
        """The broker has a queue of its own, which all workers empty."""
        return


def assign(backend: CeleryBackend, config: Config) -> None:
    for execution_id in claim_executions(database_now(), config):
        backend.submit(execution_id)
