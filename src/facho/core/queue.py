"""The queues that lead to pollers. A worker may take only some of them."""

from __future__ import annotations

from typing import Final

DEFAULT: Final = "snmp_default"
HIGH_PRIORITY: Final = "snmp_highprio"
RETRY: Final = "snmp_retry"
# In the order in which a worker consumes them.
SNMP_QUEUES: Final = (HIGH_PRIORITY, DEFAULT, RETRY)


def queue_of(*, run_now: bool, attempts: int) -> str:
    """Return the queue of an execution after `attempts` attempts."""
    if run_now:
        return HIGH_PRIORITY
    return RETRY if attempts else DEFAULT


def encode_queues(queues: frozenset[str]) -> str:
    """Encode a set of queues as one word; all of them are the empty word."""
    return "" if queues.issuperset(SNMP_QUEUES) else ",".join(sorted(queues))


def decode_queues(word: str) -> frozenset[str]:
    return frozenset(word.split(",") if word else SNMP_QUEUES)
