"""Lists of what people configure take as many queries for fifty rows as for five, and open no secret."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from facho.core.roles import Role
from tests.api_clients import asking
from tests.sample_rows import fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

LISTS = (
    "brands", "jobs", "maintenance-windows", "models", "nodes", "notification-channels",
    "notification-rules", "oids", "olts",
)  # fmt: skip


def queries(client: APIClient, name: str, rows: int) -> int:
    client.get(f"/api/v1/{name}/")
    with CaptureQueriesContext(connection) as asked:
        found = client.get(f"/api/v1/{name}/?page_size=50").json()["results"]
    assert len(found) >= rows, name
    said = str([each["sql"] for each in asked])
    assert "credentials" not in said, name
    assert '"url"' not in said, name
    return len(asked)


def test_lists_cost_the_same_however_long_they_are() -> None:
    client = asking(Role.VIEWER)
    fill(5)
    few = {name: queries(client, name, 5) for name in LISTS}
    fill(45, beginning_at=5)
    assert {name: queries(client, name, 50) for name in LISTS} == few
