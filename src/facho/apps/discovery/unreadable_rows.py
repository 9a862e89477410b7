"""Which tables of an OLT have rows that its profile cannot read: stored once, for as long as it is so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from facho.apps.discovery.models import UnreadableRows
from facho.vendors import UnreadableRows as Found


def store_unreadable(
    olt_id: int, found: Mapping[str, Found], unread: Collection[str], now: datetime
) -> dict[str, Found]:
    """Store the tables that have such rows, and forget those that have none any more.

    What is known of the tables in `unread`, by name, stands: they were not read this time. A table that is
    not among them was read, or the profile does not have it any more.

    Return those that had none before: people are warned once, and later collections only count anew.
    """
    noted = UnreadableRows.objects.filter(olt=olt_id)
    known = set(noted.values_list("table", flat=True))
    for table, each in found.items():
        columns = {"rows": each.rows, "example": each.example, "last_seen": now}
        if table in known:
            noted.filter(table=table).update(**columns)
        else:
            UnreadableRows.objects.create(olt_id=olt_id, table=table, since=now, **columns)
    if gone := known.difference(unread, found):
        noted.filter(table__in=gone).delete()
    return {table: each for table, each in found.items() if table not in known}


def unreadable_rows(olt_id: int) -> list[UnreadableRows]:
    return list(UnreadableRows.objects.filter(olt=olt_id))
