"""The parts of a step: one that fails keeps no other from its turn, or one row could stop everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Parts:
    """What failed is raised at the end, when all had their turn."""

    def __init__(self) -> None:
        self._failed: list[Exception] = []

    def run(self, part: Callable[[], T], otherwise: T) -> T:
        try:
            return part()
        except Exception as error:  # noqa: BLE001 - raised by `end`
            self._failed.append(error)
            return otherwise

    def end(self) -> None:
        if self._failed:
            raise self._failed[0]
