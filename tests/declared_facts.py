"""Facts that a file of the operator declares, for as long as a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent, indent

from tests.own_profiles import using_profiles, write


@contextmanager
def declared_facts(facts: str) -> Iterator[None]:
    """Let a file declare these facts, written as in its section `facts`."""
    with TemporaryDirectory() as folder:
        file = write(Path(folder), facts="facts:\n" + indent(dedent(facts), "  "))
        with using_profiles(file) as library:
            assert not library.own.every_mistake
            yield
