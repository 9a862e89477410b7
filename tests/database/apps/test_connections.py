"""How many connections a process may have at once."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from facho.apps.db import sql
from facho.backends.poller_process import poller_process
from facho.config import Config
from facho.databases import most_connections


def test_few_pollers_leave_enough_for_the_rest_and_many_have_one_each() -> None:
    assert [most_connections(pollers) for pollers in (1, 10, 11, 200)] == [20, 20, 21, 210]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pollers", [4, 60])
def test_a_process_has_a_connection_for_each_of_its_pollers(pollers: int) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite each thread has its own connection anyway")
    postgresql: Any = connection
    try:
        with poller_process(replace(Config(), pollers=pollers)):
            assert postgresql.pool.max_size >= pollers + 10
    finally:
        postgresql.pool.resize(min_size=0, max_size=20)


@pytest.mark.django_db
def test_who_is_the_writer_already_waits_for_no_turn() -> None:
    """On SQLite: whoever has the turn waits for the writer, and the two would wait for each other."""
    if connection.vendor != "sqlite":
        pytest.skip("on PostgreSQL nobody waits for a turn")
    has_turn, written = threading.Event(), threading.Event()
    in_time = []

    def hold() -> None:
        with sql._writer_lock:
            has_turn.set()
            in_time.append(written.wait(30))

    other = threading.Thread(target=hold)
    other.start()
    has_turn.wait()
    with transaction.atomic(), sql.write_transaction():
        written.set()
    other.join()
    assert in_time == [True]
