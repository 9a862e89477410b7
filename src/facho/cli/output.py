"""Long output, whole."""

from __future__ import annotations

import sys


def print_whole(text: str) -> None:
    """With PYTHONUNBUFFERED, standard output forgets what a full pipe did not take at once. This does not."""
    left = memoryview(f"{text}\n".encode())
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()
