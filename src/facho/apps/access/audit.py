"""Read the changes of an audit entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from facho.apps.access.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one column. Of a secret only the fact of the change is known."""

    column: str
    old: Any = None
    new: Any = None
    # False for the details of an action, such as the execution that it queued.
    has_old: bool = True
    is_secret: bool = False


def changes_of(entry: AuditEntry) -> Iterator[Change]:
    for column, told in entry.changes.items():
        if "changed" in told:
            yield Change(column, is_secret=True)
        else:
            yield Change(column, _plain(told.get("old")), _plain(told["new"]), "old" in told)


def _plain(value: Any) -> Any:
    """Return the name of a referenced row, and other values as they are."""
    return value["name"] if isinstance(value, dict) and value.keys() == {"id", "name"} else value
