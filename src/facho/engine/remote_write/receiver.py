"""The receiver of remote write, over HTTP: one connection that is kept, and what each answer means."""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from facho import __version__
from facho.config import Config
from facho.log_files import one_line
from facho.masking import add_secrets, mask_secrets

# The samples themselves are wrong; everything else is about the receiver, and may be repaired.
_REFUSED: Final = frozenset({400, 409, 413, 422})
# Of an answer, what is read, and what is kept after its secrets were masked.
_READ: Final = 4096
_LONGEST_TEXT: Final = 300
# Shorter values of the URL's query are masked only behind their name, shorter folders of its path not at all.
_SHORTEST_KEY: Final = 8
_SHORTEST_FOLDER: Final = 20
# A receiver that names a longer pause is asked again after this.
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_FIXED: Final = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": f"facho/{__version__}",
}


class BadCredentials(Exception):
    """A file of the settings that cannot be used. The message names the setting."""


class Unavailable(Exception):
    """The receiver takes nothing now. `pause` is how long it wants to be left alone."""

    def __init__(self, problem: str, pause: timedelta | None = None) -> None:
        super().__init__(problem)
        self.pause = pause


class Refused(Exception):
    """The receiver does not want these samples, and would not if they came again."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    reason: str
    text: str
    retry_after: str | None


class Receiver:
    """Sends requests one after the other. Of one thread."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._parts = urlsplit(config.remote_write_url)
        self._timeout = config.remote_write_timeout.total_seconds()
        self._connection: http.client.HTTPConnection | None = None
        self._headers: Mapping[str, str] = {}
        _mask_keys(self._parts)

    def send(self, body: bytes) -> None:
        """Return when the receiver has taken the samples. Raises Unavailable or Refused."""
        # A receiver may close a connection that was kept, just when the next request begins.
        was_kept = self._connection is not None
        try:
            answer = self._ask(body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if not was_kept:
                raise Unavailable(_sentence(error)) from None
            answer = self._ask_anew(body)
        except (OSError, http.client.HTTPException, BadCredentials) as error:
            self.close()
            raise Unavailable(_sentence(error)) from None
        self._judge(answer)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask_anew(self, body: bytes) -> _Answer:
        try:
            return self._ask(body)
        except (OSError, http.client.HTTPException, BadCredentials) as error:
            self.close()
            raise Unavailable(_sentence(error)) from None

    def _ask(self, body: bytes) -> _Answer:
        connection = self._connection or self._connect()
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        with _time_limit(connection.sock, self._timeout):
            connection.request("POST", target, body, dict(self._headers))
            response = connection.getresponse()
            text = response.read(_READ).decode("utf-8", "replace")
        if response.will_close or not response.isclosed():
            # The rest of a long answer is not worth reading.
            self.close()
        return _Answer(response.status, response.reason, text, response.getheader("Retry-After"))

    def _connect(self) -> http.client.HTTPConnection:
        """Read files of secrets for each connection: they may be renewed while the sender runs."""
        self._headers = {**_FIXED, **credentials(self._config)}
        host, port = self._parts.hostname or "", self._parts.port
        connection: http.client.HTTPConnection
        if self._parts.scheme == "https":
            context = tls_context(self._config)
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        connection.connect()
        self._connection = connection
        return connection

    def _judge(self, answer: _Answer) -> None:
        if 200 <= answer.status < 300:
            return
        problem = f"HTTP {answer.status} {answer.reason}"
        if answer.text.strip():
            problem += f": {answer.text.strip()}"
        problem = mask_secrets(one_line(problem))[:_LONGEST_TEXT]
        if answer.status in _REFUSED:
            raise Refused(problem)
        # Another connection reads the secrets again.
        self.close()
        raise Unavailable(problem, _parse_pause(answer.retry_after))


def _mask_keys(url: SplitResult) -> None:
    """Mask the keys of a URL in what a receiver answers, as they are written and as they are meant."""
    pairs = url.query.split("&")
    values = [pair.partition("=")[2] for pair in pairs] + [value for _, value in parse_qsl(url.query)]
    add_secrets(*pairs, *(value for value in values if len(value) >= _SHORTEST_KEY))
    add_secrets(*(folder for folder in url.path.split("/") if len(folder) >= _SHORTEST_FOLDER))


@contextlib.contextmanager
def _time_limit(connected: socket.socket, seconds: float) -> Iterator[None]:
    """Raise TimeoutError when it takes longer: the socket's own time-out begins again with each byte."""
    is_over = threading.Event()

    def cut() -> None:
        is_over.set()
        with contextlib.suppress(OSError):
            # That of TLS would forget its keys while they are in use.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if is_over.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


def credentials(config: Config) -> dict[str, str]:
    """Return the headers that say who we are. Raises BadCredentials."""
    found = {}
    if config.remote_write_tenant:
        found["X-Scope-OrgID"] = config.remote_write_tenant
    token = config.remote_write_token or _read_secret(config, "remote_write_token_file")
    if not token.isascii():
        raise BadCredentials("FACHO_REMOTE_WRITE_TOKEN_FILE has characters that cannot be sent")
    if token:
        found["Authorization"] = f"Bearer {token}"
    elif config.remote_write_user:
        password = config.remote_write_password or _read_secret(config, "remote_write_password_file")
        pair = base64.b64encode(f"{config.remote_write_user}:{password}".encode()).decode()
        add_secrets(pair)
        found["Authorization"] = f"Basic {pair}"
    return found


def _read_secret(config: Config, name: str) -> str:
    path: str = getattr(config, name)
    if not path:
        return ""
    variable = f"FACHO_{name.upper()}"
    try:
        secret = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadCredentials(f"{variable}: {path} cannot be read: {reason}") from None
    if not secret or not secret.isprintable():
        raise BadCredentials(f"{variable}: {path} must have one line, the secret")
    add_secrets(secret)
    return secret


def tls_context(config: Config) -> ssl.SSLContext:
    """Raises BadCredentials."""
    try:
        context = ssl.create_default_context(cafile=config.remote_write_ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise BadCredentials(
            f"FACHO_REMOTE_WRITE_CA_FILE: {config.remote_write_ca_file} cannot be used: {_sentence(error)}"
        ) from None
    if config.remote_write_cert_file:
        try:
            # A key with a passphrase would ask for it on the terminal.
            context.load_cert_chain(
                config.remote_write_cert_file, config.remote_write_key_file or None, password=""
            )
        except (OSError, ssl.SSLError) as error:
            raise BadCredentials(
                "FACHO_REMOTE_WRITE_CERT_FILE and FACHO_REMOTE_WRITE_KEY_FILE cannot be used: "
                + _sentence(error)
            ) from None
    return context


def file_problems(config: Config) -> list[str]:
    """Return what is wrong with the files of the settings of remote write."""
    found = []
    for check in (credentials, tls_context):
        try:
            check(config)
        except BadCredentials as problem:
            found.append(str(problem))
    return found


def _sentence(error: Exception) -> str:
    """Return what went wrong; never what was sent."""
    match error:
        case BadCredentials():
            return str(error)
        case TimeoutError():
            return "no answer in time"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS: {error.reason or 'it cannot be agreed on'}"
        case http.client.RemoteDisconnected():
            return "it closes the connection without an answer"
        case OSError() if error.strerror:
            return f"no connection: {error.strerror}"
        case _:
            return f"no answer that is HTTP: {type(error).__name__}"


def _parse_pause(text: str | None) -> timedelta | None:
    """Return the pause of a `Retry-After`: seconds, or a date."""
    if not text:
        return None
    try:
        seconds = float(text) if text.strip().isdigit() else _seconds_until(text)
    except (ValueError, OverflowError):
        return None
    return min(timedelta(seconds=max(0.0, min(seconds, 1e6))), _LONGEST_PAUSE)


def _seconds_until(text: str) -> float:
    at = parsedate_to_datetime(text)
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (at - datetime.now(UTC)).total_seconds()
