"""`facho web` on PostgreSQL: it starts, answers, and cuts queries that take too long."""

from __future__ import annotations

import http.client
import sys
from pathlib import Path

import psycopg

from tests.integration.own_facho import OwnFacho
from tests.integration.test_behind_a_proxy import answers, free_port
from tests.services import process
from tests.services.postgres import Postgres


def ask(port: int, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path, headers={"Accept-Language": "en", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_it_starts_and_limits_its_queries(shared_postgres: Postgres, tmp_path: Path) -> None:
    shared_postgres.create_database("web")
    database = shared_postgres.url("web")
    facho = OwnFacho(tmp_path / "home", {"FACHO_DATABASE_URL": database})
    facho.does("migrate")
    port = free_port()
    settings = {
        **facho.settings,
        "FACHO_HOME": str(facho.home),
        "FACHO_WEB_ADDRESS": f"127.0.0.1:{port}",
        "FACHO_QUERY_TIMEOUT": "1",
    }
    argv = [sys.executable, "-m", "facho", "web"]
    with process.running(
        argv, log=tmp_path / "output.log", answers=lambda: answers(port), env=settings, seconds=120
    ):
        assert ask(port, "/admin/login/")[0] == 200
        with psycopg.connect(database) as locking:
            locking.execute("LOCK TABLE api_tokens IN ACCESS EXCLUSIVE MODE")
            status, said = ask(port, "/api/v1/olts/", Authorization="Bearer facho_" + "0" * 40)
    assert (status, "took too long" in said) == (503, True), said
    # Not by the time limit of locks, which connections have in all processes.
    assert "canceling statement due to statement timeout" in shared_postgres.log.read_text()
