"""Columns that are more than their text: secrets, and reasons.

A secret is encrypted for its row alone: never shown, never logged, not searchable. A value that was read
stays encrypted until it is asked for, because only the row knows its primary key. A new row gets its primary
key before it is written, because its secret is encrypted for that key.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.core.validators import EMPTY_VALUES
from django.db import connection, models
from django.db.models.lookups import Contains, IContains
from django.db.models.query_utils import DeferredAttribute
from django.utils.translation import gettext

from facho import masking
from facho.apps.db import sql
from facho.config import current
from facho.core.reason_texts import TEMPLATES
from facho.core.reasons import NO_REASON, Reason, decode, encode
from facho.keys import KeyProblem, MissingKey, Vault

_NEXT_SQLITE_KEY: Final = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = %s RETURNING seq"


@cache
def vault() -> Vault:
    return Vault(current())


def row_place(table: str, column: str, key: int) -> str:
    """Return what a secret is encrypted for. A primary key never changes and is not used a second time."""
    return f"{table}.{column}:{key}"


class EncryptedValue:
    """A secret as it is stored. It is decrypted once, for the row that it was read from."""

    __slots__ = ("_decrypted", "_field", "token")

    def __init__(self, token: str, field: EncryptedField) -> None:
        self.token = token
        self._field = field
        self._decrypted: Any = None

    def decrypt_for(self, key: int) -> Any:
        if self._decrypted is None:
            self._decrypted = self._field.decrypted(self.token, key)
        return self._decrypted


class _DecryptingAttribute(DeferredAttribute):
    """Decrypts a value when it is asked for. One that is not asked for is written back as it was."""

    field: EncryptedField

    def __get__(self, instance: models.Model | None, cls: Any = None) -> Any:
        if instance is None:
            return self
        value = super().__get__(instance, cls)
        return value.decrypt_for(instance.pk) if isinstance(value, EncryptedValue) else value

    def __set__(self, instance: models.Model, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


if TYPE_CHECKING:
    _Text = models.TextField[Any, Any]
else:
    _Text = models.TextField


class EncryptedField(_Text):
    descriptor_class = _DecryptingAttribute

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable")
        return name, path, args, kwargs

    @abstractmethod
    def text_of(self, value: Any) -> str:
        """Return the text to encrypt. Raises KeyProblem for a secret that could not be decrypted."""

    @abstractmethod
    def value_of(self, text: str) -> Any: ...

    @abstractmethod
    def unreadable(self, problem: KeyProblem) -> Any:
        """Return a value for a secret that cannot be decrypted: its row can still be read and changed."""

    def encrypted(self, value: Any, key: int) -> EncryptedValue:
        return EncryptedValue(vault().encrypt(self.text_of(value), self.place(key)), self)

    def decrypted(self, token: str, key: int) -> Any:
        try:
            return self.value_of(vault().decrypt(token, self.place(key)))
        except KeyProblem as problem:
            # One row must not keep others from being read, nor a person from entering its secret again.
            return self.unreadable(problem)

    def place(self, key: int) -> str:
        assert self.column is not None
        return row_place(self.model._meta.db_table, self.column, key)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: ARG002
        value = model_instance.__dict__[self.attname]
        return (
            value
            if value is None or isinstance(value, EncryptedValue)
            else self.encrypted(value, model_instance.pk)
        )

    def get_prep_value(self, value: EncryptedValue | None) -> str | None:
        if value is not None and not isinstance(value, EncryptedValue):
            raise TypeError("a secret is encrypted for its row: save the row, or use encrypted()")
        return None if value is None else value.token

    def from_db_value(self, value: str | None, *_: object) -> EncryptedValue | None:
        return None if value is None else EncryptedValue(value, self)

    def value_to_string(self, obj: models.Model) -> str:  # noqa: ARG002
        raise TypeError("secrets are not exported")


@dataclass(frozen=True, slots=True)
class SecretText:
    """A secret text, without the text when no key here decrypts it: its row can still be read and changed."""

    text: str = field(default="", repr=False)
    problem: KeyProblem | None = None

    def __post_init__(self) -> None:
        masking.add_secrets(self.text)

    def __str__(self) -> str:
        return masking.MASK

    def open(self) -> str:
        """Raises KeyProblem."""
        if self.problem is not None:
            raise self.problem
        return self.text


class EncryptedTextField(EncryptedField):
    def text_of(self, value: SecretText) -> str:
        return value.open()

    def value_of(self, text: str) -> SecretText:
        return SecretText(text)

    def unreadable(self, problem: KeyProblem) -> SecretText:
        return SecretText(problem=problem)


class PresetKeyField(models.BigAutoField):  # type: ignore[type-arg]
    """An automatic primary key that is known before its row is written."""

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.BigAutoField", args, kwargs

    def get_pk_value_on_save(self, instance: models.Model) -> int:  # noqa: ARG002
        table = self.model._meta.db_table
        if connection.vendor == "postgresql":
            ((key,),) = sql.fetch_rows("SELECT nextval(pg_get_serial_sequence(%s, %s))", [table, self.column])
            return int(key)
        with sql.write_transaction():
            found = sql.fetch_rows(_NEXT_SQLITE_KEY, [table])
            if not found:
                sql.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, 1)", [table])
            return int(found[0][0]) if found else 1


def encrypt_for_rows(database: Any, table: str, column: str) -> None:
    """Encrypt each secret for its row, where older versions did not. For migrations: names, and no models.

    A row that no key here decrypts stays as it is, and its secret has to be entered again. A row that changes
    meanwhile stays as it was changed.
    """
    name = database.ops.quote_name
    with database.cursor() as cursor:
        cursor.execute(f"SELECT id, {name(column)} FROM {name(table)}")  # noqa: S608  our own names
        bound = []
        for key, token in cursor.fetchall():
            with suppress(MissingKey):
                bound.append((vault().bind_to_place(token, row_place(table, column, key)), key, token))
        cursor.executemany(
            f"UPDATE {name(table)} SET {name(column)} = %s WHERE id = %s AND {name(column)} = %s",  # noqa: S608
            bound,
        )


if TYPE_CHECKING:
    _ReasonText = models.TextField["Reason | str", Reason]
    _ReasonChar = models.CharField["Reason | str", Reason]
    _ReasonBase = models.Field["Reason | str", Reason]
else:
    _ReasonText, _ReasonChar, _ReasonBase = models.TextField, models.CharField, object

_PLACEHOLDER: Final = re.compile(r"%\(\w+\)s")


class _ReasonField(_ReasonBase):
    """A text field that holds a reason. Migrations see a plain text field, as the database does."""

    empty_values = (*EMPTY_VALUES, NO_REASON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"blank": True, **kwargs, "default": NO_REASON})

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        plain = models.TextField if isinstance(self, models.TextField) else models.CharField
        return name, f"django.db.models.{plain.__name__}", args, {**kwargs, "default": ""}

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Reason | None:
        return None if value is None else decode(value)

    def to_python(self, value: Any) -> Any:
        return decode(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        return encode(value, self.max_length) if isinstance(value, Reason) else value

    def value_to_string(self, row: models.Model) -> str:
        return str(self.get_prep_value(self.value_from_object(row)))

    def run_validators(self, value: Any) -> None:
        """Check nothing: it is cut to its column when it is written."""


class ReasonTextField(_ReasonField, _ReasonText):
    pass


class ReasonCharField(_ReasonField, _ReasonChar):
    pass


@ReasonTextField.register_lookup
@ReasonCharField.register_lookup
class ReasonContains(IContains):
    """Search in what people read: the texts of the codes, beside the parameters that are stored."""

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002  # Django's way
        codes = [Contains(self.lhs, f'"{code}"') for code in _codes(str(self.rhs).casefold())]
        found = [compiler.compile(each) for each in (IContains(self.lhs, self.rhs), *codes)]
        return f"({' OR '.join(sql for sql, _ in found)})", [each for _, params in found for each in params]


def _codes(wanted: str) -> Iterator[str]:
    """Yield the codes whose text has this in it, in English or in the reader's language."""
    for code, template in TEMPLATES.items():
        texts = (template.text, gettext(template.text))
        if any(wanted in _PLACEHOLDER.sub("", text).casefold() for text in texts):
            yield code
