"""Masks every secret that this process has seen in logs and errors.

Code that decrypts or receives a secret adds it here. Logs, the coordinator's log and errors go through
`mask_secrets`.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from facho.log_files import one_line

MASK: Final = "***"
# Shorter secrets are masked as whole words only: they are part of many words.
_SHORT: Final = 4

_lock = threading.Lock()
_known: set[str] = set()
# The longest first: one may be the beginning of another.
_forms: tuple[str, ...] = ()
_short: re.Pattern[str] | None = None


def add_secrets(*secrets: str) -> None:
    new = {secret for secret in secrets if secret and secret not in _known}
    if new:
        with _lock:
            _known.update(new)
            _update_patterns({form for secret in new for form in _encoded_forms(secret)})


def add_url_secrets(*urls: str) -> None:
    """Add the passwords of database and broker URLs, quoted and unquoted."""
    for url in urls:
        # A malformed URL is refused where it is used.
        with contextlib.suppress(ValueError):
            parts = urlsplit(url)
            options = [value for name, value in parse_qsl(parts.query) if name == "password"]
            add_secrets(parts.password or "", unquote(parts.password or ""), *options)


def mask_secrets(text: str) -> str:
    for form in _forms:
        if form in text:
            text = text.replace(form, MASK)
    return _short.sub(MASK, text) if _short is not None else text


def _encoded_forms(secret: str) -> Iterator[str]:
    """Yield the secret as it appears in lines, representations, JSON and URLs."""
    yield secret
    yield one_line(secret)
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    for quoted in (quote, quote_plus):
        yield quoted(secret, safe="", errors="surrogateescape")


def _update_patterns(forms: set[str]) -> None:
    global _forms, _short
    long = {form for form in forms if len(form) >= _SHORT}
    _forms = tuple(sorted({*_forms, *long}, key=len, reverse=True))
    short = sorted(secret for secret in _known if len(secret) < _SHORT)
    if short:
        _short = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, short))})(?!\w)")
