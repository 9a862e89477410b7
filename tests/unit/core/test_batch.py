"""How many ONUs are asked at once, and when too many were silent."""

from __future__ import annotations

import pytest

from facho.core.batch import batches, smaller_batch, too_many_unanswered


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [
        pytest.param(0, 200, [], id="no ONUs, no batch"),
        pytest.param(1, 200, [1], id="one ONU"),
        pytest.param(200, 200, [200], id="exactly one batch"),
        pytest.param(450, 200, [200, 200, 50], id="the last batch has what is left"),
        pytest.param(3, 1, [1, 1, 1], id="one by one"),
    ],
)
def test_onus_are_asked_in_batches(count: int, size: int, lengths: list[int]) -> None:
    assert [len(batch) for batch in batches(range(count), size)] == lengths


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a batch of 0"):
        list(batches([1], 0))


@pytest.mark.parametrize(
    ("size", "next_size"),
    [(200, 50), (50, 1), (1, None), (120, 50), (51, 50), (30, 1), (2, 1), (0, None), (1000, 200)],
)
def test_a_batch_that_failed_is_asked_in_smaller_ones(size: int, next_size: int | None) -> None:
    assert smaller_batch(size) == next_size


@pytest.mark.parametrize(
    ("asked", "unanswered", "failed"),
    [
        pytest.param(0, 0, False, id="nothing was asked"),
        pytest.param(100, 0, False, id="all answered"),
        pytest.param(100, 20, False, id="a fifth was silent"),
        pytest.param(100, 21, True, id="more than a fifth was silent"),
        pytest.param(4, 1, True, id="one of four"),
        pytest.param(5, 1, False, id="one of five"),
        pytest.param(1, 1, True, id="the only one"),
    ],
)
def test_an_execution_fails_when_more_than_a_fifth_is_silent(
    asked: int, unanswered: int, failed: bool
) -> None:
    assert too_many_unanswered(asked, unanswered) is failed


@pytest.mark.parametrize("hundredths", range(101))
def test_exactly_the_allowed_share_is_allowed_whatever_it_is(hundredths: int) -> None:
    most = float(f"0.{hundredths:02}") if hundredths < 100 else 1.0
    assert not too_many_unanswered(700, 7 * hundredths, most=most)
    assert too_many_unanswered(700, 7 * hundredths + 1, most=most)
