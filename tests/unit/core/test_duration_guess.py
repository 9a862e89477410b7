"""How long something takes that never ran."""

from __future__ import annotations

import pytest

from facho.core.duration_guess import Pace, Table, guess_from_others, guess_from_requests


def test_like_the_middle_of_the_others() -> None:
    found = guess_from_others([Pace(1, 0.01), Pace(2, 0.02), Pace(30, 9.0)], 100)
    assert found.p50_s == pytest.approx(4)
    assert not found.sure


def test_at_worst_as_on_the_slowest_but_few_of_many_others() -> None:
    paces = [Pace(1 + number / 100, 0.0) for number in range(100)]
    assert guess_from_others([*paces[:-1], Pace(900, 0.0)], 0).p95_s < 3.1
    assert guess_from_others([Pace(1, 0.0), Pace(1, 0.0), Pace(9, 0.0)], 0).p95_s == 9


@pytest.mark.parametrize(
    ("table", "requests"),
    [(Table(1, 0, 50), 1), (Table(3, 100, 50), 9), (Table(2, 101, 50), 8), (Table(4, 100, 1), 404)],
)
def test_the_requests_of_columns(table: Table, requests: int) -> None:
    assert table.requests == requests


def test_several_in_flight_share_the_waiting() -> None:
    tables = [Table(2, 1000, 50), Table(1, 1000, 10, latency_s=0.5)]
    alone = guess_from_requests(tables, 1).p50_s
    assert alone == pytest.approx(42 * 0.05 + 101 * 0.5)
    assert guess_from_requests(tables, 5).p50_s == pytest.approx(alone / 5)


def test_no_more_requests_a_second_than_are_allowed() -> None:
    assert guess_from_requests([Table(1, 100, 1)], 5, 2.0).p50_s == pytest.approx(50.5)


def test_nothing_to_ask_takes_a_moment_all_the_same() -> None:
    assert guess_from_requests([], 5).p50_s > 0
