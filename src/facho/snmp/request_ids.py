"""Request numbers that cannot be guessed, and do not repeat until all others were used.

An attacker who cannot see our requests must guess their ids to answer in an agent's place. And a late answer
must not be taken for the answer to another request.
"""

from __future__ import annotations

import secrets
from typing import Final

# The numbers are those of 16 bits.
COUNT: Final = 1 << 16
_ROUNDS: Final = 4
_HALF: Final = 8
_LOW: Final = 0xFF


class RequestNumbers:
    """All numbers of 16 bits in random order, then again in the same order.

    The order is that of a Feistel cipher over a counter, with random tables for its rounds.
    """

    def __init__(self) -> None:
        random = secrets.token_bytes(_ROUNDS * (_LOW + 1) + 2)
        self._tables = [random[at * (_LOW + 1) : (at + 1) * (_LOW + 1)] for at in range(_ROUNDS)]
        self._counter = int.from_bytes(random[-2:], "big")

    def next(self) -> int:
        self._counter = (self._counter + 1) % COUNT
        left, right = self._counter >> _HALF, self._counter & _LOW
        for table in self._tables:
            left, right = right, left ^ table[right]
        return left << _HALF | right
