"""PostgreSQL and Redis behind TLS: used with the right CA, refused in words with another one."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from facho.backends.start_checks import broker_away
from facho.config import Config
from facho.web import throttles
from tests.integration.own_facho import OwnFacho
from tests.services.certificates import HOST, Certificates, make_certificates
from tests.services.postgres import USER, Postgres
from tests.services.redis import Redis
from tests.waiting import PATIENCE_S


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


@pytest.fixture
def wrong(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path, "wrong")


def test_postgresql_is_used_when_its_certificate_is_by_the_ca_that_is_named(
    own_postgres: Postgres, tmp_path: Path, wrong: Certificates
) -> None:
    own_postgres.stop(immediate=False)
    # In its own folder: nobody else may read the key, and it may not read ours.
    right = make_certificates(own_postgres.folder, "right")
    for file in (right.certificate, right.key):
        own_postgres.own(file)
    port = free_port()
    own_postgres.options = (
        f"listen_addresses={HOST}",
        f"port={port}",
        "ssl=on",
        f"ssl_cert_file={right.certificate}",
        f"ssl_key_file={right.key}",
        "log_connections=on",
    )
    own_postgres.port = port
    own_postgres.start()
    facho = OwnFacho(tmp_path / "home")

    def listed(ca: Path, host: str = HOST) -> tuple[int, str]:
        url = f"postgresql://{USER}@{host}:{port}/postgres?sslmode=verify-full&sslrootcert={ca}"
        done = facho.run("olt", "list", FACHO_DATABASE_URL=url)
        return done.returncode, done.stderr

    ca = tmp_path / "ca.pem"
    ca.write_bytes(right.ca.read_bytes())
    code, told = listed(ca)
    # It was asked what it has.
    assert (code, "run facho migrate" in told) == (1, True), told
    assert "SSL enabled" in own_postgres.log.read_text()
    code, told = listed(wrong.ca)
    assert (code, len(told.splitlines())) == (1, 1)
    assert "certificate verify failed" in told
    assert "sslrootcert= in FACHO_DATABASE_URL must name" in told
    # The right CA, and a name that the certificate is not for.
    code, told = listed(ca, "127.0.0.1")
    assert (code, "does not match host name" in told) == (1, True), told


def test_redis_is_used_when_its_certificate_is_by_the_ca_that_is_named(
    own_redis: Redis, tmp_path: Path, wrong: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttles, "_REDIS_CONNECT_S", PATIENCE_S)
    monkeypatch.setattr(throttles, "_REDIS_ANSWER_S", PATIENCE_S)
    own_redis.stop()
    right = make_certificates(tmp_path, "right")
    port = free_port()
    own_redis.options = (
        *("--tls-port", str(port), "--bind", "127.0.0.1", "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(right.certificate), "--tls-key-file", str(right.key)),
        *("--tls-ca-cert-file", str(right.ca)),
    )
    own_redis.start()

    def broker(words: str, host: str = HOST) -> Config:
        return replace(Config(), broker_url=f"rediss://{host}:{port}/0{words}")

    def why_not(words: str, host: str = HOST) -> list[str]:
        return list(broker_away(broker(words, host).broker))

    def count(words: str, host: str = HOST) -> int:
        return throttles.RedisCounters(broker(words, host).redis).count("a", 5, 60)

    assert why_not(f"?ssl_ca_certs={right.ca}") == []
    (told,) = why_not(f"?ssl_ca_certs={wrong.ca}")
    assert "shows a certificate that is not trusted" in told
    assert "ssl_ca_certs= in it must name" in told
    # Nothing is believed for want of words.
    (told,) = why_not("")
    assert "shows a certificate that is not trusted" in told
    (told,) = why_not(f"?ssl_ca_certs={right.ca}", "127.0.0.1")
    assert "shows a certificate that is not trusted" in told
    # The requests of the web are counted there by another client than that of the workers.
    assert count(f"?ssl_ca_certs={right.ca}") == 1
    for words, host in (
        (f"?ssl_ca_certs={wrong.ca}", HOST),
        ("", HOST),
        (f"?ssl_ca_certs={right.ca}", "127.0.0.1"),
    ):
        with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            count(words, host)
