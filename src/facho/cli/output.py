"""Long output, whole."""

from __future__ import annotations

import os
import sys
from typing import Final

from rich.console import Console

_ANY_WIDTH: Final = 10_000


def console() -> Console:
    """A terminal's lines are as wide as it is. In a pipe or a file nothing is cut off: grep looks for it."""
    made = Console()
    return made if made.is_terminal or "COLUMNS" in os.environ else Console(width=_ANY_WIDTH)


def print_whole(text: str) -> None:
    """With PYTHONUNBUFFERED, standard output forgets what a full pipe did not take at once. This does not."""
    left = memoryview(f"{text}\n".encode())
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()
