"""Work of several threads that is done together, as databases commit several transactions at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# More than this many are not done together: those that wait for their turn should not wait for long.
_MOST: Final = 16


class _Item(Generic[T, R]):
    __slots__ = ("outcome", "value")

    def __init__(self, value: T) -> None:
        self.value = value
        # None until it is done; no outcome is None.
        self.outcome: R | BaseException | None = None


class GroupedCalls(Generic[T, R]):
    """Does one call for the items of all threads that wait by the time it begins.

    Nobody waits for others to come: a thread that is alone calls at once. The one whose turn it is does the
    work of all that came meanwhile, in the order in which they came, and those only take their outcomes.
    """

    def __init__(self, call: Callable[[Sequence[T]], Sequence[R | BaseException]]) -> None:
        """`call` returns an outcome for each item, which `run` returns or raises; what it raises, all do."""
        self._call = call
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Item[T, R]] = []

    def run(self, value: T) -> R:
        item = _Item[T, R](value)
        with self._guard:
            self._waiting.append(item)
        while item.outcome is None:
            with self._turn:
                if item.outcome is None:
                    self._do_next()
        if isinstance(item.outcome, BaseException):
            raise item.outcome
        return item.outcome

    def _do_next(self) -> None:
        with self._guard:
            group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            outcomes = self._call([item.value for item in group])
        except BaseException as error:
            outcomes = [error] * len(group)
            if not isinstance(error, Exception):
                raise
        finally:
            for item, outcome in zip(group, outcomes, strict=True):
                item.outcome = outcome
