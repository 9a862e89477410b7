"""Pollers on any number of machines: ids travel over Celery."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from uuid import uuid4

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from facho.apps.executions.store import return_to_queue
from facho.backends.celery_names import EXECUTE, EXECUTE_RETRY
from facho.config import Config
from facho.core.pool import DEFAULT, RETRY
from facho.engine.schedule.assign import claim_with_queues

log = logging.getLogger(__name__)


class CeleryBackend:
    """`submit` reaches whichever worker is free first."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def submit(self, execution_id: int, queue: str = DEFAULT) -> bool:
        """Return False when the broker is away; the execution waits for the next step then."""
        return self._send([execution_id], queue)

    def assign(
        self, now: datetime | None, config: Config, *, keep: frozenset[str] = frozenset()
    ) -> int | None:
        """Claim and submit what can start; for no time, at the server's.

        Return the first one of the queues to keep instead of submitting it: the caller has a poller for it.
        That saves a message, and the next execution of an OLT the way over the broker.
        """
        claimed = claim_with_queues(now, config)
        kept = next((each for each in claimed if each.queue in keep), None)
        others = [each for each in claimed if each is not kept]
        for queue in dict.fromkeys(each.queue for each in others):
            self._send([each.execution_id for each in others if each.queue == queue], queue)
        return None if kept is None else kept.execution_id

    def _send(self, execution_ids: Sequence[int], queue: str) -> bool:
        """Send all with one command, in their order."""
        messages = [self._message(execution_id, queue) for execution_id in execution_ids]
        try:
            with self._app.producer_or_acquire() as producer:
                producer.channel.put_all(queue, messages)
        except (OperationalError, RedisError, OSError) as error:
            # The messages are lost: wait for the next step, not until the reservations expire.
            log.error(
                "broker unavailable, retrying",
                extra={"action": "broker_failed", "executions": len(messages), "error": str(error)},
            )
            return_to_queue(id__in=list(execution_ids))
            return False
        return True

    def _message(self, execution_id: int, queue: str) -> str:
        """Return the message that `send_task` would send, which takes several times as long to make one."""
        task_id = str(uuid4())
        arguments = [[execution_id], {}, _NO_FOLLOWERS]
        own = {"id": task_id, "root_id": task_id, "argsrepr": f"[{execution_id}]"}
        properties = {
            "correlation_id": task_id,
            "reply_to": "",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": task_id,
        }
        return json.dumps(
            {
                "body": b64encode(json.dumps(arguments).encode()).decode(),
                "content-encoding": "utf-8",
                "content-type": "application/json",
                "headers": self._headers[EXECUTE_RETRY if queue == RETRY else EXECUTE] | own,
                "properties": properties,
            }
        )

    @cached_property
    def _headers(self) -> dict[str, dict[str, Any]]:
        """Return the headers of a message of each task, as Celery makes them."""
        make = self._app.amqp.as_task_v2
        tasks = (EXECUTE, EXECUTE_RETRY)
        return {task: make("", task, args=[0], ignore_result=True).headers for task in tasks}


# What is to be done after the task: nothing.
_NO_FOLLOWERS: Final = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
