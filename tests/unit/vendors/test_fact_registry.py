"""The registry of facts, and the facts that a profile declares itself."""

from __future__ import annotations

import pytest

from facho.vendors import BadProfile, Entity
from facho.vendors.facts import FACTS, Kind
from facho.vendors.parse import parse_profile

PROFILE = """
profile: acme
title: Acme
confidence: single
source: our own
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.1}]}
facts:
  onu:
%s
indexes:
  onu: [port, onu]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
%s
"""
WIFI = "    wifi_clients: {kind: whole number, en: Wi-Fi clients, es: Clientes Wi-Fi, what: its clients}"


def mistakes(facts: str, columns: str = "      serial: 1") -> str:
    with pytest.raises(BadProfile) as refused:
        parse_profile(PROFILE % (facts, columns), "acme.yaml")
    return str(refused.value)


def test_a_profile_declares_a_fact_and_provides_it() -> None:
    profile = parse_profile(PROFILE % (WIFI, "      serial: 1\n      wifi_clients: 2"), "acme.yaml")
    fact = profile.own_facts[Entity.ONU]["wifi_clients"]
    assert (fact.kind, fact.low, fact.labels) == (
        Kind.WHOLE,
        0,
        {"en": "Wi-Fi clients", "es": "Clientes Wi-Fi"},
    )
    [table] = profile.tables
    assert [column.meaning for column in table.columns][1] is fact


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ("    serial: {kind: text, en: S, es: S, what: s}", "there is a fact 'serial' of onu already"),
        ("    wifi: {kind: text, en: W, what: w}", "'es' is missing"),
        ("    wifi: {kind: colour, en: W, es: W, what: w}", "'colour' is not one of number"),
        ("    wifi: {kind: word, en: W, es: W, what: w}", "which needs them"),
        ("    wifi: {kind: text, en: W, es: W, what: w, history: yes}", "only numbers have a history"),
        (
            "    n: {kind: whole number, en: W, es: W, what: w, rate: wifi_s}",
            "counters become ['wifi_s']",
        ),
        ("    Wifi: {kind: text, en: W, es: W, what: w}", "'Wifi' is not a name"),
    ],
)
def test_a_wrong_declaration_is_reported_with_its_line(facts: str, problem: str) -> None:
    found = mistakes(facts)
    assert problem in found
    assert "acme.yaml, line" in found


def test_a_rate_is_provided_by_no_column() -> None:
    assert "'up_bps' is computed from a counter" in mistakes(WIFI, "      serial: 1\n      up_bps: 2")


def test_each_counter_becomes_a_rate_with_a_history() -> None:
    for facts in FACTS.values():
        for fact in facts.values():
            if fact.is_counter:
                assert facts[fact.rate].kind is Kind.RATE
                assert facts[fact.rate].history
