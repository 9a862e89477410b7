"""What goes on, on standard error of a terminal; nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def noting() -> Iterator[Callable[[str], None]]:
    """Shows the last thing it was told."""
    with Console(stderr=True).status("starting") as status:
        yield lambda text: status.update(text)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Adds up what it is told."""
    count = 0
    with Console(stderr=True).status("asking") as status:

        def more(number: int) -> None:
            nonlocal count
            count += number
            status.update(f"{count:,} {what}")

        yield more
