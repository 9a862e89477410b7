"""The profiles and facts that this process uses: the built-in ones, and those of the operator.

They are read once. A process that runs uses a file that was changed after its next start.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from importlib import resources
from pathlib import Path
from typing import Final

from facho.config import current
from facho.vendors.facts import FACTS, Registry, join_facts
from facho.vendors.own_profiles import (
    OwnFile,
    OwnProfiles,
    facts_of_others,
    read_own_profiles,
    read_text,
)
from facho.vendors.parse import is_profile, parse_facts_of_file, parse_profile
from facho.vendors.profile_entries import read_file
from facho.vendors.schema import Profile

log = logging.getLogger(__name__)

GENERIC: Final = "generic"


@dataclass(frozen=True, slots=True)
class Library:
    # By name, sorted.
    profiles: Mapping[str, Profile]
    facts: Registry
    own: OwnProfiles

    @property
    def replaced(self) -> list[str]:
        """Return the names of built-in profiles that a file of the operator replaces."""
        return [name for name, profile in self.profiles.items() if profile.own_file and name in builtin()]

    @property
    def refused(self) -> Mapping[str, OwnFile]:
        """Return the files with mistakes by the built-in profile that is used in their place."""
        return {
            file.name: file
            for file in self.own.files
            if file.mistakes and file.name in builtin() and not self.profiles[file.name].own_file
        }

    @property
    def unusable(self) -> Mapping[str, OwnFile]:
        """Return the files by the family that has no profile because of their mistakes."""
        return {
            file.name: file
            for file in self.own.files
            if file.name and file.profile is None and file.name not in self.profiles
        }


@cache
def builtin() -> Mapping[str, Profile]:
    """Return the built-in profiles by name, sorted."""
    folder = resources.files("facho.vendors") / "profiles"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    profiles = [parse_profile((folder / file).read_text("utf-8"), file) for file in files]
    return {profile.name: profile for profile in profiles}


@cache
def current_library() -> Library:
    """Return what this process uses, as it was when it was first asked for."""
    return load_library(current().profile_folder)


def load_library(folder: Path) -> Library:
    """Read the operator's files. Those with mistakes are left out: a built-in profile stays in force."""
    own = read_own_profiles(folder, builtin_facts())
    found = {file.name: file.profile for file in own.files if file.profile is not None}
    facts = reduce(join_facts, (file.facts for file in own.files), builtin_facts())
    return Library(dict(sorted({**builtin(), **found}.items())), facts, own)


def log_own_profiles() -> None:
    """Log which profiles are the operator's, and every mistake in their files."""
    used = current_library()
    for name, profile in used.profiles.items():
        if profile.own_file:
            about = {"profile": name, "file": profile.own_file, "replaces_builtin": name in used.replaced}
            log.info("profile of the operator in use", extra={"action": "own_profile", **about})
    for mistake in used.own.every_mistake:
        where = {"file": mistake.file, "line": mistake.line, "field": mistake.field, "why": mistake.what}
        log.error("profile of the operator not usable", extra={"action": "own_profile_refused", **where})


def profiles_in_use() -> Mapping[str, Profile]:
    """Return the profiles in force by name, sorted."""
    return current_library().profiles


class ProfileOrigin(enum.StrEnum):
    """Where the profile of a family is from."""

    BUILTIN = "builtin"
    OWN = "own"
    REPLACED = "own-in-place-of-builtin"
    # The file of the operator has mistakes: the built-in profile stays in force.
    BUILTIN_INSTEAD = "builtin-in-place-of-own"
    # The file of the operator has mistakes, and there is no other.
    UNUSABLE = "unusable"
    # An operator's own brand, or one whose file was removed.
    NONE = "none"


def profile_origin(name: str) -> ProfileOrigin:
    library = current_library()
    profile = library.profiles.get(name)
    if profile is None:
        return ProfileOrigin.UNUSABLE if name in library.unusable else ProfileOrigin.NONE
    if not profile.own_file:
        return ProfileOrigin.BUILTIN_INSTEAD if name in library.refused else ProfileOrigin.BUILTIN
    return ProfileOrigin.REPLACED if name in builtin() else ProfileOrigin.OWN


def profile_of_family(name: str) -> Profile:
    """Return the profile of a brand; the generic one for a brand that an operator added."""
    return profiles_in_use().get(name) or profiles_in_use()[GENERIC]


def known_facts() -> Registry:
    """Return the facts of the registry, with those that profiles and the operator declare."""
    return current_library().facts


@cache
def builtin_facts() -> Registry:
    """Return the facts of the registry, with those that the built-in profiles declare."""
    return reduce(join_facts, (profile.own_facts for profile in builtin().values()), FACTS)


def load(path: Path) -> Profile:
    """Return the profile of a file, as it would be in the folder of the operator. Raises BadProfile."""
    return parse_profile(read_text(path), str(path), _known_beside(path), str(path))


def load_facts(path: Path) -> Registry | None:
    """Return the facts of a file that has nothing else; None for a profile. Raises BadProfile."""
    entry = read_file(read_text(path), str(path))
    if is_profile(entry):
        return None
    facts = parse_facts_of_file(entry, _known_beside(path))
    entry.mistakes.raise_if_any()
    return facts


def _known_beside(path: Path) -> Registry:
    return facts_of_others(current_library().own.files, path, builtin_facts())


def with_extra(*paths: Path) -> Mapping[str, Profile]:
    """Return the profiles in force and these; one of the same name replaces another."""
    return {**profiles_in_use(), **{profile.name: profile for profile in map(load, paths)}}
