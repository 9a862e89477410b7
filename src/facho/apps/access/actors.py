"""The actor of the current changes. The engine sets none, and its writes are not recorded.

Entries are collected until the end of a command and stored in its transaction, in one statement, so that
an aborted command leaves none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from facho.apps.access.audit_actions import Action

if TYPE_CHECKING:
    from django.db.models import Model

    from facho.apps.access.models import AuditEntry


_OF_COLUMNS: Final = (Action.ADD, Action.CHANGE)


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, or a program with the name of its owner and of its token. `how` is one of `How`."""

    who: str
    how: str
    user_id: int | None = None
    address: str = ""
    token: str = ""


# Called only when there is something to record: the user of a request is known late.
Asked = Callable[[], Actor]

_actor: Final[ContextVar[Asked | None]] = ContextVar("actor", default=None)
_gathered: Final[ContextVar[list[AuditEntry] | None]] = ContextVar("gathered", default=None)
_reason: Final[ContextVar[str]] = ContextVar("reason", default="")
_told: Final[ContextVar[tuple[type[Model], Collection[object]] | None]] = ContextVar("told", default=None)


@contextmanager
def acting(asked: Asked | None) -> Iterator[None]:
    """Set the actor inside; None records nothing."""
    before = _actor.set(asked)
    try:
        yield
    finally:
        _actor.reset(before)


def somebody_acts() -> bool:
    return _actor.get() is not None


def actor() -> Actor:
    asked = _actor.get()
    assert asked is not None
    return asked()


def actor_name() -> str:
    """Return who acts; empty for the engine."""
    return actor().who if somebody_acts() else ""


@contextmanager
def because(reason: str) -> Iterator[None]:
    """Record the reason with every entry of the block."""
    before = _reason.set(reason)
    try:
        yield
    finally:
        _reason.reset(before)


def given_reason() -> str:
    return _reason.get()


@contextmanager
def gathered() -> Iterator[None]:
    """Store the entries of the block at its end; an exception drops them."""
    if not somebody_acts():
        yield
        return
    outer = _gathered.get()
    entries = [] if outer is None else outer
    begun, token = len(entries), _gathered.set(entries)
    try:
        yield
        if outer is None:
            _write(_merged(entries))
    except BaseException:
        del entries[begun:]
        raise
    finally:
        _gathered.reset(token)


def _merged(entries: list[AuditEntry]) -> list[AuditEntry]:
    """Merge several changes of a row by one command into one entry."""
    found: list[AuditEntry] = []
    last: dict[tuple[str, int | None], AuditEntry] = {}
    for entry in entries:
        row = (entry.model, entry.object_id)
        before = last.get(row)
        if before is not None and entry.action == Action.CHANGE and before.action in _OF_COLUMNS:
            for column, change in entry.changes.items():
                before.changes[column] = {**change, **_old(before.changes.get(column))}
        else:
            found.append(entry)
            last[row] = entry
    return found


def _old(change: Mapping[str, Any] | None) -> dict[str, Any]:
    return {which: value for which, value in (change or {}).items() if which == "old"}


def keep(entries: list[AuditEntry]) -> None:
    waiting = _gathered.get()
    if waiting is None:
        _write(entries)
    else:
        waiting += entries


@contextmanager
def told_already(model: type[Model], keys: Collection[object]) -> Iterator[None]:
    """Record nothing for these rows inside: they are deleted one by one after they were recorded together."""
    before = _told.set((model, keys))
    try:
        yield
    finally:
        _told.reset(before)


def is_told(model: type[Model], key: object) -> bool:
    told = _told.get()
    return told is not None and told[0] is model and key in told[1]


def _write(entries: list[AuditEntry]) -> None:
    from facho.apps.access.models import AuditEntry

    AuditEntry.objects.bulk_create(entries)
