"""Rotate the keys that encrypt credentials.

At every moment each credential can be decrypted by a key that is still there: the new key is added first,
then each row is encrypted again, and only then are old keys removed. An interrupted rotation is repeated.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from django.apps import apps
from django.db.models import Model, QuerySet, TextField, Value
from django.db.models.functions import Cast

from facho.apps.access.actors import acting
from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.apps.db.fields import EncryptedField
from facho.apps.db.fields import vault as shared_vault
from facho.apps.hosts.models import Olt
from facho.config import Config, current
from facho.engine.process.command_transaction import command
from facho.keys import KeyProblem, Vault, new_key

_CHUNK: Final = 200


@dataclass(frozen=True, slots=True)
class SecretColumn:
    """A column of secrets, in a table whose rows have names."""

    model: type[Model]
    column: str

    def raw(self) -> Cast:
        """Return the column as stored, neither decrypted nor encrypted."""
        return Cast(self.column, TextField())

    def place(self, key: int) -> str:
        field = self.model._meta.get_field(self.column)
        assert isinstance(field, EncryptedField)
        return field.place(key)

    @property
    def rows(self) -> QuerySet[Any]:
        return self.model._default_manager.order_by("pk")


_SECRET_COLUMNS: Final = tuple(
    SecretColumn(model, field.name)
    for model in apps.get_models()
    for field in model._meta.concrete_fields
    if isinstance(field, EncryptedField)
)


@dataclass(frozen=True, slots=True)
class Rotation:
    encrypted_again: int
    # Old keys that are not needed any more: removed from the file, or to be removed from the environment.
    unneeded_keys: int
    from_environment: bool
    # An interrupted rotation was completed; no new key was made.
    resumed: bool
    # Names of rows whose secret no key decrypts. As long as there are any, the old keys stay.
    unreadable: tuple[str, ...]


def rotate(config: Config | None = None) -> Rotation:
    config = config or current()
    vault = Vault(config)
    # Encrypting again is no change for the audit log.
    with _rotation_lock(config, vault), acting(None):
        keys = vault.keys()
        resumed = len(keys) > 1 and not vault.from_environment
        if len(keys) == 1 and not vault.from_environment:
            keys = [new_key(), *keys]
            vault.replace_keys(keys)
        newest = Vault(replace(config, credential_keys=(keys[0],)))
        again = sum(
            _encrypt_again(column, vault, newest, chunk)
            for column in _SECRET_COLUMNS
            for chunk in _chunks(column)
        )
        unneeded, unreadable = _drop_old(vault, newest, keys)
    shared_vault().reload_keys()
    note(Action.ROTATE, Olt, None, "", encrypted_again=again)
    return Rotation(again, unneeded, vault.from_environment, resumed, unreadable)


@contextmanager
def _rotation_lock(config: Config, vault: Vault) -> Iterator[None]:
    """Let one rotation run at a time: two would remove each other's new key."""
    config.home.mkdir(parents=True, exist_ok=True)
    file = os.open(vault.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _chunks(column: SecretColumn) -> Iterator[list[tuple[int, str]]]:
    after = 0
    while True:
        chunk = list(column.rows.filter(pk__gt=after).values_list("pk", column.raw())[:_CHUNK])
        if not chunk:
            return
        yield chunk
        after = chunk[-1][0]


@command
def _encrypt_again(column: SecretColumn, vault: Vault, newest: Vault, chunk: list[tuple[int, str]]) -> int:
    return sum(
        _replace(column, key, token, vault)
        for key, token in chunk
        if not _decrypts(newest, token, column.place(key)) and _decrypts(vault, token, column.place(key))
    )


def _replace(column: SecretColumn, key: int, token: str, vault: Vault) -> int:
    """Encrypt a secret again, unless somebody replaced it meanwhile."""
    unchanged = column.rows.order_by().annotate(raw=column.raw()).filter(pk=key, raw=token)
    closed = vault.reencrypt(token, column.place(key))
    again: int = unchanged.update(**{column.column: Value(closed, output_field=TextField())})
    return again


def _decrypts(vault: Vault, token: str, place: str) -> bool:
    try:
        vault.decrypt(token, place)
    except KeyProblem:
        return False
    return True


@command
def _drop_old(vault: Vault, newest: Vault, keys: list[str]) -> tuple[int, tuple[str, ...]]:
    """Remove the old keys if no row needs them, in a transaction that keeps out new credentials."""
    left = [
        name
        for column in _SECRET_COLUMNS
        for key, name, token in column.rows.values_list("pk", "name", column.raw())
        if not _decrypts(newest, token, column.place(key))
    ]
    if left:
        return 0, tuple(left)
    if not vault.from_environment:
        vault.replace_keys(keys[:1])
    return len(keys) - 1, ()
