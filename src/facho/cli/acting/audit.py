"""`facho audit`: what its command does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from facho.apps.access.audit import Change, changes_of
from facho.apps.access.models import AuditEntry
from facho.apps.access.words import Action
from facho.apps.db.clock import database_now
from facho.cli.acting.showing import print_json, print_rows, written
from facho.cli.moments import BadMoment, parse_moment
from facho.config import current
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import unknown_name

_COLUMNS: Final = ("at", "who", "how", "address", "token", "action", "model", "name", "changes")


def list_entries(asked: Mapping[str, str], since: str, limit: int, *, as_json: bool) -> None:
    if asked["action"] and asked["action"] not in Action.values:
        raise CommandError("action", unknown_name("action", asked["action"], Action.values))
    entries = AuditEntry.objects.filter(**{column: value for column, value in asked.items() if value})
    if since:
        try:
            entries = entries.filter(at__gte=parse_moment(since, database_now(), current().time_zone))
        except BadMoment as error:
            raise CommandError("since", str(error)) from None
    found = list(entries[:limit] if limit else entries)
    if as_json:
        print_json([_row(entry) for entry in found])
    else:
        rows = [{**_row(entry), "changes": "; ".join(map(_told, changes_of(entry)))} for entry in found]
        print_rows(rows, _COLUMNS, "Nobody did anything like that.")


def _row(entry: AuditEntry) -> dict[str, Any]:
    return {column: getattr(entry, column) for column in ("id", "object_id", *_COLUMNS)}


def _told(change: Change) -> str:
    if change.is_secret:
        return f"{change.column} changed"
    new = written(change.new) or "-"
    return (
        f"{change.column}: {written(change.old) or '-'} -> {new}"
        if change.has_old
        else f"{change.column} {new}"
    )
