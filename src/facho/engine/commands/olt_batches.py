"""Changes of many OLTs at once: a preview of them, and the rows of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.db import transaction

from facho.apps.hosts.models import Olt
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import (
    ChangedOlt,
    NewOlt,
    OltChanges,
    add_olt,
    finish_changes,
    write_changes,
)
from facho.engine.process.command_transaction import command

if TYPE_CHECKING:
    from facho.engine.collect.identify import Identified


class RowOutcome(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class OltRow:
    """A row to import: an OLT to add, or the changes of the OLT of that name."""

    name: str
    wanted: NewOlt | OltChanges
    detected: Identified | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    outcome: RowOutcome
    olt: Olt | None = None
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    error: CommandError | None = None


class _Undone(Exception):
    """Rolls the transaction of a command back, and carries what it would have done."""

    def __init__(self, done: Any) -> None:
        super().__init__()
        self.done = done


def preview_olts(changes: Mapping[str, OltChanges]) -> list[ChangedOlt]:
    """Return the OLTs as `update_olts` would leave them. Saves nothing; raises CommandError as it would."""
    try:
        _preview_olts(changes)
    except _Undone as undone:
        return list(undone.done)
    raise AssertionError("a preview is always undone")


@command
def _preview_olts(changes: Mapping[str, OltChanges]) -> None:
    raise _Undone(write_changes(changes))


def import_rows(
    rows: Sequence[OltRow], now: datetime, *, keep_going: bool = False, dry_run: bool = False
) -> tuple[list[RowResult], bool]:
    """Save rows of a file. Return the result of each, and whether they were saved.

    If a row is refused nothing is saved; with `keep_going` the others are.
    """
    try:
        return _import_rows(rows, now, keep_going=keep_going, dry_run=dry_run), True
    except _Undone as undone:
        return undone.done, False


@command
def _import_rows(
    rows: Sequence[OltRow], now: datetime, *, keep_going: bool, dry_run: bool
) -> list[RowResult]:
    changed: list[ChangedOlt] = []
    results = [_save_row(row, changed) for row in rows]
    refused = any(each.outcome is RowOutcome.REFUSED for each in results)
    if dry_run or (refused and not keep_going):
        raise _Undone(results)
    finish_changes(changed, now)
    return results


def _save_row(row: OltRow, changed: list[ChangedOlt]) -> RowResult:
    try:
        # What a refused row has written, such as its model, is rolled back alone.
        with transaction.atomic():
            if isinstance(row.wanted, NewOlt):
                return RowResult(RowOutcome.ADDED, add_olt(row.wanted, detected=row.detected))
            (done,) = write_changes({row.name: row.wanted}, row.detected)
    except CommandError as error:
        return RowResult(RowOutcome.REFUSED, error=error)
    changed.append(done)
    outcome = RowOutcome.CHANGED if done.changes else RowOutcome.UNCHANGED
    return RowResult(outcome, done.olt, done.changes)
