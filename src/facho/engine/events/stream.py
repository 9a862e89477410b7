"""The one way to report what happened: publish an event to the coordinator log and to notifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from types import MappingProxyType

from facho.apps.db import sql
from facho.engine.events.coordinator_log import log_writer
from facho.engine.events.notifications import queue_notification
from facho.engine.events.types import Event

_olt_names: ContextVar[Mapping[int, str]] = ContextVar("olt_names", default=MappingProxyType({}))


def publish(event: Event, now: datetime) -> None:
    """Report an event that happened now.

    It is logged when the transaction commits: what is rolled back did not happen. Logging never raises, and
    does not wait for the database. A notification is queued in the caller's transaction.
    """
    if event.type is not None:
        olt_name = None if event.olt_id is None else _olt_names.get().get(event.olt_id)
        sql.after_commit(lambda: log_writer.write_event(event, now, olt_name))
    if (notification := event.notification()) is not None:
        queue_notification(notification, event.olt_id, now)


@contextmanager
def olt_names(names: Mapping[int, str]) -> Iterator[None]:
    """Provide the names of OLTs to events that are published meanwhile, which saves a query for each."""
    token = _olt_names.set(names)
    try:
        yield
    finally:
        _olt_names.reset(token)
