"""The states of an ONU as a band."""

from datetime import UTC, datetime, timedelta

import pytest

from facho.web.components.charts import Period
from facho.web.components.state_band import StateChange, build_band, state_share

NOON = datetime(2025, 6, 10, 12, tzinfo=UTC)
DAY = Period(NOON - timedelta(hours=10), NOON, UTC)


def ago(hours: float) -> datetime:
    return NOON - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("changes", "now_is", "seen", "expected"),
    [
        ([], "online", 100, [("online", 0, 100)]),
        ([], "offline", 4, [("offline", 60, 40)]),
        ([("offline", 5)], "offline", 100, [("online", 0, 50), ("offline", 50, 50)]),
        ([("offline", 20)], "offline", 100, [("offline", 0, 100)]),
        ([("new", 4), ("offline", 2)], "offline", 4, [("online", 60, 20), ("offline", 80, 20)]),
        ([("new", 4)], "online", 4, [("online", 60, 40)]),
        ([("absent", 8), ("returned", 6)], "online", 100,
         [("unknown", 0, 20), ("absent", 20, 20), ("online", 40, 60)]),
    ],
)  # fmt: skip
def test_events_say_what_was_before_and_after_them(
    changes: list[tuple[str, float]], now_is: str, seen: float, expected: list[tuple[str, float, float]]
) -> None:
    found = build_band([StateChange(ago(hours), kind) for kind, hours in changes], now_is, ago(seen), DAY)
    assert [(each.state, round(each.left), round(each.width)) for each in found] == expected


@pytest.mark.parametrize(
    ("changes", "now_is"),
    [([], "online"), ([("absent", 2)], "absent"), ([("absent", 3), ("returned", 1)], "online")],
)
def test_after_the_last_collection_of_states_they_are_unknown(
    changes: list[tuple[str, float]], now_is: str
) -> None:
    found = build_band(
        [StateChange(ago(8), "offline"), StateChange(ago(7), "online")]
        + [StateChange(ago(hours), kind) for kind, hours in changes],
        now_is, ago(100), DAY, known_until=ago(5),
    )  # fmt: skip
    assert [(each.state, round(each.left), round(each.width)) for each in found] == [
        ("online", 0, 20), ("offline", 20, 10), ("online", 30, 20), ("unknown", 50, 50),
    ]  # fmt: skip


def test_what_is_not_known_is_no_time_offline() -> None:
    found = build_band(
        [StateChange(ago(8), "absent"), StateChange(ago(6), "returned")], "online", ago(100), DAY
    )
    assert state_share(found, "online") == pytest.approx(75)
    assert state_share([], "online") is None


def test_less_than_all_of_the_time_is_less_than_100_percent() -> None:
    month = Period(NOON - timedelta(days=30), NOON, UTC)
    short = [StateChange(ago(100), "offline"), StateChange(ago(99.99), "online")]
    assert state_share(build_band(short, "online", ago(1000), month), "online") == pytest.approx(99.99)
    assert state_share(build_band([], "online", ago(1000), month), "online") == pytest.approx(100)
