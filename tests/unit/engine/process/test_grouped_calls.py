"""Calls of several threads that are done together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from facho.engine.process.grouped_calls import GroupedCalls
from tests.waiting import PATIENCE_S, wait_until


class Doubler:
    """Doubles numbers. The first call lasts until the test lets it end."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.go_on = Event()
        self.begun = Event()

    def __call__(self, numbers: Sequence[int]) -> list[int | BaseException]:
        self.groups.append(list(numbers))
        if len(self.groups) == 1:
            self.begun.set()
            assert self.go_on.wait(PATIENCE_S)
        return [ValueError(number) if number < 0 else 2 * number for number in numbers]


def test_a_thread_that_is_alone_calls_at_once() -> None:
    calls = GroupedCalls[int, int](lambda numbers: [2 * number for number in numbers])
    assert [calls.run(1), calls.run(2)] == [2, 4]


def test_those_that_come_during_a_call_are_done_together_in_their_order() -> None:
    double = Doubler()
    calls = GroupedCalls(double)
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(calls.run, 1)
        assert double.begun.wait(PATIENCE_S)
        others = []
        for number in (2, -3, 4):
            others.append(threads.submit(calls.run, number))
            wait_until(lambda: len(calls._waiting) == len(others))
        double.go_on.set()
        assert first.result(PATIENCE_S) == 2
        assert others[0].result(PATIENCE_S) == 4
        assert others[2].result(PATIENCE_S) == 8
        with pytest.raises(ValueError, match="-3"):
            others[1].result(PATIENCE_S)
    assert double.groups == [[1], [2, -3, 4]]


def test_what_a_call_raises_is_raised_for_all_of_its_group_and_for_no_other() -> None:
    def fail_once(numbers: Sequence[int]) -> list[int]:
        if not seen:
            seen.append(list(numbers))
            raise OSError("gone")
        return list(numbers)

    seen: list[list[int]] = []
    calls = GroupedCalls(fail_once)
    with pytest.raises(OSError, match="gone"):
        calls.run(1)
    assert calls.run(2) == 2


def test_a_group_has_a_largest_size() -> None:
    double = Doubler()
    calls = GroupedCalls(double)
    with ThreadPoolExecutor(40) as threads:
        threads.submit(calls.run, 0)
        assert double.begun.wait(PATIENCE_S)
        several = [threads.submit(calls.run, number) for number in range(1, 36)]
        wait_until(lambda: len(calls._waiting) == 35)
        double.go_on.set()
        assert [each.result(PATIENCE_S) for each in several] == [2 * number for number in range(1, 36)]
    assert [len(group) for group in double.groups] == [1, 16, 16, 3]
