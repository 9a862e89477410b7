"""How often a node runs, as people write it and as they read it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facho.core.interval import BadInterval, format_interval, parse_interval


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h", timedelta(hours=1)),
        ("2d", timedelta(days=2)),
        (" 5m ", timedelta(minutes=5)),
        ("005m", timedelta(minutes=5)),
        ("366d", timedelta(days=366)),
        ("15 min", timedelta(minutes=15)),
        ("90 s", timedelta(seconds=90)),
        ("1 h", timedelta(hours=1)),
        ("1 hora", timedelta(hours=1)),
        ("2 Horas", timedelta(hours=2)),
        ("10 minutos", timedelta(minutes=10)),
        ("30 seg.", timedelta(seconds=30)),
        ("1 día", timedelta(days=1)),
        ("2\u00a0days", timedelta(days=2)),
        ("31622400s", timedelta(days=366)),
    ],
)
def test_an_interval_is_a_number_and_a_unit(text: str, interval: timedelta) -> None:
    assert parse_interval(text) == interval


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "", "'' is not an interval: write a whole number and s, m, h or d, as in 5m", id="nothing"
        ),
        pytest.param("0", "'0' is not an interval: write a whole number", id="no unit"),
        pytest.param("m", "'m' is not an interval: write a whole number", id="no number"),
        pytest.param("5x", "'5x' is not an interval: write a whole number", id="a unit that is none"),
        pytest.param("5M", "'5M' is not an interval: write a whole number", id="a month or a minute"),
        pytest.param("-5m", "'-5m' is not an interval: write a whole number", id="backwards"),
        pytest.param("1.5h", "'1.5h' is not an interval: write a whole number", id="a fraction"),
        pytest.param("1h30m", "'1h30m' is not an interval: write a whole number", id="two units"),
        pytest.param("\u0665m", "'\u0665m' is not an interval: write a whole number", id="other digits"),
        pytest.param("0s", "'0s' is too short: an interval must be at least 1 s", id="no time"),
        pytest.param("367d", "'367d' is too long: an interval may be up to 366 d", id="over a year"),
        pytest.param(
            "8785h", "'8785h' is too long: an interval may be up to 366 d", id="over a year in hours"
        ),
        pytest.param(
            f"{'9' * 5000}d", f"'{'9' * 20}...' is too long", id="more digits than Python reads as a number"
        ),
    ],
)
def test_a_bad_one_is_refused_with_what_to_write(text: str, told: str) -> None:
    with pytest.raises(BadInterval) as refused:
        parse_interval(text)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (timedelta(seconds=30), "30s"),
        (timedelta(seconds=90), "90s"),
        (timedelta(seconds=300), "5m"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=1), "1h"),
        (timedelta(hours=36), "36h"),
        (timedelta(days=2), "2d"),
        (timedelta(milliseconds=500), "0.5s"),
    ],
)
def test_it_is_shown_in_the_largest_unit_that_divides_it(interval: timedelta, text: str) -> None:
    assert format_interval(interval) == text
