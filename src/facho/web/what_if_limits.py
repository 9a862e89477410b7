"""Limits of what-ifs, in OLTs and at the same time, so that pages are still served meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.db.database import database_now
from facho.config import current
from facho.core.roles import Role, may
from facho.engine.commands.errors import CommandError
from facho.engine.commands.what_if import Change, WhatIf, what_if
from facho.web.server.refusals import Refused

# What-ifs at the same time in one process. Each keeps a core busy.
_MOST_AT_ONCE: Final = 2
_WAIT_S: Final = 5


def ask_what_if(user: Any, role: Role | None, change: Change) -> list[WhatIf]:
    """Return the effect of a change. `role` is that of the request: a token may have less than its owner.

    Raises CommandError as the change would, and for too many OLTs; Refused while others are asking.
    """
    refuse_too_many(len(change.olts))
    with _turns.take(user.pk, may_change=may(role, "change", "snmp_jobs.snmpjob")):
        return what_if(change, database_now(), current())


def refuse_too_many(olts: int) -> None:
    most = current().what_if_olts
    if olts > most:
        said = {"olts": olts, "most": most}
        raise CommandError(
            "olts",
            _("a what-if covers at most %(most)d OLTs, and this change affects %(olts)d") % said,
        )


class Turns:
    """The what-ifs that run now: one per person, and a limited number in all.

    One turn is reserved for those who may change jobs: otherwise viewers could block the check before a
    job is saved.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        # Whether each of them may change jobs.
        self._asking: dict[Any, bool] = {}

    @contextmanager
    def take(self, who: Any, *, may_change: bool) -> Iterator[None]:
        with self._lock:
            if who in self._asking:
                said = _("your previous what-if is still running: wait for its result")
                raise Refused(HTTPStatus.TOO_MANY_REQUESTS, said, _WAIT_S)
            if not self._has_turn(may_change=may_change):
                said = _("other what-if requests are running: try again in a few seconds")
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, said, _WAIT_S)
            self._asking[who] = may_change
        try:
            yield
        finally:
            with self._lock:
                del self._asking[who]

    def _has_turn(self, *, may_change: bool) -> bool:
        if len(self._asking) >= self._most:
            return False
        only_look = sum(not each for each in self._asking.values())
        return may_change or only_look < self._most - 1


_turns: Final = Turns(_MOST_AT_ONCE)
