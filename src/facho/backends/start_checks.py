"""Checks before a process of a distributed system starts: each reason not to start is a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import celery
from kombu import Connection
from kombu.exceptions import OperationalError

from facho.apps.hosts.models import Olt
from facho.backends import redis_transport  # noqa: F401 - kombu finds it
from facho.config import Config
from facho.keys import KeyProblem, WrongPlace

# Versions whose workers end when their broker goes away.
_BAD_VERSIONS: Final = ((5, 7, 0),)
_TIMEOUT_S: Final = 3


def reasons_not_to_start(config: Config) -> Iterator[str]:
    """Yield the reasons not to start; later ones may follow from the first."""
    yield from wrong_settings(config)
    yield from bad_version(celery.__version__)
    if config.broker_url:
        yield from broker_away(config.broker)


def wrong_settings(config: Config) -> Iterator[str]:
    if config.database.startswith("sqlite:"):
        yield (
            "workers on several machines need PostgreSQL: set FACHO_DATABASE_URL to postgresql://..., "
            "or run facho up for one machine on SQLite"
        )
    if not config.broker_url:
        yield (
            "no broker is set: set FACHO_BROKER_URL to redis://HOST:6379/0, or run facho up, which needs none"
        )
    elif not config.broker_url.startswith(("redis://", "rediss://", "redis+socket://")):
        yield "FACHO_BROKER_URL must begin with redis://, rediss:// or redis+socket://"


def bad_version(version: str) -> Iterator[str]:
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) in _BAD_VERSIONS:
        yield f"workers of Celery {version} end when their broker goes away: install 5.6.3"


def broker_away(url: str) -> Iterator[str]:
    try:
        with Connection(url, transport_options={"socket_connect_timeout": _TIMEOUT_S}) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_S)
    except (OperationalError, OSError) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            yield (
                f"the broker of FACHO_BROKER_URL shows a certificate that is not trusted: {error}; "
                "ssl_ca_certs= in it must name the file of the CA that signed it"
            )
            return
        yield f"the broker of FACHO_BROKER_URL does not answer: {error}; is Redis running there?"


def key_problem() -> str | None:
    """Return why the newest OLT's credentials cannot be decrypted: all machines need the same keys."""
    try:
        olt = Olt.objects.order_by("-id").first()
        if olt is not None:
            olt.credentials.secrets()
    except WrongPlace:
        # A key here decrypts it, so the keys are right and only this row is wrong.
        return None
    except KeyProblem as error:
        return f"{error}; every machine needs the same keys, in FACHO_CREDENTIAL_KEYS"
    return None
