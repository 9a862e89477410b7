"""What a collection leaves behind about the OLT as a whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import Part
from facho.engine.collect.work_builder import OltSnapshot
from facho.engine.record.olt_state import changed_columns
from facho.vendors import Decoder, builtin

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
VERSION = "1.3.6.1.4.1.2011.6.3.1.999"
NOTED = {"1.2.3": NOW.isoformat()}
BEFORE = OltSnapshot(NOTED, "V1", 7200, NOW - HOUR)
PART = Part(1, "job", "table", "get_state", (), ())


def collection(uptime_s: float | None = 7200 + 3600, version: str = "", **more: Any) -> Collection:
    rows = {VERSION: {b"\0": version.encode()}} if version else {}
    decoded = Decoder(builtin()["huawei"]).decode(rows)
    return Collection([PartResult(PART, PartState.SUCCESS, decoded=decoded, **more)], uptime_s=uptime_s)


def test_uptime_is_kept_with_the_time_of_its_reading() -> None:
    assert changed_columns(BEFORE, collection(), (), NOW) == {"uptime_s": 10_800, "uptime_read_at": NOW}


def test_an_olt_that_does_not_tell_its_uptime_changes_nothing() -> None:
    assert changed_columns(BEFORE, collection(None), (), NOW) == {}


def test_what_is_missing_is_added_to_what_is_known() -> None:
    found = changed_columns(BEFORE, collection(), {"1.2.4"}, NOW)
    assert found["lacks"].keys() == {"1.2.3", "1.2.4"}


def test_what_came_after_all_is_not_missing_any_more() -> None:
    assert changed_columns(BEFORE, collection(found=frozenset({"1.2.3"})), (), NOW)["lacks"] == {}


def test_when_one_thing_came_after_all_the_others_are_asked_for_too() -> None:
    """They mostly belong to the same board, which was plugged in."""
    before = OltSnapshot({**NOTED, "1.2.5": NOW.isoformat()}, "V1", 7200, NOW - HOUR)
    assert changed_columns(before, collection(found=frozenset({"1.2.3"})), (), NOW)["lacks"] == {}


def test_after_a_restart_it_may_have_everything() -> None:
    assert changed_columns(BEFORE, collection(uptime_s=60), (), NOW)["lacks"] == {}


def test_a_clock_that_wraps_after_497_days_is_no_restart() -> None:
    before = OltSnapshot(NOTED, "V1", 2**32 // 100 - 1800, NOW - HOUR)
    assert "lacks" not in changed_columns(before, collection(uptime_s=1800), (), NOW)


@pytest.mark.parametrize(
    ("before", "expected"),
    [("V1", {"version": "V2", "lacks": {}}), ("", {"version": "V2"}), ("V2", {})],
)
def test_another_version_may_have_everything(before: str, expected: dict[str, object]) -> None:
    assert (
        changed_columns(OltSnapshot(NOTED, before, None, None), collection(None, version="V2"), (), NOW)
        == expected
    )
