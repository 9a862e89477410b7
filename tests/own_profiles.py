"""Profiles of the operator for tests: files in a folder, which this process then uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Final

import pytest

from facho import config
from facho.vendors import library

# These do not depend on what is in use.
_KEPT: Final = ("builtin", "builtin_facts", "set_private_umask")

ACME = """\
profile: acme
title: Acme A7
vendor: Acme
confidence: single
source: our own
detect:
  any: [{object_id: 1.3.6.1.4.1.99999.1.7, model: A7}]
%s
indexes:
  onu: [port, onu]
  port: [port]
  uni: [port, onu, uni]
  row: [row]
  slot: [slot]
  scalar: [{only: 0}]
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
      serial: 2
      state: {column: 3, enum: {1: online, 2: offline}}
%s
"""


def acme(facts: str = "", columns: str = "") -> str:
    """Return a profile with these facts, by entity, and these columns of ONUs."""
    return ACME % (f"facts:\n{facts}" if facts else "", columns)


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@contextmanager
def using_profiles(folder: Path) -> Iterator[library.Library]:
    """Let this process use the files of a folder, as if it had been started with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACHO_PROFILES", str(folder))
        config.current.cache_clear()
        forget_profiles()
        try:
            yield library.current_library()
        finally:
            patch.undo()
            config.current.cache_clear()
            forget_profiles()


def forget_profiles() -> None:
    """Clear whatever this program computed once from the profiles and facts in use."""
    modules = [module for name, module in sys.modules.items() if name.startswith("facho.")]
    for each in {id(each): each for module in modules for each in vars(module).values()}.values():
        if isinstance(each, _lru_cache_wrapper) and each.__wrapped__.__name__ not in _KEPT:
            each.cache_clear()
