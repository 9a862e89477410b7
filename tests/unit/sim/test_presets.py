"""Scenarios by name."""

from dataclasses import fields
from pathlib import Path

import pytest

from facho.sim.presets import PRESETS, UnknownScenario, combine
from facho.sim.scenario import BadKnob, Scenario


def test_nothing_asked_is_plain() -> None:
    assert combine() == combine(["plain"]) == Scenario()


def test_scenarios_combine_and_single_knobs_win() -> None:
    scenario = combine(["slow", "lossy"], ["queue=4", "generr_rows=3,9", "silent=yes", "repeat_row=0"])
    assert (scenario.request_s, scenario.answer_loss, scenario.queue) == (0.003, 0.05, 4)
    assert (scenario.generr_rows, scenario.silent, scenario.repeat_row) == ((3, 9), True, 0)


def test_an_unknown_scenario_is_answered_with_those_that_exist() -> None:
    with pytest.raises(UnknownScenario, match=r"no scenario 'slwo'.*slow, far"):
        combine(["slwo"])


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("queue", "write name=value"),
        ("speed=3", "sets no knob"),
        ("queue=many", "takes a whole number"),
        ("silent=maybe", "takes yes or no"),
        ("generr_rows=1;2", "takes numbers with commas"),
        ("answer_loss=1.5", "fraction between 0 and 1"),
        ("answer_loss=nan", "fraction between 0 and 1"),
        ("latency_s=-1", "cannot be -1"),
        ("latency_s=inf", "cannot be inf"),
        ("max_message=10", "between 484 and 65507"),
        ("swap_rows=1", "two rows that differ"),
        ("refresh_s=0", "above 0"),
    ],
)
def test_a_bad_setting_is_told_in_a_sentence(setting: str, complaint: str) -> None:
    with pytest.raises(UnknownScenario, match=complaint):
        combine(settings=[setting])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_what_it_does(name: str) -> None:
    preset = PRESETS[name]
    assert preset.what
    assert combine([name]) == preset.scenario
    assert Scenario(**preset.scenario.changed()) == preset.scenario


def test_the_reference_names_every_scenario_and_every_knob() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "reference", "simulator.md").read_text()
    knobs = [field.name for field in fields(Scenario)]
    assert [name for name in (*PRESETS, *knobs) if f"`{name}`" not in page] == []


def test_a_scenario_of_its_own_is_checked_too() -> None:
    with pytest.raises(BadKnob, match="corrupt"):
        Scenario(corrupt=2.0)
