"""What an ONU tells, as people name it and in their form."""

import pytest
from django.utils import translation

from facho.vendors import Entity
from facho.vendors.facts import ADMIN_STATES, CONFIG_STATES, DOWN_CAUSES, FACTS, LANGUAGES, ONU_STATES
from facho.web.words.fact_choices import describe_fact, pick_facts
from facho.web.words.facts import fact_name, fact_value, sort_facts

MEANINGS = {
    "state": ONU_STATES,
    "down_cause": DOWN_CAUSES,
    "admin_state": ADMIN_STATES,
    "config_state": CONFIG_STATES,
    "match_state": CONFIG_STATES,
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fact_has_a_name(language: str) -> None:
    with translation.override(language):
        assert not [
            (entity, fact)
            for entity, facts in FACTS.items()
            for fact in facts
            if fact_name(fact, entity) in ("", fact)
        ]


@pytest.mark.parametrize(
    ("fact", "meaning"), [(fact, meaning) for fact, words in MEANINGS.items() for meaning in words]
)
def test_every_meaning_is_said_in_spanish(fact: str, meaning: str) -> None:
    with translation.override("es"):
        assert fact_value(fact, meaning) != meaning


@pytest.mark.parametrize(
    ("fact", "value", "spanish"),
    [
        ("onu_rx_dbm", -21.44, "-21,4 dBm"),
        ("voltage_v", 3.276, "3,28 V"),
        ("temperature_c", 41.0, "41,0 °C"),
        ("distance_m", 1234, "1234 m"),
        ("uptime_s", 273_600, "3 d 04 h"),
        ("mac_count", 0, "0"),
        ("up_octets", 3_221_225_472, "3,0\xa0GB"),
        ("up_bps", 12_345_678, "12,3 Mbit/s"),
        ("up_bps", 999, "999 bit/s"),
        ("up_bps", 0.0, "0 bit/s"),
        ("last_down", "2025-06-10 08:05:09", "10/06/2025 08:05:09"),
        ("last_down", "never", "never"),
        ("description", "Ana", "Ana"),
        ("of a later version", 7, "7"),
        ("serial", None, ""),
    ],
)
def test_a_value_has_its_unit_and_the_form_of_the_reader(fact: str, value: object, spanish: str) -> None:
    with translation.override("es"):
        assert fact_value(fact, value) == spanish


def test_few_errors_are_not_rounded_away() -> None:
    with translation.override("es"):
        shown = [fact_value("in_errors_s", each, Entity.UPLINK) for each in (0.0, 0.0033, 12.0)]
    assert shown == ["0 /s", "0,003 /s", "12 /s"]


def test_facts_come_in_an_order_and_those_of_a_later_version_last() -> None:
    assert [fact for fact, _ in sort_facts({"later": 1, "model": 2, "serial": 3})] == [
        "serial",
        "model",
        "later",
    ]
    assert fact_name("later") == "later"


def test_every_fact_that_can_be_picked_is_named_in_words_with_its_families() -> None:
    with translation.override("en"):
        picked = {each.fact: each for group in pick_facts(()) for each in group.choices}
    assert not [fact for fact, each in picked.items() if each.name == fact.rpartition(".")[2]]
    assert "onu_id" not in picked
    assert picked["state"].families == "all families"
    assert picked["serial"].families.startswith("all families except Calix, C-Data FD12xx")
    assert picked["match_state"].families == "Huawei"
    assert picked["match_state"].families_in_full == "Huawei MA5600T/MA5800"


def test_a_chosen_fact_of_nobody_stays_a_choice() -> None:
    others = pick_facts(["own.thing"])[-1]
    assert [(each.fact, each.chosen) for each in others.choices] == [("own.thing", True)]


def test_a_fact_is_described_with_what_it_is_about() -> None:
    with translation.override("en"):
        assert [describe_fact(fact) for fact in ("state", "port.state", "optics", "own.thing")] == [
            "State",
            "Ports of the OLT: State",
            "Optical values of ONUs",
            "own.thing",
        ]
