"""Record changes of single rows and of many-to-many relations for the audit log, by Django's signals."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.apps import apps
from django.db.models import ManyToManyField, Model, signals

from facho.apps.access.actors import is_told, somebody_acts
from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import Seen, audited_of, look, record

_BEFORE: Final = "_facho_before"
# Models and names of audited many-to-many fields, by their through tables.
_TIED: Final[dict[type[Model], tuple[type[Model], str]]] = {}


def connect() -> None:
    for model in apps.get_models():
        audited = audited_of(model)
        if audited is not None:
            signals.pre_save.connect(_saving, sender=model)
            signals.post_save.connect(_saved, sender=model)
            signals.pre_delete.connect(_deleting, sender=model)
            for tie in audited.ties:
                _TIED[_through(model, tie)] = model, tie
                signals.m2m_changed.connect(_tying, sender=_through(model, tie))


def _through(model: type[Model], tie: str) -> type[Model]:
    field = model._meta.get_field(tie)
    assert isinstance(field, ManyToManyField)
    through = field.remote_field.through
    assert through is not None
    return through


def _saving(
    sender: type[Model], instance: Model, raw: bool, update_fields: Collection[str] | None, **_: Any
) -> None:
    audited = audited_of(sender)
    if raw or audited is None or not somebody_acts():
        return
    columns = audited.among(update_fields)
    if columns:
        before = {} if instance._state.adding else _row(instance, columns)
        instance.__dict__[_BEFORE] = columns, before


def _saved(sender: type[Model], instance: Model, created: bool, **_: Any) -> None:
    found = instance.__dict__.pop(_BEFORE, None)
    if found is not None:
        columns, before = found
        action = Action.ADD if created else Action.CHANGE
        record(sender, before, _row(instance, columns), action=action)


def _deleting(sender: type[Model], instance: Model, **_: Any) -> None:
    audited = audited_of(sender)
    if audited is not None and somebody_acts() and not is_told(sender, instance.pk):
        record(sender, _row(instance, audited.columns), {}, action=Action.DELETE)


def _row(instance: Model, columns: tuple[str, ...]) -> dict[Any, Seen]:
    return look(type(instance)._base_manager.filter(pk=instance.pk), columns)


def _tying(
    sender: type[Model], instance: Model, action: str, reverse: bool, pk_set: set[Any] | None, **_: Any
) -> None:
    if not somebody_acts():
        return
    model, tie = _TIED[sender]
    if action.startswith("pre_"):
        owners = [instance.pk] if not reverse else _owners(model, tie, instance, pk_set)
        instance.__dict__[_BEFORE] = owners, _tied(model, tie, owners)
    elif (found := instance.__dict__.pop(_BEFORE, None)) is not None:
        owners, before = found
        record(model, before, _tied(model, tie, owners), action=Action.CHANGE)


def _owners(model: type[Model], tie: str, other: Model, keys: set[Any] | None) -> list[Any]:
    """Return the owners of a relation that was changed from its other end."""
    if keys is not None:
        return sorted(keys)
    return list(model._base_manager.filter(**{tie: other.pk}).values_list("pk", flat=True))


def _tied(model: type[Model], tie: str, owners: list[Any]) -> dict[Any, Seen]:
    rows = model._base_manager.filter(pk__in=owners)
    names: dict[Any, list[str]] = {}
    for key, name in rows.order_by(f"{tie}__name").values_list("pk", f"{tie}__name"):
        names.setdefault(key, []).extend([name] if name is not None else [])
    return {key: Seen(seen.name, {tie: names[key]}) for key, seen in look(rows, ()).items()}
