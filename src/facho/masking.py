"""Knows every secret that this process has seen, and keeps it out of whatever is written for people.

Who opens or is given a secret says so here. Logs, the coordinator's log and errors pass through `masked`.
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
# A shorter one is part of many a word, and would leave nothing to read.
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
            _learn({form for secret in new for form in _written(secret)})


def add_url_secrets(*urls: str) -> None:
    """The passwords of a database or a broker, as they are there and as they are meant."""
    for url in urls:
        # An address that cannot be read is refused by whoever wants to use it.
        with contextlib.suppress(ValueError):
            parts = urlsplit(url)
            options = [value for name, value in parse_qsl(parts.query) if name == "password"]
            add_secrets(parts.password or "", unquote(parts.password or ""), *options)


def mask_secrets(text: str) -> str:
    for form in _forms:
        if form in text:
            text = text.replace(form, MASK)
    return _short.sub(MASK, text) if _short is not None else text


def _written(secret: str) -> Iterator[str]:
    """As it may be met: in a line, in a representation, in JSON, in an address."""
    yield secret
    yield one_line(secret)
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    for quoted in (quote, quote_plus):
        yield quoted(secret, safe="", errors="surrogateescape")


def _learn(forms: set[str]) -> None:
    global _forms, _short
    long = {form for form in forms if len(form) >= _SHORT}
    _forms = tuple(sorted({*_forms, *long}, key=len, reverse=True))
    short = sorted(secret for secret in _known if len(secret) < _SHORT)
    if short:
        _short = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, short))})(?!\w)")
