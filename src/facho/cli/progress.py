"""Progress on standard error, shown on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Show a line of text; call the result to replace it."""
    with Console(stderr=True).status("starting") as status:
        yield lambda text: status.update(text)


@contextmanager
def value_counter(what: str) -> Iterator[Callable[[int], None]]:
    """Show a total; call the result to add to it."""
    count = 0
    with Console(stderr=True).status("asking") as status:

        def more(number: int) -> None:
            nonlocal count
            count += number
            status.update(f"{count:,} {what}")

        yield more


class Steps:
    """A progress bar over steps, with the name of the current one and a total."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self._what = what
        self._count = 0
        self._step = ""

    def begin(self, total: int) -> None:
        self._progress.update(self._task, total=total, completed=0)

    def step(self, name: str) -> None:
        """Complete the step before and begin the next one."""
        if self._step:
            self._progress.advance(self._task)
        self._step = name
        self.more(0)

    def more(self, number: int) -> None:
        self._count += number
        self._progress.update(self._task, description=f"{self._step}: {self._count:,} {self._what}")


@contextmanager
def step_bar(what: str) -> Iterator[Steps]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield Steps(progress, what)
