"""What the API says to a person of each language, and to a program that asks for none."""

from __future__ import annotations

from typing import Any

import pytest

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.executions.models import State
from facho.core.reasons import Reason, to_json
from facho.core.roles import Role
from facho.engine.commands import connection_test
from facho.engine.commands.connection_test import Silence
from facho.snmp.errors import NoAnswer
from tests.api_clients import asking, refused_at
from tests.factories import add_job, add_olts, at, make_execution, node_of

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

WHY = Reason.of("table_not_present", tables="onu_optics")
ENGLISH, SPANISH = "table not present: onu_optics", "la OLT no tiene la tabla: onu_optics"
# Who asks for no language is a program, which reads English.
WORDS = [("es", SPANISH), ("en", ENGLISH), ("", ENGLISH)]


def ask(path: str, language: str) -> Any:
    headers = {"Accept-Language": language} if language else {}
    answer = asking(Role.VIEWER).get(f"/api/v1/{path}/", headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(("language", "words"), WORDS)
def test_a_connection_test_says_in_it_why_there_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, language: str, words: str
) -> None:
    monkeypatch.setattr(connection_test, "ask", lambda _target: Silence(WHY, NoAnswer("")))
    (olt,) = add_olts("north")
    headers = {"Accept-Language": language} if language else {}
    answer = asking(Role.OPERATOR).post(f"/api/v1/olts/{olt.id}/test/", headers=headers)
    assert (answer.json()["answers"], answer.json()["reason"]) == (False, words)


@pytest.mark.parametrize(("language", "words"), WORDS)
def test_problems_of_an_execution_and_of_its_parts_are_in_it(language: str, words: str) -> None:
    add_olts("north")
    add_job("state", "north")
    parts = [{"job": "state", "state": "failed", "error": to_json(WHY), "unanswered": {"0/1": to_json(WHY)}}]
    execution = make_execution(node_of("state", "north"), at("10:00"), State.FAILED, error=WHY, parts=parts)
    whole = ask(f"executions/{execution.id}", language)
    (part,) = whole["parts"]
    assert [whole["error"], part["error"], part["unanswered"]["0/1"]] == [words] * 3
    (row,) = ask("executions", language)["results"]
    assert row["error"] == words


@pytest.mark.parametrize(("language", "words"), WORDS)
def test_reasons_of_suspensions_are_in_it(language: str, words: str) -> None:
    add_olts("north")
    add_job("state", "north")
    node = node_of("state", "north")
    for row in (node, node.olt):
        type(row).objects.filter(pk=row.pk).update(suspended_reason=WHY, suspended_at=at("10:00"))
    assert ask(f"nodes/{node.id}", language)["suspended_reason"] == words
    olt = ask(f"olts/{node.olt_id}", language)
    assert (olt["suspended_reason"], olt["state_reason"]) == (words, words)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("es", "pollers saturados: ocupados al 80,5 %"),
        ("en", "pollers are saturated: 80.5 % busy"),
        ("", "as"),
    ],
)
def test_entries_of_the_log_are_in_it(language: str, words: str) -> None:
    CoordinatorLog.objects.create(
        event_type="SATURATION_BEGINS",
        level="WARNING",
        message="as in the file",
        details={"busy_percentage": 80.5, "queue_size": 4},
        timestamp=at("10:00"),
    )
    (row,) = ask("logs", language)["results"]
    assert row["message"].startswith(words)


@pytest.mark.parametrize(("language", "words"), [("es", "no es un intervalo"), ("en", "is not an interval")])
def test_a_wrong_interval_is_refused_in_it(language: str, words: str) -> None:
    add_olts("north")
    add_job("state", "north")
    path, headers = f"/api/v1/nodes/{node_of('state', 'north').id}/", {"Accept-Language": language}
    client = asking(Role.ADMINISTRATOR)
    refused = refused_at(client.patch(path, {"interval": "5 fortnights"}, headers=headers))
    assert words in refused["interval"]
    refused = refused_at(client.get("/api/v1/onus/1/history/?resolution=often", headers=headers))
    assert words in refused["resolution"]


def test_intervals_in_words_are_taken() -> None:
    add_olts("north")
    add_job("state", "north")
    path = f"/api/v1/nodes/{node_of('state', 'north').id}/"
    for text, seconds in {"15 min": 900, "1 hora": 3600, "2 hours": 7200}.items():
        assert asking(Role.ADMINISTRATOR).patch(path, {"interval": text}).json()["interval_s"] == seconds


@pytest.mark.parametrize(
    ("language", "words"),
    [("es", "esto no es JSON: vea la línea 1, columna 2"), ("en", "this is not JSON: see line 1, column 2")],
)
def test_broken_json_is_refused_in_it(language: str, words: str) -> None:
    answer = asking(Role.ADMINISTRATOR).post(
        "/api/v1/olts/", "{", content_type="application/json", headers={"Accept-Language": language}
    )
    assert (answer.status_code, answer.json()["detail"]) == (400, words)
    answer = asking(Role.ADMINISTRATOR).post("/api/v1/olts/", b"\xff", content_type="application/json")
    assert answer.status_code == 400
