"""A list is taken by a client that stops reading: nobody else notices."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.core.roles import Role
from facho.web.server.handler import OneThreadHandler
from facho.web.server.slow_clients import cut_off_slow_clients
from tests.api_clients import person
from tests.sample_rows import NOW
from tests.services.web_server import client_that_stops_reading, served
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
LONG = timedelta(hours=1)


def request_for_all_logs(client: Client) -> bytes:
    token = "t" * 32
    cookies = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    body = f"action=export_csv&_selected_action=1&select_across=1&csrfmiddlewaretoken={token}"
    return "\r\n".join(
        (
            f"POST {reverse('admin:execution_coordinator_coordinatorlog_changelist')} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Cookie: {cookies}; csrftoken={token}",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
            "",
            body,
        )
    ).encode()


def nobody_holds_the_wal() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bool(cursor.fetchone()[0] == 0)


def nobody_is_in_a_transaction() -> bool:
    """Nor does the answer keep a connection of the pool: this one is all that the process has in use."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
        )
        idle = cursor.fetchone()[0] == 0
    stats = connection.pool.get_stats()  # type: ignore[attr-defined]  # of PostgreSQL's
    return bool(idle and stats["pool_size"] - stats["pool_available"] <= 1)


def test_a_client_that_stops_reading_a_list_holds_no_transaction(client: Client) -> None:
    CoordinatorLog.objects.bulk_create(
        CoordinatorLog(timestamp=NOW, level="INFO", event_type="PLAN_ADJUSTED", message="x" * 300)
        for _ in range(6000)
    )
    client.force_login(person(Role.VIEWER))
    application = cut_off_slow_clients(OneThreadHandler(), write=LONG, answer=LONG, body_bytes=10_000)
    with served(application) as web, client_that_stops_reading(web.port, request_for_all_logs(client)):
        CoordinatorLog.objects.create(timestamp=NOW, level="INFO", event_type="PLAN_ADJUSTED", message="y")
        free = nobody_holds_the_wal if connection.vendor == "sqlite" else nobody_is_in_a_transaction
        wait_until(free, what="nobody holds a transaction")
