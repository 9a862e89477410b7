"""Django's sessions in the database, read by one plain statement: every poll of every open page reads one."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.sessions.backends import db
from django.utils import timezone

from facho.apps.db import sql

_READ: Final = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, Any]:
        found = sql.fetch_rows(_READ, [self.session_key, sql.db_time(timezone.now())])
        if not found:
            # As Django does: the key of a session that is over is not used again.
            self._session_key = None
            return {}
        data: dict[str, Any] = self.decode(found[0][0])
        return data
