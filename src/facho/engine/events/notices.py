"""Notes what people may want to be told. Whom, when and how is the sender's business (`notifying`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.core.notifications import NotificationKind
from facho.core.severity import Severity
from facho.engine.events.journal_words import plain

_MOST_LETTERS: Final = 200
# While nobody wants to be told of anything, nothing is written.
_TELL: Final = (
    "INSERT INTO notification_notices (notice, severity, olt_id, about, details, at, taken)"
    " SELECT {values}, false"
    " WHERE EXISTS (SELECT 1 FROM notification_rules WHERE enabled)"
)
_VALUES: Final = {
    "sqlite": "%s, %s, %s, %s, %s, %s",
    # A parameter that is merely selected has no type there.
    "postgresql": "%s::text, %s::text, %s::bigint, %s::text, %s::jsonb, %s::timestamptz",
}


def tell(
    now: datetime,
    notice: NotificationKind,
    *,
    severity: Severity,
    olt_id: int | None,
    about: str = "",
    details: Mapping[str, Any],
) -> None:
    """In the caller's transaction: what is rolled back did not happen.

    `about` is what tells it apart from another of its kind on the same OLT: "port 0/1/3", "node 17".
    `details` are plain values; the sentence is made of them when it is sent, in the language of whoever gets
    it (`notice_words`).
    """
    written = json.dumps(plain(details))
    values = [notice.value, severity.value, olt_id, about[:_MOST_LETTERS], written, sql.db_time(now)]
    sql.execute(_TELL.format(values=_VALUES[connection.vendor]), values)
