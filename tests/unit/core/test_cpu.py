"""How gently an OLT is asked whose own CPU is busy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.cpu import Asking, how_to_ask

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cpu_pct", "read_min_ago", "asking"),
    [
        pytest.param(None, None, Asking.NORMAL, id="never read"),
        pytest.param(None, 1, Asking.NORMAL, id="the OLT does not tell"),
        pytest.param(99.0, None, Asking.NORMAL, id="nobody knows when it was read"),
        pytest.param(12.0, 1, Asking.NORMAL, id="idle"),
        pytest.param(80.0, 1, Asking.NORMAL, id="at eighty"),
        pytest.param(80.1, 1, Asking.ONE_AT_A_TIME, id="above eighty"),
        pytest.param(90.0, 1, Asking.ONE_AT_A_TIME, id="at ninety"),
        pytest.param(90.1, 1, Asking.SKIP_GETS, id="above ninety"),
        pytest.param(99.0, 10, Asking.SKIP_GETS, id="read ten minutes ago"),
        pytest.param(99.0, 10.1, Asking.NORMAL, id="read too long ago to say anything"),
        pytest.param(99.0, -5, Asking.SKIP_GETS, id="its clock is a little ahead"),
        pytest.param(99.0, -60, Asking.NORMAL, id="read before the clock was set back"),
        pytest.param(float("nan"), 1, Asking.NORMAL, id="not a number"),
    ],
)
def test_a_busy_olt_is_asked_gently(
    cpu_pct: float | None, read_min_ago: float | None, asking: Asking
) -> None:
    read_at = None if read_min_ago is None else NOW - timedelta(minutes=read_min_ago)
    assert how_to_ask(cpu_pct, read_at, NOW) is asking


def test_the_limits_are_settings() -> None:
    assert how_to_ask(60.0, NOW, NOW, gentle_above=50.0) is Asking.ONE_AT_A_TIME
    assert how_to_ask(60.0, NOW, NOW, gentle_above=50.0, skip_above=55.0) is Asking.SKIP_GETS
    earlier = NOW - timedelta(minutes=2)
    assert how_to_ask(99.0, earlier, NOW, known_for=timedelta(minutes=1)) is Asking.NORMAL
