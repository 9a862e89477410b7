"""Who only looks writes nothing: on SQLite the engine would wait for each such request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.core.roles import Role
from facho.web.api.v1 import urls as api
from tests.api_clients import asking, person
from tests.sample_rows import fill

pytestmark = pytest.mark.django_db

_READS = ("SELECT", "WITH", "EXPLAIN", "PRAGMA")


@contextmanager
def only_reads(about: str) -> Iterator[None]:
    """A transaction is none, either: here it would be a savepoint."""

    def look(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        assert statement.lstrip("( \n").upper().startswith(_READS), f"{about}: {statement[:80]}"
        return execute(statement, params, many, context)

    with connection.execute_wrapper(look):
        yield


@pytest.fixture
def viewer(client: Client) -> Client:
    fill(1)
    client.force_login(person(Role.VIEWER))
    return client


def pages() -> list[str]:
    names = ("dashboard", "dashboard-live", "dashboard-overview", "timeline", "olts", "search")
    found = [reverse(name) for name in names]
    # Known to the admin as soon as an address was looked for.
    models = [model._meta for model in admin.site._registry]
    assert models
    return found + [reverse(f"admin:{each.app_label}_{each.model_name}_changelist") for each in models]


def test_pages_are_shown_without_a_write(viewer: Client) -> None:
    for path in pages():
        with only_reads(path):
            assert viewer.get(path).status_code in (200, 403), path


def test_lists_of_the_api_are_told_without_a_write() -> None:
    fill(1)
    client = asking(Role.VIEWER)
    # The first use of a token in a minute is written down.
    client.get("/api/v1/olts/")
    for prefix, _view, _name in api.router.registry:
        with only_reads(prefix):
            client.get(f"/api/v1/{prefix}/")


@pytest.mark.parametrize("model", [SnmpJob, Olt])
def test_what_a_viewer_may_not_do_is_refused_before_a_transaction(viewer: Client, model: type[Model]) -> None:
    what = f"{model._meta.app_label}_{model._meta.model_name}"
    key = model._default_manager.values_list("pk", flat=True)[0]
    paths = [
        reverse(f"admin:{what}_add"),
        reverse(f"admin:{what}_change", args=[key]),
        reverse(f"admin:{what}_delete", args=[key]),
    ]
    for path in paths:
        with only_reads(path):
            assert viewer.post(path, {"post": "yes"}).status_code == 403
