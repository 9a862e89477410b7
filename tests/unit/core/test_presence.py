"""When an ONU is gone."""

from __future__ import annotations

import pytest

from facho.core.presence import after_complete_discovery


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
