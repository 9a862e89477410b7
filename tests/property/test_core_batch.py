"""Progressive subdivision, for any ONUs that make a batch fail."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from facho.core.request_rules import SIZES, batches, smaller_batch


@given(st.integers(0, 3000), st.integers(1, 500))
def test_batches_have_every_onu_once_and_in_order(count: int, size: int) -> None:
    made = list(batches(range(count), size))
    assert [onu for batch in made for onu in batch] == list(range(count))
    assert all(1 <= len(batch) <= size for batch in made)
    assert len(made) == ceil(count / size)


@given(st.integers(-5, 10_000))
def test_sizes_shrink_until_none_is_left(size: int) -> None:
    steps = 0
    next_size: int | None = size
    while next_size is not None:
        following = smaller_batch(next_size)
        assert following is None or 1 <= following < next_size
        next_size, steps = following, steps + 1
    assert steps <= len(SIZES) + 1


def ask(onus: Sequence[int], size: int, bad: set[int], asked: list[Sequence[int]]) -> set[int]:
    """Who answered, when every batch with a bad ONU in it fails as a whole."""
    answered: set[int] = set()
    for batch in batches(onus, size):
        asked.append(batch)
        following = smaller_batch(size)
        if not bad.intersection(batch):
            answered.update(batch)
        elif following is not None:
            answered |= ask(batch, following, bad, asked)
    return answered


@given(st.integers(0, 700), st.integers(1, 300), st.sets(st.integers(0, 699), max_size=20))
def test_a_bad_onu_costs_itself_alone_and_few_requests(count: int, size: int, bad: set[int]) -> None:
    asked: list[Sequence[int]] = []
    assert ask(range(count), size, bad, asked) == set(range(count)) - bad
    of_these = len(bad.intersection(range(count)))
    # It makes its batch be asked again as smaller ones, and one of those one by one.
    most_for_one = ceil(size / SIZES[0]) + SIZES[0] // SIZES[1] + SIZES[1]
    assert len(asked) <= ceil(count / size) + of_these * most_for_one
