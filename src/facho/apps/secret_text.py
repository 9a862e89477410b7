"""A secret as one encrypted column: never shown, never logged, not searchable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import models

from facho import masking
from facho.apps.hosts import credentials
from facho.keys import KeyProblem


@dataclass(frozen=True, slots=True)
class SecretText:
    """Without its text when no key here opens it: its row can still be read, changed and given another."""

    text: str = field(default="", repr=False)
    problem: KeyProblem | None = None

    def __post_init__(self) -> None:
        masking.know(self.text)

    def __str__(self) -> str:
        return masking.MASK

    def open(self) -> str:
        """Raises KeyProblem."""
        if self.problem is not None:
            raise self.problem
        return self.text


if TYPE_CHECKING:
    _Text = models.TextField[SecretText, SecretText]
else:
    _Text = models.TextField


class SecretTextField(_Text):
    """Encrypted on its way into the database, opened on its way out."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable")
        return name, path, args, kwargs

    def get_prep_value(self, value: SecretText | None) -> str | None:
        return None if value is None else credentials.vault().close(value.open())

    def from_db_value(self, value: str | None, *_: object) -> SecretText | None:
        if value is None:
            return None
        try:
            return SecretText(credentials.vault().open(value))
        except KeyProblem as problem:
            return SecretText(problem=problem)

    def value_to_string(self, obj: models.Model) -> str:  # noqa: ARG002
        raise TypeError("secrets are not exported")
