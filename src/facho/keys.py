"""The keys that credentials are encrypted with, and the key of sessions.

They come from the environment, or from files in FACHO_HOME that are made on first use and readable by their
owner alone. Credentials are encrypted with the newest key; older ones still open what they closed.

A secret is encrypted together with the name of its place, such as `olts.credentials:7`, and opened for that
place only: who can write to the database cannot give an OLT the credentials of another one.
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
# What was encrypted before places were in it is JSON or an address: neither begins like this.
_BOUND: Final = "for\n"


class KeyProblem(Exception):
    """A key that is missing, unreadable or not the one that closed what is to be opened."""


def secret_key(config: Config) -> str:
    key = config.secret_key or _read_or_make(config.home / SECRET, lambda: secrets.token_urlsafe(50))
    masking.know(key)
    return key


def new_key() -> str:
    return Fernet.generate_key().decode()


class MissingKey(KeyProblem):
    """A secret that none of the keys here opens."""


class WrongPlace(KeyProblem):
    """A secret that a key here opens, and that was not encrypted for the place where it was found."""


class Vault:
    """Closes and opens secrets, each for one place.

    Follows the key file when another process rotates the keys.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def close(self, text: str, place: str) -> str:
        # Under the newest key there is: one that another process has dropped would lock the secret away.
        self.forget()
        return self._fernet.encrypt(_bound(text, place).encode("utf-8", "surrogateescape")).decode()

    def open(self, token: str, place: str) -> str:
        """Raises KeyProblem, also for a secret of another place."""
        found = self._decrypted(token)
        if not found.startswith(begins := _bound("", place)):
            raise WrongPlace(
                "the credentials were encrypted for another row of the database, or by a version that did "
                "not say for which: enter them again"
            )
        return found[len(begins) :]

    def bind(self, token: str, place: str) -> str:
        """Close for this place what was closed for none. What was closed for one stays as it is.

        Raises MissingKey when no key here opens it, and another KeyProblem when the keys cannot be used.
        """
        found = self._decrypted(token)
        return token if found.startswith(_BOUND) else self.close(found, place)

    def has_key_for(self, token: str) -> bool:
        """Whether a key here opens it, whatever place it was closed for."""
        try:
            self._decrypted(token)
        except MissingKey:
            return False
        return True

    def _decrypted(self, token: str) -> str:
        try:
            return self._opened(token)
        except InvalidToken:
            self.forget()
        try:
            return self._opened(token)
        except InvalidToken:
            raise MissingKey(
                "the credentials were encrypted with a key that is not here; put it back into "
                f"{'FACHO_CREDENTIAL_KEYS' if self.from_environment else self.path}"
            ) from None

    def close_again(self, token: str, place: str) -> str:
        """The same secret under the newest key."""
        return self.close(self.open(token, place), place)

    @property
    def from_environment(self) -> bool:
        return bool(self._config.credential_keys)

    @property
    def path(self) -> Path:
        return self._config.home / CREDENTIALS

    def keys(self) -> list[str]:
        given = self._config.credential_keys
        keys = list(given) if self.from_environment else _read_or_make(self.path, new_key).split()
        masking.know(*keys)
        return keys

    def replace_keys(self, keys: Sequence[str]) -> None:
        _write(self.path, "\n".join(keys))
        self.forget()

    def forget(self) -> None:
        self.__dict__.pop("_fernet", None)

    def _opened(self, token: str) -> str:
        return self._fernet.decrypt(token.encode()).decode("utf-8", "surrogateescape")

    @cached_property
    def _fernet(self) -> MultiFernet:
        try:
            return MultiFernet([Fernet(key) for key in self.keys()])
        except ValueError as error:
            where = "FACHO_CREDENTIAL_KEYS" if self.from_environment else str(self.path)
            raise KeyProblem(f"{where} holds something that is no key: {error}") from None


def _bound(text: str, place: str) -> str:
    return f"{_BOUND}{place}\n{text}"


def _read_or_make(path: Path, make: Callable[[], str]) -> str:
    """Two processes may start at once: the first one's key counts."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = _draft(path, make())
        try:
            os.link(drawn, path)
        except FileExistsError:
            pass
        finally:
            drawn.unlink()
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
    """All of it or nothing: a lost key is lost credentials."""
    os.replace(_draft(path, text), path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _draft(path: Path, text: str) -> Path:
    # mkstemp gives mode 0600.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return Path(name)
