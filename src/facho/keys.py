"""The keys that credentials are encrypted with, and the key of sessions.

They come from the environment, or from files in FACHO_HOME that are made on first use and readable by their
owner alone. Credentials are encrypted with the newest key; older ones still open what they closed.
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


class KeyProblem(Exception):
    """A key that is missing, unreadable or not the one that closed what is to be opened."""


def secret_key(config: Config) -> str:
    key = config.secret_key or _read_or_make(config.home / SECRET, lambda: secrets.token_urlsafe(50))
    masking.know(key)
    return key


def new_key() -> str:
    return Fernet.generate_key().decode()


class Vault:
    """Closes and opens secrets. Follows the key file when another process rotates the keys."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def close(self, text: str) -> str:
        # Under the newest key there is: one that another process has dropped would lock the secret away.
        self.forget()
        return self._fernet.encrypt(text.encode("utf-8", "surrogateescape")).decode()

    def open(self, token: str) -> str:
        try:
            return self._opened(token)
        except InvalidToken:
            self.forget()
        try:
            return self._opened(token)
        except InvalidToken:
            raise KeyProblem(
                "the credentials were encrypted with a key that is not here; put it back into "
                f"{'FACHO_CREDENTIAL_KEYS' if self.from_environment else self.path}"
            ) from None

    def close_again(self, token: str) -> str:
        """The same secret under the newest key."""
        return self.close(self.open(token))

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
