"""A secret as one encrypted column: never shown, never logged, not searchable."""

from __future__ import annotations

from dataclasses import dataclass, field

from facho import masking
from facho.apps.db.bound_secrets import BoundSecretField
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


class SecretTextField(BoundSecretField):
    def text_of(self, value: SecretText) -> str:
        return value.open()

    def value_of(self, text: str) -> SecretText:
        return SecretText(text)

    def unreadable(self, problem: KeyProblem) -> SecretText:
        return SecretText(problem=problem)
