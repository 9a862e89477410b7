"""Record the changes of audited models for the audit log.

A model lists in `audited` the columns that people set, and has `AuditedRows` as its manager. Signals
(`hooks`) record single rows, and the manager records bulk changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from django.db.models import ForeignKey, Model, QuerySet

from facho.apps.access.actors import actor, gathered, given_reason, keep, somebody_acts, told_already
from facho.apps.access.audit_actions import Action
from facho.apps.db import sql
from facho.apps.db.fields import EncryptedValue
from facho.keys import KeyProblem

M = TypeVar("M", bound=Model)
Changes = dict[str, dict[str, Any]]

_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Audited:
    """The columns that people set, and those that name a row."""

    columns: tuple[str, ...]
    # Columns of which only the fact of a change is recorded.
    secrets: tuple[str, ...] = ()
    called: tuple[str, ...] = ("name",)
    # Many-to-many fields to rows with a name.
    ties: tuple[str, ...] = ()

    def among(self, names: Collection[str] | None) -> tuple[str, ...]:
        """Return the audited columns among those that are written; None means all."""
        every = self.columns + self.secrets
        return every if names is None else tuple(name for name in every if {name, f"{name}_id"} & set(names))


# Django's own models, which cannot have the attribute.
_OF_OTHERS: Final[Mapping[str, Audited]] = {
    "auth.user": Audited(
        ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser"),
        secrets=("password",),
        called=("username",),
        ties=("groups",),
    ),
    "auth.group": Audited(("name",)),
}


def audited_of(model: type[Model]) -> Audited | None:
    found: Audited | None = getattr(model, "audited", None)
    return found or _OF_OTHERS.get(model._meta.label_lower)


@dataclass(frozen=True, slots=True)
class Seen:
    """The name and the audited values of a row."""

    name: str
    values: Mapping[str, Any]


def look(rows: QuerySet[Any], columns: Sequence[str]) -> dict[Any, Seen]:
    """Read rows with the names of referenced rows in one query."""
    audited = audited_of(rows.model)
    assert audited is not None
    named = {column: _called(rows.model, column) for column in columns}
    wanted = {*columns, *audited.called, *(name for name in named.values() if name)}
    return {
        row["pk"]: Seen(
            " @ ".join(str(row[name]) for name in audited.called)[:_LONGEST_NAME],
            {column: _value(row, column, named[column]) for column in columns},
        )
        for row in rows.order_by().values("pk", *sorted(wanted))
    }


def _called(model: type[Model], column: str) -> str:
    """Return the lookup of the name of a referenced row; empty for a plain column."""
    field = model._meta.get_field(column)
    if not isinstance(field, ForeignKey):
        return ""
    related = audited_of(field.related_model)
    return f"{column}__{related.called[0] if related else 'name'}"


def _value(row: Mapping[str, Any], column: str, named: str) -> Any:
    if isinstance(row[column], EncryptedValue):
        # The same secret encrypted again is stored as another text.
        return row[column].decrypt_for(row["pk"])
    if not named or row[column] is None:
        return row[column]
    return {"id": row[column], "name": row[named]}


def record(
    model: type[Model], before: Mapping[Any, Seen], after: Mapping[Any, Seen], *, action: Action
) -> None:
    """Record the differences of rows. A row that is only in one mapping was added or deleted."""
    audited = audited_of(model)
    assert audited is not None
    nothing = Seen("", {})
    found = {}
    for key in {**before, **after}:
        old, new = before.get(key, nothing), after.get(key, nothing)
        if changes := differences(old.values, new.values, audited.secrets):
            found[key] = new.name or old.name, changes
    _keep(action, model, found)


def differences(old: Mapping[str, Any], new: Mapping[str, Any], secrets: Collection[str]) -> Changes:
    """Return changes such as `{"port": {"old": 161, "new": 1161}}`, without empty columns of new rows."""
    found: Changes = {}
    for column in {**old, **new}:
        a, b = old.get(column), new.get(column)
        if _same(a, b) or (not (old and new) and a in _EMPTY and b in _EMPTY):
            continue
        found[column] = {"changed": True} if column in secrets else {"old": a, "new": b}
    return found


_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except KeyProblem:
        # An undecryptable secret differs from every new one.
        return False


def note(action: Action, model: type[Model], key: Any, name: str, **details: Any) -> None:
    """Record an action that changed no audited column."""
    if somebody_acts():
        changes = {what: {"new": value} for what, value in details.items()}
        _keep(action, model, {key: (name[:_LONGEST_NAME], changes)})


def note_rows(action: Action, rows: QuerySet[Any]) -> None:
    """Record an action on several rows of an audited model."""
    if somebody_acts():
        _keep(action, rows.model, {key: (seen.name, {}) for key, seen in look(rows, ()).items()})


def _keep(action: Action, model: type[Model], told: Mapping[Any, tuple[str, Changes]]) -> None:
    from facho.apps.access.models import AuditEntry

    if not told:
        return
    who = asdict(actor())
    what = {"action": action, "model": model._meta.label_lower}
    why = {"reason": {"new": given_reason()}} if given_reason() else {}
    keep(
        [
            AuditEntry(**who, **what, object_id=key, name=name, changes={**changes, **why})
            for key, (name, changes) in told.items()
        ]
    )


class AuditedRows(QuerySet[M]):
    """Rows whose bulk changes are recorded while there is an actor."""

    def update(self, **values: Any) -> int:
        audited = audited_of(self.model)
        columns = audited.among(values) if audited is not None and somebody_acts() else ()
        if not columns:
            return super().update(**values)
        with sql.write_transaction(), gathered():
            before = look(self.all(), columns)
            count = super().update(**values)
            after = look(self.model._base_manager.filter(pk__in=list(before)), columns)
            record(self.model, before, after, action=Action.CHANGE)
        return count

    def bulk_create(self, objs: Iterable[M], *args: Any, **kwargs: Any) -> list[M]:
        if not somebody_acts():
            return super().bulk_create(objs, *args, **kwargs)
        # Which of them were made would not be known.
        assert not kwargs.get("ignore_conflicts")
        with sql.write_transaction(), gathered():
            made = super().bulk_create(objs, *args, **kwargs)
            audited = audited_of(self.model)
            assert audited is not None
            rows = self.model._base_manager.filter(pk__in=[row.pk for row in made])
            record(self.model, {}, look(rows, audited.among(None)), action=Action.ADD)
        return made

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and record it. The signals record cascaded rows one by one."""
        audited = audited_of(self.model)
        if audited is None or not somebody_acts():
            return super().delete()
        with sql.write_transaction(), gathered():
            rows = look(self.all(), audited.columns)
            record(self.model, rows, {}, action=Action.DELETE)
            with told_already(self.model, rows):
                return super().delete()

    update.alters_data = True  # type: ignore[attr-defined]  # as Django's own
    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]
