"""The keys that credentials are encrypted with, and the key of sessions.

They come from the environment, or from files in FACHO_HOME that are made on first use and readable by their
owner alone. Credentials are encrypted with the newest key; older ones still decrypt what they encrypted.

A secret is encrypted together with the name of its place, such as `olts.credentials:7`, and decrypted for
that place only: write access to the database is not enough to give an OLT the credentials of another one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from facho import masking
from facho.config import Config

CREDENTIALS: Final = "credentials.keys"
SECRET: Final = "secret.key"  # noqa: S105  the name of a file
# Secrets of versions without places are JSON or a URL, which never begin like this.
_BOUND: Final = "for\n"


class KeyProblem(Exception):
    """A key is missing, unreadable, or not the one that encrypted the secret."""


def secret_key(config: Config) -> str:
    key = config.secret_key or _read_or_create(config.home / SECRET, lambda: secrets.token_urlsafe(50))
    masking.add_secrets(key)
    return key


def new_key() -> str:
    return Fernet.generate_key().decode()


class MissingKey(KeyProblem):
    """None of the keys decrypts a secret."""


class WrongPlace(KeyProblem):
    """A secret was encrypted for another place than the one where it was found."""


class Vault:
    """Encrypts and decrypts secrets, each for one place.

    Reads the key file again when another process has rotated the keys.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def encrypt(self, text: str, place: str) -> str:
        # Use the newest key of the file: a secret under a key that another process has dropped would be lost.
        self.reload_keys()
        return self._fernet.encrypt((_prefix(place) + text).encode("utf-8", "surrogateescape")).decode()

    def decrypt(self, token: str, place: str) -> str:
        """Raises KeyProblem, also for a secret of another place."""
        found = self._decrypt_any(token)
        if not found.startswith(prefix := _prefix(place)):
            raise WrongPlace(
                "the credentials were encrypted for another row of the database, or by a version that did "
                "not say for which: enter them again"
            )
        return found[len(prefix) :]

    def bind_to_place(self, token: str, place: str) -> str:
        """Encrypt a secret without a place again for this place; one that has a place stays as it is.

        Raises MissingKey when no key decrypts it, and another KeyProblem when the keys cannot be used.
        """
        found = self._decrypt_any(token)
        return token if found.startswith(_BOUND) else self.encrypt(found, place)

    def has_key_for(self, token: str) -> bool:
        """Say whether a key decrypts it, for whatever place it was encrypted."""
        try:
            self._decrypt_any(token)
        except MissingKey:
            return False
        return True

    def _decrypt_any(self, token: str) -> str:
        try:
            return self._decrypt_now(token)
        except InvalidToken:
            self.reload_keys()
        try:
            return self._decrypt_now(token)
        except InvalidToken:
            raise MissingKey(
                "the credentials were encrypted with a key that is not here; put it back into "
                f"{'FACHO_CREDENTIAL_KEYS' if self.from_environment else self.path}"
            ) from None

    def reencrypt(self, token: str, place: str) -> str:
        """Return the same secret under the newest key."""
        return self.encrypt(self.decrypt(token, place), place)

    @property
    def from_environment(self) -> bool:
        return bool(self._config.credential_keys)

    @property
    def path(self) -> Path:
        return self._config.home / CREDENTIALS

    def keys(self) -> list[str]:
        given = self._config.credential_keys
        keys = list(given) if self.from_environment else _read_or_create(self.path, new_key).split()
        masking.add_secrets(*keys)
        return keys

    def replace_keys(self, keys: Sequence[str]) -> None:
        _write(self.path, "\n".join(keys))
        self.reload_keys()

    def reload_keys(self) -> None:
        self.__dict__.pop("_fernet", None)

    def _decrypt_now(self, token: str) -> str:
        return self._fernet.decrypt(token.encode()).decode("utf-8", "surrogateescape")

    @cached_property
    def _fernet(self) -> MultiFernet:
        try:
            return MultiFernet([Fernet(key) for key in self.keys()])
        except ValueError as error:
            where = "FACHO_CREDENTIAL_KEYS" if self.from_environment else str(self.path)
            raise KeyProblem(f"{where} holds something that is no key: {error}") from None


def _prefix(place: str) -> str:
    return f"{_BOUND}{place}\n"


def _read_or_create(path: Path, make: Callable[[], str]) -> str:
    """Return the key in the file, or make one. When two processes start at once, both get the first key."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = _write_draft(path, make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        raise KeyProblem(f"no key can be written to {path}: {error.strerror}") from error
    return _read(path)


def _read(path: Path) -> str:
    try:
        text = path.read_text("ascii").strip()
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise KeyProblem(f"{path} cannot be read: {error}") from error
    if not text:
        raise KeyProblem(f"{path} is empty; put the key back from your backup")
    return text


def _write(path: Path, text: str) -> None:
    """Replace the file atomically: a lost key means lost credentials."""
    os.replace(_write_draft(path, text), path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_draft(path: Path, text: str) -> Path:
    # mkstemp gives mode 0600.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return Path(name)
