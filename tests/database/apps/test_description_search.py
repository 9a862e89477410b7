"""Words inside descriptions: what finds them, and that every writer keeps them in step."""

from __future__ import annotations

import importlib
import logging
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from facho.apps.db.sql import update_rows
from facho.apps.discovery import description_search
from facho.apps.discovery.description_search import TABLE, has_words, have_description_words, words_condition
from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_search import filter_onus, search_onus
from facho.apps.hosts.models import Olt
from facho.core.search_words import folded_characters
from tests.factories import at
from tests.findings import an_olt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def olt() -> Olt:
    return an_olt()


def make(olt: Olt, number: int, description: str, **columns: Any) -> Onu:
    return Onu.objects.create(
        olt=olt, address=f"0/1/3/{number}", frame=0, slot=1, port=3, onu_id=number, description=description,
        first_seen=at("08:00"), last_seen=at("09:00"), **columns,
    )  # fmt: skip


def on_sqlite() -> bool:
    return connection.vendor == "sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "Ñuñoa", "nunoa", "ÑUÑOA", "ñuñ", "jose perez", "Pérez José", "PEREZ nunoa", "n\u0303un\u0303oa",
        "guell", "José_Pérez", "^ñuñoa*", "ñuñoa';--", "ñuñoa\\", "perez 7", "depto. 4512", "Nº4512",
    ],
)  # fmt: skip
def test_words_are_found_inside_whatever_their_accents_and_order(olt: Olt, text: str) -> None:
    onu = make(olt, 1, "Casa de JOSÉ Pérez-Güell, Ñuñoa 7, depto/Nº4512")
    make(olt, 2, "Rojas, Providencia 70")
    assert search_onus(text) == [onu.id]
    assert [each.id for each in filter_onus(search=text)] == [onu.id]


@pytest.mark.parametrize("text", ["nunoa rojas", "a 0 x", "pere2", "ñuñoax", "7 4513"])
def test_every_word_must_be_there(olt: Olt, text: str) -> None:
    make(olt, 1, "José Pérez, Ñuñoa 7, 4512")
    assert search_onus(text) == []


def test_a_word_of_one_letter_must_be_a_whole_word(olt: Olt) -> None:
    whole = make(olt, 1, "Pasaje Los Aromos 1")
    make(olt, 2, "Pasaje Los Aromos 12")
    condition = words_condition("1 aromos")
    assert condition is not None
    assert list(Onu.objects.filter(condition)) == [whole]


@pytest.mark.parametrize(
    "text",
    [
        '"', "'''", "a OR b", "soto NOT ana", "NEAR(ana soto)", "description:ana", "ana & !soto", "('x':*)",
        "((((", "***", "\U0001f600\U0001f600\U0001f600", "\u2026 \u2013 \u2026", "x" * 5000, "ab " * 2000,
    ],
)  # fmt: skip
def test_operators_are_words_like_any_other(olt: Olt, text: str) -> None:
    make(olt, 1, "Ana")
    assert search_onus(text) == []
    list(filter_onus(search=text[:100]))


def test_all_letters_that_are_folded_are_found_by_their_base(olt: Olt) -> None:
    characters, folded = folded_characters()
    letters = [(letter, base) for letter, base in zip(characters, folded, strict=False) if base != " "]
    onus = {make(olt, number, f"x q{letter}z").id: base for number, (letter, base) in enumerate(letters)}
    for base in sorted(set(folded) - {" "}):
        found = set(search_onus(f"q{base}z"))
        assert found == {each for each, its_base in onus.items() if its_base == base}, base


def test_the_migration_folds_as_the_rules_do() -> None:
    migration = importlib.import_module("facho.apps.discovery.migrations.0010_words_of_descriptions")
    copy = (
        migration.LETTERS + migration.SIGNS + migration.ACCENTS,
        migration.BASES + " " * len(migration.SIGNS),
    )
    assert copy == folded_characters()


def test_every_writer_keeps_the_words_in_step(olt: Olt) -> None:
    onu = make(olt, 1, "casa Ñuñoa")
    update_rows(Onu, ("description",), [(onu.id, "casa Maipú")], is_adapted=True)
    assert (search_onus("nunoa"), search_onus("maipu")) == ([], [onu.id])
    Onu.objects.filter(id=onu.id).update(description="casa Maipú", state="online")
    assert search_onus("maipu") == [onu.id]
    (other,) = Onu.objects.bulk_create(
        [Onu(olt=olt, address="x", description="la maipú", first_seen=at("08:00"), last_seen=at("08:00"))]
    )
    assert search_onus("maipu") == [onu.id, other.id]
    Onu.objects.filter(id=onu.id).delete()
    assert search_onus("maipu") == [other.id]
    if on_sqlite():
        check_integrity()


def check_integrity() -> None:
    """Raise an error if the full-text table differs from the descriptions."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 1)")


def test_a_description_of_any_length_is_stored_and_found_by_its_beginning(olt: Olt) -> None:
    onu = make(olt, 1, "la " + "é" * 5000)
    assert search_onus("eeee") == [onu.id]


def test_the_limit_holds_and_other_filters_come_before_it(olt: Olt) -> None:
    onus = [make(olt, number, f"la casa {number}").id for number in range(10)]
    assert len(search_onus("casa", 3)) == 3
    assert search_onus("casa", 3, rows=Onu.objects.filter(onu_id=9)) == [onus[9]]


def test_an_index_answers(olt: Olt) -> None:
    make(olt, 1, "la casa")
    condition = words_condition("casa nunoa")
    assert condition is not None
    with connection.cursor() as cursor:
        if not on_sqlite():
            cursor.execute("SET LOCAL enable_seqscan = off")
        plan = Onu.objects.filter(condition).values_list("id").explain()
    assert ("VIRTUAL TABLE INDEX" if on_sqlite() else "onu_data_description_words") in plan, plan
    assert "SCAN onu_data" not in plan


def test_an_index_answers_also_while_new_entries_wait_to_be_merged(olt: Olt) -> None:
    """PostgreSQL took reading all descriptions for cheaper then, when a few results are enough."""
    Onu.objects.bulk_create(
        Onu(
            olt=olt,
            address=str(number),
            description=f"customer {number} of 999936 in Calle {number}, Quilicura",
            first_seen=at("08:00"),
            last_seen=at("09:00"),
        )
        for number in range(5000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE onu_data")
    condition = words_condition("c105000")
    assert condition is not None
    plan = Onu.objects.filter(condition).order_by().values_list("id")[:20].explain()
    assert ("VIRTUAL TABLE INDEX" if on_sqlite() else "onu_data_description_words") in plan, plan


def test_words_are_back_after_a_table_was_rebuilt(olt: Olt) -> None:
    """Django rebuilds a table on SQLite when a column changes, and its triggers are gone."""
    if not on_sqlite():
        pytest.skip("only SQLite has triggers")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {TABLE}_insert")
    onu = make(olt, 1, "casa Ñuñoa")
    assert not has_words()
    assert search_onus("nunoa") == []
    have_description_words()
    assert search_onus("nunoa") == [onu.id]
    onu.delete()
    check_integrity()


def test_a_sqlite_without_full_text_search_finds_beginnings(
    olt: Olt, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not on_sqlite():
        pytest.skip("only SQLite may be without")
    with connection.cursor() as cursor:
        for name in description_search._TRIGGERS:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute(f"DROP TABLE {TABLE}")

    def refuse(_cursor: Any) -> None:
        raise OperationalError("no such module: fts5")

    monkeypatch.setattr(description_search, "_make_index", refuse)
    with caplog.at_level(logging.WARNING):
        have_description_words()
    assert "full_text_missing" in [getattr(record, "action", "") for record in caplog.records]
    onu = make(olt, 1, "casa sola")
    assert (search_onus("casa"), search_onus("sola")) == ([onu.id], [])


def test_page_api_and_admin_find_the_same(olt: Olt, admin_client: Client) -> None:
    onu = make(olt, 1, "casa Ñuñoa", serial="HWTC1234ABCD")
    make(olt, 2, "casa Maipú", serial="HWTC1234ABCE")
    found = admin_client.get("/api/v1/onus/", {"q": "nunoa"}).json()["results"]
    assert [each["id"] for each in found] == [onu.id]
    for address in ("/search/", "/admin/discovery/onu/"):
        page = admin_client.get(address, {"q": "nunoa"}, follow=True).content.decode()
        assert ("HWTC1234ABCD" in page, "HWTC1234ABCE" in page) == (True, False), address
