"""Time zones as people read them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from facho.core.time_zones import offset_text, zone_named, zone_names, zone_text

SUMMER, WINTER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "at", "text"),
    [
        ("America/Santiago", SUMMER, "UTC-3"),
        ("America/Santiago", WINTER, "UTC-4"),
        ("America/St_Johns", SUMMER, "UTC-3:30"),
        ("Asia/Kolkata", SUMMER, "UTC+5:30"),
        ("UTC", SUMMER, "UTC"),
    ],
)
def test_an_offset_is_that_of_the_moment(zone: str, at: datetime, text: str) -> None:
    assert offset_text(at, ZoneInfo(zone)) == text


def test_a_zone_is_named_with_its_offset() -> None:
    assert zone_text(WINTER, ZoneInfo("America/Bogota")) == "America/Bogota (UTC-5)"
    assert zone_text(WINTER, ZoneInfo("UTC")) == "UTC"


def test_zones_are_found_by_the_names_of_places() -> None:
    assert zone_named("America/Santiago") == ZoneInfo("America/Santiago")
    assert zone_named("../etc/passwd") is None
    assert zone_named("") is None
    assert "EST5EDT" not in zone_names()
