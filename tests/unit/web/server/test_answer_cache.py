"""Answers that are computed once for all who ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest

from facho.web.server import answer_cache
from facho.web.server.answer_cache import AnswerBusy, AnswerCache
from tests.waiting import PATIENCE_S

SECOND = timedelta(seconds=1)


class HeldComputation:
    """Computes an answer when it is released, and counts how often it began."""

    def __init__(self) -> None:
        self.begun, self.released, self.times = threading.Event(), threading.Event(), 0

    def __call__(self) -> str:
        self.times += 1
        self.begun.set()
        assert self.released.wait(PATIENCE_S)
        return f"answer {self.times}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let time pass by a call."""
    now = [1000.0]
    monkeypatch.setattr(answer_cache, "monotonic", lambda: now[0])

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    return pass_time


def test_those_who_ask_at_the_same_time_get_one_answer() -> None:
    cache, compute = AnswerCache("test"), HeldComputation()
    with ThreadPoolExecutor(10) as threads:
        asked = [threads.submit(cache.get, "a", SECOND * 60, compute) for _ in range(10)]
        compute.begun.wait(PATIENCE_S)
        compute.released.set()
        assert {each.result(PATIENCE_S) for each in asked} == {"answer 1"}
    assert compute.times == 1
    assert not cache._turns


def test_an_answer_is_computed_again_when_it_is_too_old(clock: Callable[[float], None]) -> None:
    cache, answers = AnswerCache("test"), iter("abc")
    for passed, wanted in ((0, "a"), (0.9, "a"), (0.2, "b"), (0.9, "b"), (5, "c")):
        clock(passed)
        assert cache.get("it", SECOND, lambda: next(answers)) == wanted


def test_others_get_the_previous_answer_while_a_new_one_is_computed(clock: Callable[[float], None]) -> None:
    cache, compute = AnswerCache("test"), HeldComputation()
    cache.get("it", SECOND, lambda: "previous", SECOND * 4)
    clock(2)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(cache.get, "it", SECOND, compute, SECOND * 4)
        compute.begun.wait(PATIENCE_S)
        assert cache.get("it", SECOND, lambda: "not asked for", SECOND * 4) == "previous"
        compute.released.set()
        assert first.result(PATIENCE_S) == "answer 1"
    assert cache.get("it", SECOND, lambda: "not asked for", SECOND * 4) == "answer 1"


def test_a_previous_answer_that_is_too_old_is_not_given(
    clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "_WAIT_S", 0.01)
    cache, compute = AnswerCache("test"), HeldComputation()
    cache.get("it", SECOND, lambda: "previous", SECOND * 4)
    clock(6)
    with ThreadPoolExecutor(1) as threads:
        first: Future[str] = threads.submit(cache.get, "it", SECOND, compute, SECOND * 4)
        compute.begun.wait(PATIENCE_S)
        with pytest.raises(AnswerBusy):
            cache.get("it", SECOND, lambda: "not asked for", SECOND * 4)
        compute.released.set()
        first.result(PATIENCE_S)


def test_an_answer_does_not_wait_for_another_one() -> None:
    cache, compute = AnswerCache("test"), HeldComputation()
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(cache.get, "slow", SECOND, compute)
        compute.begun.wait(PATIENCE_S)
        assert cache.get("quick", SECOND, lambda: "at once") == "at once"
        compute.released.set()
        first.result(PATIENCE_S)


def test_after_a_failure_the_next_one_computes_it() -> None:
    cache = AnswerCache("test")

    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.get("it", SECOND, fail)
    assert cache.get("it", SECOND, lambda: "well") == "well"
    assert not cache._turns


def test_with_a_place_to_run_later_the_previous_answer_comes_at_once(clock: Callable[[float], None]) -> None:
    cache, later = AnswerCache("test"), list[Callable[[], None]]()
    answers = iter(("first", "second", "third"))

    def get() -> str:
        return cache.get("it", SECOND, lambda: next(answers), SECOND * 2, later.append)

    assert get() == "first"
    clock(1.5)
    assert (get(), get()) == ("first", "first")
    (refresh,) = later
    refresh()
    assert get() == "second"
    # Nobody asked for long: who asks now waits for a new one.
    clock(3.5)
    assert get() == "third"
    assert len(later) == 1


def test_a_refresh_that_fails_is_logged_and_tried_again(
    clock: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    cache, later = AnswerCache("test"), list[Callable[[], None]]()

    def fail() -> str:
        raise ZeroDivisionError

    cache.get("it", SECOND, lambda: "previous", SECOND * 2, later.append)
    clock(1.5)
    assert cache.get("it", SECOND, fail, SECOND * 2, later.append) == "previous"
    later.pop()()
    assert [record.action for record in caplog.records] == ["answer_not_refreshed"]  # type: ignore[attr-defined]
    assert cache.get("it", SECOND, fail, SECOND * 2, later.append) == "previous"
    assert len(later) == 1
    clock(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("it", SECOND, fail, SECOND * 2, later.append)


def test_what_is_forgotten_is_computed_again(clock: Callable[[float], None]) -> None:
    cache, later, compute = AnswerCache("test"), list[Callable[[], None]](), HeldComputation()

    def get() -> str:
        return cache.get("it", SECOND * 9, compute, SECOND * 9, later.append)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(get)
        compute.begun.wait(PATIENCE_S)
        clock(0.1)
        # Also what is being computed now: it may have read what was before the change.
        cache.forget()
        clock(0.1)
        compute.released.set()
        assert first.result(PATIENCE_S) == "answer 1"
    assert get() == "answer 2"
    assert get() == "answer 2"
    assert not later
