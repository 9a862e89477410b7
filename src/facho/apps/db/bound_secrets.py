"""Columns of secrets, encrypted for their row alone: never shown, never logged, not searchable.

What is read stays closed until somebody asks for it, because only the row knows its key. A new row is given
its key before it is written, because its secret is encrypted for that.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.db import connection, models
from django.db.models.query_utils import DeferredAttribute

from facho.apps.db import sql
from facho.config import current
from facho.keys import KeyProblem, MissingKey, Vault

_NEXT_IN_SQLITE: Final = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = %s RETURNING seq"


@cache
def vault() -> Vault:
    return Vault(current())


def place_of(table: str, column: str, key: int) -> str:
    """What a secret is encrypted for. A row's key never changes, and is not given a second time."""
    return f"{table}.{column}:{key}"


class Closed:
    """A secret as it is stored. It is opened once, for the row that it was read from."""

    __slots__ = ("_field", "_opened", "token")

    def __init__(self, token: str, field: BoundSecretField) -> None:
        self.token = token
        self._field = field
        self._opened: Any = None

    def open_for(self, key: int) -> Any:
        if self._opened is None:
            self._opened = self._field.opened(self.token, key)
        return self._opened


class _Attribute(DeferredAttribute):
    """Opens what was read when it is asked for. What is not asked for is written back as it was."""

    field: BoundSecretField

    def __get__(self, instance: models.Model | None, cls: Any = None) -> Any:
        if instance is None:
            return self
        value = super().__get__(instance, cls)
        return value.open_for(instance.pk) if isinstance(value, Closed) else value

    def __set__(self, instance: models.Model, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


if TYPE_CHECKING:
    _Text = models.TextField[Any, Any]
else:
    _Text = models.TextField


class BoundSecretField(_Text):
    descriptor_class = _Attribute

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable")
        return name, path, args, kwargs

    @abstractmethod
    def text_of(self, value: Any) -> str:
        """Return the text that is encrypted. Raises KeyProblem for a secret that could not be opened."""

    @abstractmethod
    def value_of(self, text: str) -> Any: ...

    @abstractmethod
    def unreadable(self, problem: KeyProblem) -> Any:
        """Stands for what cannot be opened: its row can be read, changed and given another secret."""

    def closed(self, value: Any, key: int) -> Closed:
        return Closed(vault().close(self.text_of(value), self.place(key)), self)

    def opened(self, token: str, key: int) -> Any:
        try:
            return self.value_of(vault().open(token, self.place(key)))
        except KeyProblem as problem:
            # One row must not keep others from being read, nor a person from entering it anew.
            return self.unreadable(problem)

    def place(self, key: int) -> str:
        assert self.column is not None
        return place_of(self.model._meta.db_table, self.column, key)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: ARG002
        value = model_instance.__dict__[self.attname]
        return value if value is None or isinstance(value, Closed) else self.closed(value, model_instance.pk)

    def get_prep_value(self, value: Closed | None) -> str | None:
        if value is not None and not isinstance(value, Closed):
            raise TypeError("a secret is encrypted for its row: save the row, or give what closed() returns")
        return None if value is None else value.token

    def from_db_value(self, value: str | None, *_: object) -> Closed | None:
        return None if value is None else Closed(value, self)

    def value_to_string(self, obj: models.Model) -> str:  # noqa: ARG002
        raise TypeError("secrets are not exported")


class KeyBeforeRow(models.BigAutoField):  # type: ignore[type-arg]
    """A key that counts by itself, and is known before its row is written."""

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.BigAutoField", args, kwargs

    def get_pk_value_on_save(self, instance: models.Model) -> int:  # noqa: ARG002
        table = self.model._meta.db_table
        if connection.vendor == "postgresql":
            ((key,),) = sql.fetch_rows("SELECT nextval(pg_get_serial_sequence(%s, %s))", [table, self.column])
            return int(key)
        with sql.write_transaction():
            found = sql.fetch_rows(_NEXT_IN_SQLITE, [table])
            if not found:
                sql.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, 1)", [table])
            return int(found[0][0]) if found else 1


def bind_column(database: Any, table: str, column: str) -> None:
    """Encrypt for its row what was encrypted before that was done. For migrations: names, and no models.

    A row that no key here opens stays as it is, and its secret has to be entered again. A row that changes
    meanwhile stays as it was changed.
    """
    name = database.ops.quote_name
    with database.cursor() as cursor:
        cursor.execute(f"SELECT id, {name(column)} FROM {name(table)}")  # noqa: S608  our own names
        bound = []
        for key, token in cursor.fetchall():
            with suppress(MissingKey):
                bound.append((vault().bind(token, place_of(table, column, key)), key, token))
        cursor.executemany(
            f"UPDATE {name(table)} SET {name(column)} = %s WHERE id = %s AND {name(column)} = %s",  # noqa: S608
            bound,
        )
