"""How an OLT lets us in, as one encrypted column: never shown, never logged, not searchable."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db import models

from facho import masking
from facho.config import current
from facho.keys import KeyProblem, Vault
from facho.snmp.usm import Auth, Priv, User


@dataclass(frozen=True, slots=True)
class Credentials:
    """A community, or an SNMPv3 user with its secrets. Neither shows in a representation."""

    community: str = field(default="", repr=False)
    user: User | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        masking.know(*self.secrets())

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
        """What must never be seen anywhere."""
        if self.user is None:
            return [self.community]
        return [secret for secret in (self.user.auth_password, self.user.priv_password) if secret]


class Unreadable(Credentials):
    """Those that no key here opens. Their OLT can be read, changed and given others, but not asked."""

    __slots__ = ("_problem",)

    def __init__(self, problem: KeyProblem) -> None:
        object.__setattr__(self, "_problem", problem)

    def __getattribute__(self, name: str) -> Any:
        if name in ("community", "user"):
            raise object.__getattribute__(self, "_problem")
        return object.__getattribute__(self, name)


@cache
def vault() -> Vault:
    return Vault(current())


if TYPE_CHECKING:
    _Text = models.TextField[Credentials, Credentials]
else:
    _Text = models.TextField


class CredentialsField(_Text):
    """Encrypted on its way into the database, opened on its way out."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable")
        return name, path, args, kwargs

    def get_prep_value(self, value: Credentials | None) -> str | None:
        return None if value is None else vault().close(value.to_json())

    def from_db_value(self, value: str | None, *_: object) -> Credentials | None:
        if value is None:
            return None
        try:
            return Credentials.from_json(vault().open(value))
        except KeyProblem as problem:
            # One row must not keep others from being read, nor a person from entering it anew.
            return Unreadable(problem)

    def value_to_string(self, obj: models.Model) -> str:  # noqa: ARG002
        raise TypeError("credentials are not exported")
