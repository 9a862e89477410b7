"""The built-in profiles, and those of the operator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from importlib import resources
from pathlib import Path
from typing import Final

from facho.vendors.errors import BadProfile, Mistake
from facho.vendors.facts import FACTS, Registry, join_facts
from facho.vendors.parse import parse_profile
from facho.vendors.schema import Profile

GENERIC: Final = "generic"


@cache
def builtin() -> Mapping[str, Profile]:
    """Return the built-in profiles by name, sorted."""
    folder = resources.files("facho.vendors") / "profiles"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    profiles = [parse_profile((folder / file).read_text("utf-8"), file) for file in files]
    return {profile.name: profile for profile in profiles}


@cache
def known_facts() -> Registry:
    """Return the facts of the registry, with those that profiles declare."""
    return reduce(join_facts, (profile.own_facts for profile in builtin().values()), FACTS)


def load(path: Path) -> Profile:
    """Return a profile of the operator. Raises BadProfile."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise BadProfile([Mistake(str(path), 1, "", str(error.strerror))]) from error
    except UnicodeDecodeError as error:
        raise BadProfile([Mistake(str(path), 1, "", "this is not UTF-8 text")]) from error
    return parse_profile(text, str(path))


def with_extra(*paths: Path) -> Mapping[str, Profile]:
    """Return the built-in profiles and these; one of the same name replaces the built-in one."""
    return {**builtin(), **{profile.name: profile for profile in map(load, paths)}}
