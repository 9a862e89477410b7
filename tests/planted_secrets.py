"""Secrets that tests plant, those that the system has of its own, and how to find them elsewhere."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection

from facho import masking
from facho.apps.access.models import ApiToken, LoginAddress, LoginAttempt
from facho.apps.db.fields import vault

COMMUNITY = "comm-7Kq2-north"
WRONG_COMMUNITY = "comm-wrong-9Xv"
AUTH, PRIV = "auth-Zt81-pass", "priv-Mw42-pass"
DATABASE, BROKER = "db-p@ss/63Hy", "br0ker-Qd55"
PASSWORD = "pers0n-Lb30-pass"
HOOK = "h00k-Vn94-token"
# Nobody is there.
CHANNEL = f"json://caller:{HOOK}@127.0.0.1:9/in"
DATABASE_URL = f"postgresql://facho:{quote(DATABASE, safe='')}@db/facho"
BROKER_URL = f"redis://:{BROKER}@broker:6379/0"
PLANTED = (COMMUNITY, WRONG_COMMUNITY, AUTH, PRIV, DATABASE, BROKER, PASSWORD, HOOK)


def know_addresses() -> None:
    """As settings.py does with those that it has."""
    masking.add_url_secrets(DATABASE_URL, BROKER_URL)


def own_secrets() -> set[str]:
    """What the system itself keeps, and nobody is ever to see: keys, digests, and what is encrypted."""
    kept = {settings.SECRET_KEY, *vault().keys(), *ApiToken.objects.values_list("digest", flat=True)}
    kept |= {*Session.objects.values_list("session_key", flat=True)}
    kept |= {*LoginAttempt.objects.values_list("account", flat=True)}
    kept |= {*LoginAddress.objects.values_list("account", flat=True)}
    hashes = {hashed for hashed in User.objects.values_list("password", flat=True) if hashed}
    return kept | hashes | {hashed.rpartition("$")[2] for hashed in hashes} | {*_encrypted()}


def _encrypted() -> Iterator[str]:
    with connection.cursor() as cursor:
        for column, table in (("credentials", "olts"), ("url", "notification_channels")):
            cursor.execute(f"SELECT {column} FROM {table}")
            yield from (row[0] for row in cursor.fetchall())


def leaks(texts: Mapping[str, str], secrets: set[str]) -> set[tuple[str, str]]:
    """Where, and which."""
    forms = [(form, secret) for secret in secrets for form in _forms(secret)]
    return {(where, secret) for where, text in texts.items() for form, secret in forms if form in text}


def _forms(secret: str) -> set[str]:
    """As it is, and as pages, addresses and headers may write it."""
    raw = secret.encode()
    coded = base64.b64encode(raw).decode().rstrip("=")
    return {secret, html.escape(secret), quote(secret, safe=""), repr(secret)[1:-1], raw.hex(), coded}


def told_by(answer: Any) -> str:
    """All that an answer says; the number of a session is in the cookie that it is for, and nowhere else."""
    body = b"".join(answer) if answer.streaming else answer.content
    cookies = [f"{name}={each.value}" for name, each in answer.cookies.items() if name != "sessionid"]
    headers = [f"{name}: {value}" for name, value in answer.items()]
    return "\n".join([body.decode(errors="replace"), *headers, *cookies])
