"""When a process with pollers looks for garbage: objects that only refer to each other.

By itself Python looks at all objects of the process whenever they have become a quarter more. An OLT that
sends hundreds of thousands of values would cause that again and again, and the SNMP loop would wait each time
(docs/decisions/0009-what-an-agent-may-send.md). So automatic collections look at young objects only, and all
objects are looked at once a minute.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_ALL_EVERY_S: Final = 60
# New objects between two collections of the youngest, and such collections between two of what those left
# over: they look at 45,000 objects at most.
_NEW_OBJECTS: Final = 5_000
_YOUNG_COLLECTIONS: Final = 8
_NEVER: Final = 2**31 - 1


@contextmanager
def young_objects_only() -> Iterator[None]:
    """Let automatic collections look at young objects only, and never at those that exist already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_COLLECTIONS, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def collect_until(ending: threading.Event) -> None:
    """Collect all garbage once a minute."""
    while not ending.wait(_ALL_EVERY_S):
        gc.collect()
