"""Who is told what, and when."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from facho.core.notifications import (
    ENDS,
    OPPOSITES,
    Decision,
    HoldReason,
    MessageType,
    NotificationKind,
    NotifiedEvent,
    Rule,
    SilentHours,
    decide_delivery,
    earliest,
    end_of_silent_hours,
    matches,
    message_type,
    next_attempt_at,
    page_path,
)
from facho.core.severity import Severity

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BOGOTA = ZoneInfo("America/Bogota")
NIGHT = SilentHours(time(22), time(7))


def down(**columns: Any) -> NotifiedEvent:
    return NotifiedEvent(
        **{"kind": NotificationKind.OLT_DOWN, "severity": Severity.HIGH, "at": NOW, "olt_id": 7, **columns}
    )


@pytest.mark.parametrize(
    ("rule", "is_for_it"),
    [
        ({}, True),
        ({"kinds": {"OLT_DOWN", "OLT_UP"}}, True),
        ({"kinds": {"OLT_UP"}}, False),
        ({"min_severity": Severity.HIGH}, True),
        ({"min_severity": Severity.CRITICAL}, False),
        ({"olt_id": 7}, True),
        ({"olt_id": 8}, False),
        ({"site": "north"}, True),
        ({"site": "south"}, False),
        ({"site": "north", "olt_id": 8}, False),
    ],
)
def test_a_rule_is_for_a_notice(rule: dict[str, Any], is_for_it: bool) -> None:
    assert matches(Rule(1, **rule), down(site="north")) is is_for_it


def test_a_rule_for_an_olt_is_not_for_what_concerns_them_all() -> None:
    assert not matches(Rule(1, olt_id=7), down(olt_id=None))


@pytest.mark.parametrize(
    ("since", "until", "at", "ends"),
    [
        ("22:00", "07:00", "21:59", None),
        ("22:00", "07:00", "22:00", "07:00+1"),
        ("22:00", "07:00", "23:59", "07:00+1"),
        ("22:00", "07:00", "00:00", "07:00"),
        ("22:00", "07:00", "06:59", "07:00"),
        ("22:00", "07:00", "07:00", None),
        ("12:00", "14:00", "13:00", "14:00"),
        ("12:00", "14:00", "14:00", None),
        ("12:00", "12:00", "12:00", None),
    ],
)
def test_silent_hours_are_on_the_operators_clock(since: str, until: str, at: str, ends: str | None) -> None:
    silence = SilentHours(time.fromisoformat(since), time.fromisoformat(until))
    moment = datetime.fromisoformat(f"2025-06-10T{at}").replace(tzinfo=BOGOTA)
    clock, _, days = (ends or "").partition("+")
    wanted = None
    if ends:
        wanted = datetime.fromisoformat(f"2025-06-10T{clock}").replace(tzinfo=BOGOTA)
        wanted += timedelta(days=int(days or 0))
    assert end_of_silent_hours(silence, moment.astimezone(UTC), BOGOTA) == wanted


@pytest.mark.parametrize(
    ("began", "ends"),
    [
        # 02:30 comes twice: in the second hour of that name it still ends.
        ("2026-10-25T00:10+00:00", "2026-10-25T00:30+00:00"),
        ("2026-10-25T01:10+00:00", "2026-10-25T01:30+00:00"),
        # 02:30 does not come at all.
        ("2026-03-29T00:30+00:00", "2026-03-29T01:30+00:00"),
    ],
)
def test_silent_hours_end_also_when_the_clock_is_set(began: str, ends: str) -> None:
    night = SilentHours(time(1), time(2, 30))
    found = end_of_silent_hours(night, datetime.fromisoformat(began), ZoneInfo("Europe/Madrid"))
    assert found == datetime.fromisoformat(ends)


def test_what_is_told_once_is_not_told_again_within_the_time() -> None:
    rule = Rule(1, no_repeat=30 * MINUTE)
    missed = down(kind=NotificationKind.QUOTA_VIOLATION)
    assert decide_delivery(rule, missed, None, NOW, UTC) == Decision(NOW)
    assert decide_delivery(rule, missed, NOW - 29 * MINUTE, NOW, UTC) == Decision(None, HoldReason.REPEAT)
    assert decide_delivery(rule, missed, NOW - 30 * MINUTE, NOW, UTC) == Decision(NOW)


def test_what_lasts_is_told_when_it_may_be_told_again() -> None:
    rule = Rule(1, no_repeat=30 * MINUTE)
    found = decide_delivery(rule, down(), NOW - 10 * MINUTE, NOW, UTC)
    assert found == Decision(NOW + 20 * MINUTE, HoldReason.REPEAT)


def test_what_may_be_told_again_in_silent_hours_waits_for_their_end() -> None:
    rule = Rule(1, no_repeat=timedelta(hours=13), silence=NIGHT)
    assert decide_delivery(rule, down(), NOW, NOW, UTC).at == datetime(2025, 6, 11, 7, tzinfo=UTC)


def test_of_several_rules_for_a_channel_the_one_that_tells_first_counts() -> None:
    never, late, now = (
        Decision(None, HoldReason.REPEAT),
        Decision(NOW + MINUTE, HoldReason.SILENT),
        Decision(NOW),
    )
    assert earliest([(1, never), (2, late), (3, now)]) == (3, now)
    assert earliest([(2, never), (1, never)]) == (1, never)


def test_a_channel_is_tried_again_for_a_day() -> None:
    tries, attempts = [NOW], 1
    while (again := next_attempt_at(attempts, NOW, tries[-1])) is not None:
        tries.append(again)
        attempts += 1
    pauses = [round((after - before) / MINUTE) for before, after in pairwise(tries)]
    assert pauses[:6] == [1, 5, 15, 60, 60, 60]
    assert timedelta(hours=23) < tries[-1] - NOW <= timedelta(days=1)


def test_every_end_has_its_beginnings() -> None:
    assert all(end in OPPOSITES[begin] for end, begins in ENDS.items() for begin in begins)


@pytest.mark.parametrize(
    ("kind", "olt_id", "details", "path"),
    [
        (NotificationKind.OLT_DOWN, 7, {}, "/olts/7/"),
        (NotificationKind.PORT_OUTAGE, 7, {"port": "0/1/3"}, "/olts/7/ports/at/0/1/3/"),
        (NotificationKind.OPTICAL_WEAK, 7, {"port": "gpon 1"}, "/olts/7/ports/at/gpon%201/"),
        (NotificationKind.ONU_UNPROVISIONED, 7, {}, "/onus/unprovisioned/"),
        (NotificationKind.SATURATION_BEGINS, None, {}, "/coordinator/dashboard/"),
    ],
)
def test_an_event_leads_to_the_page_that_shows_it(
    kind: NotificationKind, olt_id: int | None, details: dict[str, str], path: str
) -> None:
    assert page_path(NotifiedEvent(kind, Severity.HIGH, NOW, olt_id, details=details)) == path


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([("OLT_DOWN", "CRITICAL")], MessageType.FAILURE),
        ([("OPTICAL_WEAK", "MEDIUM")], MessageType.WARNING),
        ([("ONU_UNPROVISIONED", "LOW")], MessageType.INFO),
        ([("OLT_UP", "CRITICAL")], MessageType.SUCCESS),
        (
            [("OLT_UP", "CRITICAL"), ("OPTICAL_WEAK", "MEDIUM"), ("ONU_UNPROVISIONED", "LOW")],
            MessageType.WARNING,
        ),
    ],
)
def test_a_message_is_as_bad_as_the_worst_that_began(
    told: list[tuple[str, str]], expected: MessageType
) -> None:
    assert message_type(told) is expected
