"""The SNMP credentials of an OLT, as one encrypted column: never shown, never logged, not searchable."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from facho import masking
from facho.apps.db.fields import EncryptedField
from facho.keys import KeyProblem
from facho.snmp.usm import Auth, Priv, User


@dataclass(frozen=True, slots=True)
class Credentials:
    """A community, or an SNMPv3 user with its secrets. Neither shows in a representation."""

    community: str = field(default="", repr=False)
    user: User | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        masking.add_secrets(*self.secrets())

    def to_json(self) -> str:
        if self.user is None:
            return json.dumps({"community": self.community})
        user = self.user
        return json.dumps(
            {
                "user": user.name,
                "auth": user.auth.name if user.auth else None,
                "auth_password": user.auth_password,
                "priv": user.priv.name if user.priv else None,
                "priv_password": user.priv_password,
                "context": user.context,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Credentials:
        found = json.loads(text)
        if "user" not in found:
            return cls(community=found["community"])
        auth, priv = found["auth"], found["priv"]
        user = User(
            found["user"],
            Auth[auth] if auth else None,
            found["auth_password"],
            Priv[priv] if priv else None,
            found["priv_password"],
            found["context"],
        )
        return cls(user=user)

    def secrets(self) -> list[str]:
        """Return the texts that must never be shown anywhere."""
        if self.user is None:
            return [self.community]
        return [secret for secret in (self.user.auth_password, self.user.priv_password) if secret]


class Unreadable(Credentials):
    """Credentials that no key here decrypts. Their OLT can be read and changed, but not asked."""

    __slots__ = ("_problem",)

    def __init__(self, problem: KeyProblem) -> None:
        object.__setattr__(self, "_problem", problem)

    @property
    def problem(self) -> KeyProblem:
        """Return why they cannot be decrypted."""
        found: KeyProblem = object.__getattribute__(self, "_problem")
        return found

    def __getattribute__(self, name: str) -> Any:
        if name in ("community", "user"):
            raise object.__getattribute__(self, "_problem")
        return object.__getattribute__(self, name)


class CredentialsField(EncryptedField):
    def text_of(self, value: Credentials) -> str:
        return value.to_json()

    def value_of(self, text: str) -> Credentials:
        return Credentials.from_json(text)

    def unreadable(self, problem: KeyProblem) -> Credentials:
        return Unreadable(problem)
