"""Calls that do the same for several threads are shared, and none is lost."""

import threading

from facho.engine.process.loops import CoalescedCalls
from tests.waiting import wait_until


def test_those_that_ask_while_one_runs_share_the_next_call() -> None:
    calls, gate, running = CoalescedCalls(), threading.Event(), threading.Event()
    made: list[int] = []

    def call() -> None:
        made.append(len(made))
        running.set()
        gate.wait(60)

    first = threading.Thread(target=calls.run, args=(call,))
    first.start()
    assert running.wait(60)
    second = threading.Thread(target=calls.run, args=(call,))
    second.start()
    # The second one waits for its turn; whoever asks now is served by it, and does not wait.
    wait_until(lambda: calls._is_next_waiting)
    calls.run(call)
    calls.run(call)
    assert made == [0]
    gate.set()
    first.join(60)
    second.join(60)
    assert made == [0, 1]


def test_a_call_that_fails_does_not_stop_the_next() -> None:
    calls, made = CoalescedCalls(), list[str]()

    def fail() -> None:
        made.append("failed")
        raise ValueError

    for call in (fail, lambda: made.append("made")):
        try:
            calls.run(call)
        except ValueError:
            continue
    assert made == ["failed", "made"]
