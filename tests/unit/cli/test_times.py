"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from facho.cli.times import parse_time
from facho.engine.commands.errors import CommandError

NOW = datetime(2026, 11, 10, 12, tzinfo=UTC)
LIMA = ZoneInfo("America/Lima")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", datetime(2026, 11, 9, 12, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 3, 12, tzinfo=UTC)),
        ("2026-11-01", datetime(2026, 11, 1, 5, tzinfo=UTC)),
        ("2026-11-01T18:30", datetime(2026, 11, 1, 23, 30, tzinfo=UTC)),
        ("2026-11-01T18:30+00:00", datetime(2026, 11, 1, 18, 30, tzinfo=UTC)),
    ],
)
def test_so_long_ago_or_a_date_in_the_operators_zone(text: str, expected: datetime) -> None:
    assert parse_time("since", text, NOW, LIMA) == expected


@pytest.mark.parametrize("text", ["", "soon", "0h", "2026-13-01", "9999-12-31T23:59", "x" * 5000])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(CommandError, match="2026-11-01") as refused:
        parse_time("since", text, NOW, LIMA)
    assert len(str(refused.value)) < 150
