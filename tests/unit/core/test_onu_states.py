"""Which changes of a state are news."""

from __future__ import annotations

import pytest

from facho.core.onu_states import (
    OnuStatus,
    after_complete_discovery,
    down_cause,
    is_known,
    offline_cause,
    online_change,
    onu_status,
    reported_states,
)
from facho.vendors.facts import ONU_STATES

GONE = ["los", "power_off", "auth_failed", "disabled", "offline"]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        *[("online", gone, "offline") for gone in GONE],
        *[("starting", gone, "offline") for gone in GONE],
        *[(gone, "online", "online") for gone in GONE],
        *[(gone, "starting", None) for gone in GONE],
        *[(gone, other, None) for gone in GONE for other in GONE],
        ("starting", "online", "online"),
        ("online", "starting", None),
        ("online", "online", None),
        ("starting", "starting", None),
        # The first state ever known.
        *[("", now, None) for now in ("online", "starting", *GONE)],
        # What says nothing.
        *[(before, nothing, None) for before in ("online", "starting", "los") for nothing in ("", "unknown")],
        *[("unknown", now, None) for now in ("online", "starting", "los", "", "unknown")],
    ],
)
def test_a_change_of_state_is_news_or_not(before: str, now: str, expected: str | None) -> None:
    assert online_change(before, now) == expected


@pytest.mark.parametrize(
    ("told", "state", "expected"),
    [
        ("power_off", "los", "power_off"),
        ("other", "los", "other"),
        ("", "los", "los"),
        ("unknown", "power_off", "power_off"),
        ("", "disabled", "disabled"),
        ("", "offline", ""),
        ("unknown", "offline", ""),
        ("signal", "offline", "signal"),
    ],
)
def test_the_cause_is_what_was_told_else_what_the_state_says(told: str, state: str, expected: str) -> None:
    assert offline_cause(told, state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("online", "online"),
        ("starting", "starting"),
        *[(gone, "offline") for gone in GONE],
        ("", "unknown"),
        ("unknown", "unknown"),
        ("of new firmware", "unknown"),
    ],
)
def test_the_state_is_the_same_for_all_vendors(state: str, expected: str) -> None:
    assert onu_status(state) == expected


def test_every_state_that_profiles_report_is_of_one_status() -> None:
    reported = [each for status in OnuStatus for each in reported_states(status)]
    assert sorted(reported) == sorted([*ONU_STATES, ""])
    assert all(onu_status(each) == status for status in OnuStatus for each in reported_states(status))


def test_a_reported_state_stands_for_itself() -> None:
    assert reported_states("los") == ("los",)


@pytest.mark.parametrize(
    ("state", "told", "expected"),
    [
        ("los", "", "los"),
        ("los", "power_off", "power_off"),
        ("offline", "signal", "signal"),
        ("offline", "", ""),
        # Of an outage that has ended.
        ("online", "los", ""),
        ("starting", "los", ""),
        ("", "los", ""),
    ],
)
def test_only_an_onu_that_is_offline_has_a_cause(state: str, told: str, expected: str) -> None:
    assert down_cause(state, told) == expected


@pytest.mark.parametrize(("state", "expected"), [("", False), ("unknown", False), ("starting", True)])
def test_unknown_and_empty_say_nothing(state: str, expected: bool) -> None:
    assert is_known(state) is expected


@pytest.mark.parametrize(
    ("sightings", "absent"),
    [
        pytest.param([True], [False], id="there"),
        pytest.param([False, False], [False, False], id="missed twice"),
        pytest.param([False, False, False], [False, False, True], id="missed three times in a row"),
        pytest.param([False] * 5, [False, False, True, True, True], id="it stays absent"),
        pytest.param([False, False, True, False, False], [False] * 5, id="seen between: counted anew"),
        pytest.param([False, False, False, True], [False, False, True, False], id="it comes back"),
    ],
)
def test_an_onu_is_absent_after_three_complete_discoveries_without_it(
    sightings: list[bool], absent: list[bool]
) -> None:
    missed, told = 0, []
    for seen in sightings:
        missed, is_absent = after_complete_discovery(seen, missed)
        told.append(is_absent)
    assert told == absent


def test_how_many_discoveries_is_a_setting() -> None:
    assert after_complete_discovery(seen=False, missed=0, absent_after=1) == (1, True)
