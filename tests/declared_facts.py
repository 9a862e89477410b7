"""Facts that a profile declares, for as long as a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent, indent
from typing import Any, Final
from unittest.mock import patch

from facho.apps.chassis import found_rows
from facho.apps.discovery import extra_facts
from facho.apps.history import facts as history_facts
from facho.vendors import library
from facho.vendors.parse import parse_profile

_PROFILE: Final = """
profile: declaring
title: Declaring
confidence: agreed
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.9}]}
indexes:
  row: [slot]
tables:
  boards:
    of: board
    oid: 1.3.6.1.4.1.99999.2.1
    index: row
    columns:
      name: 1
facts:
"""
# Everything that remembers what the registry has.
_CACHES: Final[tuple[Any, ...]] = (
    library.known_facts,
    extra_facts.extra_facts,
    found_rows.extra_facts,
    found_rows.numeric_facts,
    history_facts.history_facts,
    history_facts.declared_facts,
    history_facts.counters,
    history_facts.collected_facts,
)


@contextmanager
def declared_facts(facts: str) -> Iterator[None]:
    """Let a profile declare these facts, written as in its own section."""
    profile = parse_profile(_PROFILE + indent(dedent(facts), "  "), "declaring.yaml")
    known = {**library.builtin(), "declaring": profile}
    with patch.object(library, "builtin", lambda: known):
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    for each in _CACHES:
        each.cache_clear()
