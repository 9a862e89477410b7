"""Who asks too often is told so, whichever process is asked; and what is too long is not even read."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.test import Client

from facho.apps.hosts.models import Olt
from facho.config import Config, current
from facho.core.roles import Role
from facho.web import throttles
from facho.web.api import throttling
from facho.web.server.query_strings import LONGEST_QUERY, MOST_PARAMETERS
from facho.web.throttles import FileCounters
from tests.api_clients import asking, person, refused_at, showing
from tests.services.redis import Redis
from tests.waiting import PATIENCE_S

LOGIN = "/admin/login/"


class Failing:
    """Counters that cannot count, and how often they were asked to."""

    asked = 0

    def count(self, *_: Any) -> int:
        self.asked += 1
        raise OSError("the disk is gone")


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a clock that stands still until its `now` is set."""
    clock = SimpleNamespace(now=0.0, time=lambda: 1_000_000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(throttles, "time", clock)
    return clock


def test_two_processes_count_together_and_each_minute_anew(tmp_path: Path) -> None:
    one, other = FileCounters(tmp_path / "counts"), FileCounters(tmp_path / "counts")
    assert [one.count("a", 5, 60), other.count("a", 5, 60), one.count("a", 5, 60)] == [1, 2, 3]
    assert one.count("b", 5, 60) == 1
    assert other.count("a", 6, 60) == 1


def test_the_wait_is_until_the_end_of_the_minute() -> None:
    assert [throttles.seconds_to_wait("a", 2, 120.0) for _ in range(3)] == [None, None, 61]
    assert throttles.seconds_to_wait("a", 2, 179.5) == 1
    assert throttles.seconds_to_wait("a", 2, 180.0) is None


def test_what_cannot_be_counted_together_is_counted_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttles, "_counters", Failing())
    assert [throttles.seconds_to_wait("a", 2, 120.0) for _ in range(3)] == [None, None, 61]


def test_a_failure_to_count_is_logged_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, failing = stop_clock(monkeypatch), Failing()
    monkeypatch.setattr(throttles, "_counters", failing)
    for clock.now in (0.0, 30.0, 60.0, 90.0):
        throttles.seconds_to_wait("a", 0, 120.0)
    assert failing.asked == 4
    assert [each.__dict__["action"] for each in caplog.records] == ["throttle_alone"] * 2


def test_after_a_failure_each_process_counts_alone_for_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, failing = stop_clock(monkeypatch), Failing()
    monkeypatch.setattr(throttles, "_counters", failing)
    for clock.now, wait in ((0.0, None), (0.1, None), (29.9, 61)):
        assert throttles.seconds_to_wait("a", 2, 120.0) == wait
    assert failing.asked == 1
    monkeypatch.setattr(throttles, "_counters", FileCounters(":memory:"))
    clock.now = 30.0
    assert throttles.seconds_to_wait("a", 2, 120.0) is None


def test_a_redis_that_does_not_answer_is_asked_once_and_shortly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        counters = throttles.RedisCounters(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        with pytest.raises(redis.exceptions.TimeoutError):
            counters.count("a", 5, 60)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    # Not measured: a busy machine may take any time.
    waits = counters._redis.connection_pool.connection_kwargs
    assert (waits["socket_connect_timeout"], waits["socket_timeout"]) == (1.0, 0.5)


def test_counts_are_kept_where_all_processes_find_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttles, "_counters", None)
    assert throttles._shared(Config(home=tmp_path)).count("a", 5, 60) == 1
    assert FileCounters(tmp_path / throttles.FILE).count("a", 5, 60) == 2
    for scheme, checked in (("redis", None), ("rediss", "required")):
        monkeypatch.setattr(throttles, "_counters", None)
        counters = throttles._shared(Config(home=tmp_path, broker_url=f"{scheme}://127.0.0.1:1/0"))
        assert isinstance(counters, throttles.RedisCounters)
        assert counters._redis.connection_pool.connection_kwargs.get("ssl_cert_reqs") == checked


@pytest.mark.parametrize(("words", "database"), [("", 0), ("?virtual_host=3", 3), ("?virtual_host=/3", 3)])
def test_two_machines_count_together_in_a_redis_and_each_minute_anew(
    shared_redis: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, database: int
) -> None:
    monkeypatch.setattr(throttles, "_REDIS_ANSWER_S", PATIENCE_S)

    def counters_of_a_machine(name: str) -> Any:
        monkeypatch.setattr(throttles, "_counters", None)
        return throttles._shared(Config(home=tmp_path / name, broker_url=shared_redis.url + words))

    one, other = counters_of_a_machine("one"), counters_of_a_machine("other")
    key = uuid4().hex
    assert [one.count(key, 5, 60), other.count(key, 5, 60), other.count(key, 6, 60)] == [1, 2, 1]
    with shared_redis.client() as client:
        client.select(database)
        assert 0 < client.ttl(f"facho:requests:{key}:5") <= 120


@pytest.mark.django_db
def test_the_limits_of_the_api_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(Config(), api_requests_a_minute=2, api_refusals_a_minute=1)
    monkeypatch.setattr(throttling, "current", lambda: config)
    monkeypatch.setattr(throttling, "time", SimpleNamespace(time=lambda: 1_000_000.0))
    client = asking(Role.VIEWER)
    assert [client.get("/api/v1/nodes/").status_code for _ in range(3)] == [200, 200, 429]
    assert [showing("fd_wrong").get("/api/v1/nodes/").status_code for _ in range(2)] == [401, 429]


@pytest.mark.django_db
def test_a_body_that_is_longer_than_the_api_takes_is_refused_though_the_server_takes_it(
    settings: Any,
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    body = '{"job": 1, "note": "' + "x" * 1_500_000 + '"}'
    answer = asking(Role.ADMINISTRATOR).generic("POST", "/api/v1/what-if/", body, "application/json")
    assert answer.status_code == 413


@pytest.mark.django_db
def test_a_form_that_is_longer_than_the_server_takes_is_refused(client: Client, settings: Any) -> None:
    assert current().body_bytes == settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    answer = client.post(LOGIN, {"username": "x" * (current().body_bytes + 1), "password": "x"})
    assert answer.status_code in (400, 413)


@pytest.mark.parametrize("damaged", [b"not a database" * 1000, b""])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "counts"
    one, other = FileCounters(path), FileCounters(path)
    assert [one.count("a", 5, 60), other.count("a", 5, 60)] == [1, 2]
    path.write_bytes(damaged)
    assert [one.count("a", 5, 60), other.count("a", 5, 60), one.count("a", 5, 60)] == [1, 2, 3]
    path.write_bytes(damaged)
    assert FileCounters(path).count("a", 5, 60) == 1


def test_a_deleted_or_replaced_file_does_not_make_processes_count_apart(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    one, other = FileCounters(path), FileCounters(path)
    assert [one.count("a", 5, 60), other.count("a", 5, 60)] == [1, 2]
    path.unlink()
    assert [one.count("a", 5, 60), other.count("a", 5, 60)] == [1, 2]
    FileCounters(tmp_path / "new").count("a", 5, 60)
    (tmp_path / "new").rename(path)
    assert [one.count("a", 5, 60), other.count("a", 5, 60)] == [2, 3]


def test_a_locked_file_is_not_taken_for_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttles, "_PATIENCE_S", 0.0)
    path = tmp_path / "counts"
    counters = FileCounters(path)
    assert counters.count("a", 5, 60) == 1
    with closing(sqlite3.connect(path, isolation_level=None)) as another:
        another.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            counters.count("a", 5, 60)
    assert counters.count("a", 5, 60) == 2


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(Config(), address_requests_a_minute=3, page_requests_a_minute=2)
    monkeypatch.setattr(throttles, "current", lambda: config)
    stop_clock(monkeypatch)


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_a_page_says_when_to_ask_again(client: Client) -> None:
    assert [client.get(LOGIN).status_code for _ in range(4)] == [200, 200, 200, 429]
    told = client.get(LOGIN, headers={"accept-language": "en"})
    assert told["Retry-After"] == "21"
    assert "try again in 21 seconds" in told.content.decode()
    assert Client(REMOTE_ADDR="10.0.0.9").get(LOGIN).status_code == 200
    api = client.get("/api/v1/olts/")
    assert (api.status_code, api["Content-Type"], api["Retry-After"]) == (
        429,
        "application/problem+json",
        "21",
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_a_session_has_a_limit_of_its_own(client: Client) -> None:
    client.force_login(person(Role.VIEWER))
    assert [client.get("/olts/").status_code for _ in range(3)] == [200, 200, 429]
    assert Client().get(LOGIN).status_code == 429


@pytest.mark.django_db
def test_ids_are_counted_before_they_are_read(django_assert_max_num_queries: Any) -> None:
    client, ids = asking(Role.ADMINISTRATOR), list(range(10_001))
    with django_assert_max_num_queries(4):
        answer = client.post("/api/v1/what-if/", {"job": 1, "olts": ids})
    assert "se admiten 10000 como máximo" in refused_at(answer)["olts"]
    nested = client.post("/api/v1/what-if/", {"new_job": {"olts": ids}})
    assert refused_at(nested).keys() == {"new_job.olts"}
    long = client.post("/api/v1/what-if/", {"job": 1, "olts": [2**62 + each for each in range(300_000)]})
    assert (long.status_code, long["Content-Type"]) == (413, "application/problem+json")
    assert long.json()["detail"] == "la solicitud es demasiado larga para este servidor"
    assert not Olt.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("depth", [21, 500, 2_000, 150_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_too_deeply_is_refused(begin: str, end: str, depth: int) -> None:
    client = asking(Role.ADMINISTRATOR)
    body = begin * depth + "1" + end * depth
    answer = client.generic("POST", "/api/v1/what-if/", body, "application/json", HTTP_ACCEPT_LANGUAGE="en")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["detail"] == "lists and objects are nested more than 20 deep"


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["a" * (LONGEST_QUERY + 1), "&".join(["id=1"] * (MOST_PARAMETERS + 1))])
def test_an_address_that_is_too_long_is_refused(client: Client, query: str) -> None:
    api = asking(Role.VIEWER).get(f"/api/v1/olts/?{query}")
    assert (api.status_code, api["Content-Type"]) == (414, "application/problem+json")
    client.force_login(person(Role.VIEWER))
    for language, heading in (("en", "Request refused"), ("es", "Solicitud rechazada")):
        page = client.get(f"/olts/?{query}", headers={"accept-language": language})
        assert page.status_code == 414
        # Not "not now": the same address is refused at any time.
        assert f"<h1>{heading}</h1>" in page.content.decode()
        assert f'<html lang="{language}">' in page.content.decode()
        assert '<a href="/">' in page.content.decode()
