"""Pollers on any number of machines: ids travel over Celery."""

from __future__ import annotations

import logging
from datetime import datetime
from itertools import takewhile
from typing import Any

from kombu.exceptions import OperationalError

from facho.apps.executions.store import return_to_queue
from facho.backends.celery_names import EXECUTE, EXECUTE_RETRY
from facho.config import Config
from facho.core.pool import DEFAULT, RETRY, Waiting
from facho.engine.schedule.assign import claim_with_queues

log = logging.getLogger(__name__)


class CeleryBackend:
    """`submit` reaches whichever worker is free first."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def submit(self, execution_id: int, queue: str = DEFAULT) -> bool:
        """Return False when the broker is away; the execution waits for the next step then."""
        task = EXECUTE_RETRY if queue == RETRY else EXECUTE
        try:
            self._app.send_task(task, args=[execution_id], queue=queue)
        except OperationalError as error:
            # The message is lost: wait for the next step, not until the reservation expires.
            log.error(
                "broker unavailable, retrying",
                extra={"action": "broker_failed", "execution_id": execution_id, "error": str(error)},
            )
            return_to_queue(id=execution_id)
            return False
        return True

    def assign(self, now: datetime | None, config: Config) -> None:
        """Claim and submit what can start; for no time, at the server's."""
        claimed = claim_with_queues(now, config)
        sent = sum(1 for _ in takewhile(self._submit_claimed, claimed))
        if sent < len(claimed):
            # Each of them would wait for the broker in vain.
            return_to_queue(id__in=[each.execution_id for each in claimed[sent:]])

    def _submit_claimed(self, claimed: Waiting) -> bool:
        return self.submit(claimed.execution_id, claimed.queue)
