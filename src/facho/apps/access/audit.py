"""Reads what people did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from facho.apps.access.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Change:
    """Of one column. Of a secret there is nothing to tell but that it changed."""

    column: str
    old: Any = None
    new: Any = None
    # An action has only something new to tell, as the execution that it began.
    has_old: bool = True
    is_secret: bool = False


def changes_of(entry: AuditEntry) -> Iterator[Change]:
    for column, told in entry.changes.items():
        if "changed" in told:
            yield Change(column, is_secret=True)
        else:
            yield Change(column, _plain(told.get("old")), _plain(told["new"]), "old" in told)


def _plain(value: Any) -> Any:
    """What a row refers to goes by its name."""
    return value["name"] if isinstance(value, dict) and value.keys() == {"id", "name"} else value
