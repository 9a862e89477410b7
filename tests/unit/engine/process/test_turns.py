"""Few threads compute at a time, and those that wait for an OLT let others compute."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from facho.engine.process.turns import Turns


def test_no_more_threads_compute_at_once_than_there_are_turns() -> None:
    turns, lock = Turns(2), threading.Lock()
    computing, most = 0, 0
    both = threading.Barrier(2)

    def compute() -> None:
        nonlocal computing, most
        with turns:
            with lock:
                computing += 1
                most = max(most, computing)
            # An even number of threads: each meets the one that has the other turn.
            both.wait(30)
            with lock:
                computing -= 1

    with ThreadPoolExecutor(6) as threads:
        for each in [threads.submit(compute) for _ in range(6)]:
            each.result(60)
    assert most == 2


def test_a_thread_that_waits_lends_its_turn_to_another() -> None:
    turns, answered = Turns(1), threading.Event()

    def answer() -> None:
        with turns:
            answered.set()

    with ThreadPoolExecutor(1) as threads, turns:
        other = threads.submit(answer)
        assert not answered.is_set()
        with turns.released():
            assert answered.wait(30)
        other.result(30)
    with turns:
        pass


def test_a_thread_without_a_turn_has_none_to_lend() -> None:
    turns = Turns(1)
    with turns.released(), turns:
        pass
    with turns:
        pass
