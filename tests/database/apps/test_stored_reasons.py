"""Reasons are stored as values and read by everybody in words, also those that an earlier version stored."""

import csv
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from facho.apps.executions.models import Attempt, Execution, State
from facho.apps.hosts.models import Olt
from facho.core.reasons import NO_REASON, Reason, several, to_json
from facho.core.roles import Role
from facho.engine.upkeep.exports import EXPORTS
from tests.api_clients import asking
from tests.factories import at, make_execution, make_node, make_olt

pytestmark = pytest.mark.django_db

OFF = Reason.of("off_or_other_community")
SILENT = Reason.of("no_answer", olt="10.0.0.1:161", sent=3, seconds=9.0, why=OFF)
OLD = "the OLT was disabled; and 3 more"


def failed(error: Reason | str, **columns: Any) -> Execution:
    execution = make_execution(make_node(), at("10:00"), State.FAILED, error=error, **columns)
    return Execution.objects.get(id=execution.id)


def stored(table: str, column: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")  # names of ours
        return str(cursor.fetchone()[0])


def test_a_reason_comes_back_as_it_was_stored() -> None:
    assert failed(SILENT).error == SILENT
    assert stored("snmp_executions", "error").startswith('["no_answer",{')
    assert Execution.objects.values_list("error", flat=True).get() == SILENT


def test_what_an_earlier_version_stored_is_shown_as_it_is() -> None:
    assert str(failed(OLD).error) == OLD
    assert stored("snmp_executions", "error") == OLD


def test_without_a_reason_the_column_is_empty() -> None:
    assert failed("").error == make_olt("north-1").suspended_reason == NO_REASON
    assert stored("snmp_executions", "error") == stored("olts", "suspended_reason") == ""
    assert list(Olt.objects.exclude(suspended_reason="")) == []


def test_a_long_reason_is_cut_to_its_column_and_keeps_its_code() -> None:
    long = several([SILENT, *(Reason.of("cannot_send", olt="a", why="x" * 90 + str(n)) for n in range(9))])
    olt = make_olt("north-1", suspended_reason=long)
    olt.full_clean(exclude=["credentials"])
    assert len(stored("olts", "suspended_reason")) <= 300
    olt.refresh_from_db()
    assert str(olt.suspended_reason).startswith(str(SILENT))


@pytest.mark.parametrize(
    ("text", "found"), [("answer from", 1), ("10.0.0.1", 1), ("comunidad", 1), ("no_row", 0), ("zebra", 0)]
)
def test_a_reason_is_found_by_the_words_that_people_read(text: str, found: int) -> None:
    failed(SILENT)
    assert Execution.objects.filter(error__icontains=text).count() == found


def test_the_api_has_reasons_in_english() -> None:
    part = {"job": "a", "error": to_json(SILENT), "unanswered": {"0/1/3:7": to_json(Reason.of("no_value"))}}
    execution = failed(SILENT, parts=[part], result={"facts": {}, "unread": {"ip": ["needs_walk", {}]}})
    Attempt.objects.create(execution=execution, number=1, started_at=at("10:00"), error=SILENT)
    told: Any = asking(Role.VIEWER).get(f"/api/v1/executions/{execution.id}/").json()
    assert told["error"] == told["attempts"][0]["error"] == told["parts"][0]["error"] == str(SILENT)
    assert told["parts"][0]["unanswered"] == {"0/1/3:7": "the OLT gave no value"}
    assert told["result"]["unread"] == {"ip": "the OLT would have to be walked for it"}


def test_an_export_has_reasons_in_english() -> None:
    failed(SILENT)
    export = EXPORTS["executions"]
    (row,) = csv.DictReader("".join(export.csv(export.rows(None, None, None))).splitlines())
    assert row["error"] == str(SILENT)


def test_the_admin_says_in_the_readers_language_why_an_olt_is_suspended(admin_client: Client) -> None:
    olt = make_olt("north-1", suspended_reason=SILENT)
    page = admin_client.get(f"/admin/hosts/olt/{olt.id}/change/", headers={"Accept-Language": "es"})
    assert "sin respuesta de 10.0.0.1:161 a 3 peticiones en 9 s" in page.content.decode()
