"""Over which queue an execution travels, and how a worker says which ones it takes."""

from __future__ import annotations

import pytest

from facho.core.queue import (
    DEFAULT,
    HIGH_PRIORITY,
    RETRY,
    SNMP_QUEUES,
    decode_queues,
    encode_queues,
    queue_of,
)


@pytest.mark.parametrize(
    ("run_now", "attempts", "queue"),
    [
        pytest.param(False, 0, DEFAULT, id="a slot"),
        pytest.param(False, 1, RETRY, id="a retry"),
        pytest.param(True, 0, HIGH_PRIORITY, id="run now"),
        pytest.param(True, 2, HIGH_PRIORITY, id="a retry of a run-now is as urgent"),
    ],
)
def test_its_queue(run_now: bool, attempts: int, queue: str) -> None:
    assert queue_of(run_now=run_now, attempts=attempts) == queue


@pytest.mark.parametrize("queues", [(RETRY,), (DEFAULT, HIGH_PRIORITY), SNMP_QUEUES])
def test_queues_that_are_written_are_read_again(queues: tuple[str, ...]) -> None:
    assert decode_queues(encode_queues(frozenset(queues))) == frozenset(queues)


def test_who_says_nothing_takes_all() -> None:
    assert decode_queues("") == frozenset(SNMP_QUEUES)
