"""Presets of maintenance windows: the nights and hours that people plan often."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from facho.core.maintenance import Preset, preset_span

SANTIAGO = ZoneInfo("America/Santiago")


@pytest.mark.parametrize(
    ("preset", "now", "since", "until"),
    [
        # 2026-11-18 is a Wednesday.
        (Preset.TONIGHT, "2026-11-18 20:15", "2026-11-19 00:00", "2026-11-19 06:00"),
        (Preset.TONIGHT, "2026-11-18 02:15", "2026-11-18 02:15", "2026-11-18 06:00"),
        (Preset.TONIGHT, "2026-11-18 06:00", "2026-11-19 00:00", "2026-11-19 06:00"),
        (Preset.NEXT_2H, "2026-11-18 23:30", "2026-11-18 23:30", "2026-11-19 01:30"),
        (Preset.SUNDAY, "2026-11-18 20:15", "2026-11-22 00:00", "2026-11-22 06:00"),
        (Preset.SUNDAY, "2026-11-22 05:00", "2026-11-22 05:00", "2026-11-22 06:00"),
        (Preset.SUNDAY, "2026-11-22 06:00", "2026-11-29 00:00", "2026-11-29 06:00"),
    ],
)
def test_a_preset_is_on_the_clock_of_the_operator(preset: Preset, now: str, since: str, until: str) -> None:
    at, start, end = (datetime.fromisoformat(each).replace(tzinfo=SANTIAGO) for each in (now, since, until))
    assert preset_span(preset, at, SANTIAGO) == (start, end)
