"""The simulated week of `facho bench forecast`, made small."""

from __future__ import annotations

import pytest

from bench.forecast import WAYS, Result, measure


@pytest.fixture(scope="module")
def result() -> Result:
    return measure(8, (30, 60))


def test_it_is_less_far_off_than_both_simple_ways(result: Result) -> None:
    for line in result.lines:
        ours, *others = (line.ways[way].figures() for way in WAYS)
        assert ours["median_pct"] <= 15
        assert all(ours["median_pct"] < other["median_pct"] for other in others), line.as_json()
        assert all(ours["p90_pct"] < other["p90_pct"] for other in others), line.as_json()


def test_the_bound_that_it_gives_holds_for_most_runs(result: Result) -> None:
    assert all(line.ways["facho"].figures()["within_p95_pct"] > 92 for line in result.lines)


def test_a_new_olt_is_predicted_by_the_others(result: Result) -> None:
    # One of eight, with two tasks.
    assert result.cold.figures()["predictions"] == 2


def test_a_change_of_firmware_is_believed_within_hours(result: Result) -> None:
    assert result.believed_after is not None
    assert result.believed_after < 6


def test_it_is_printed_in_lines_that_fit(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    result.print()
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    total = next(line for line in lines if line.startswith("all"))
    assert total.count("%") == 4
    assert max(map(len, lines)) <= 80
    assert "tasks on new OLTs" in printed
    assert "firmware was believed after" in printed


def test_the_same_seed_makes_the_same_week() -> None:
    weeks = [measure(2, (60,), seed=seed).as_json() for seed in (4, 4, 5)]
    assert weeks[0] == weeks[1] != weeks[2]
