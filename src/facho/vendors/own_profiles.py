"""The operator's own profiles and facts: the YAML files of one folder.

A file that cannot be used never stops anything: its mistakes are kept, to be shown. Files are read in the
order of their names, and whatever is in them, reading one takes a bounded time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from facho.vendors.errors import BadProfile, Mistake
from facho.vendors.facts import Registry, join_facts
from facho.vendors.parse import is_profile, name_of_profile, parse_facts_of_file, parse_profile
from facho.vendors.profile_entries import read_file
from facho.vendors.schema import Profile

log = logging.getLogger(__name__)

_ENDING: Final = ".yaml"
_LARGEST_FILE: Final = 1 << 20
_MOST_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of the folder: a profile, or facts alone."""

    path: Path
    # The name of its profile, also of one that cannot be used; empty for facts alone.
    name: str = ""
    profile: Profile | None = None
    facts: Registry = field(default_factory=dict)
    # With any, its profile is not used.
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnProfiles:
    files: tuple[OwnFile, ...] = ()
    # Those of the folder itself.
    mistakes: tuple[Mistake, ...] = ()
    # Differs whenever a file does; empty without any.
    digest: str = ""

    @property
    def every_mistake(self) -> tuple[Mistake, ...]:
        return (*self.mistakes, *(mistake for file in self.files for mistake in file.mistakes))


def read_own_profiles(folder: Path, known: Registry) -> OwnProfiles:
    """Read the files of a folder, which need not exist. `known` are the facts that are there without them."""
    try:
        paths = _yaml_files(folder)
    except FileNotFoundError:
        return OwnProfiles()
    except OSError as error:
        return OwnProfiles(mistakes=(_mistake(folder, f"it cannot be read: {error.strerror}"),))
    except BadProfile as error:
        return OwnProfiles(mistakes=tuple(error.mistakes))
    mistakes = [
        _mistake(folder, f"{path.name!a} is not read: nothing could show its name")
        for path in paths
        if not path.name.isprintable()
    ]
    paths = [path for path in paths if path.name.isprintable()]
    if len(paths) > _MOST_FILES:
        mistakes.append(_mistake(folder, f"it has more than {_MOST_FILES} files; only the first are read"))
    digest = hashlib.sha256()
    texts: dict[Path, str | BadProfile] = {}
    for path in paths[:_MOST_FILES]:
        try:
            texts[path] = text = read_text(path)
        except BadProfile as error:
            texts[path], text = error, str(error)
        digest.update(f"{path.name}\0{len(text)}\0{text}".encode(errors="surrogatepass"))
    files = _parse_files(texts, known)
    return OwnProfiles(tuple(files), tuple(mistakes), digest.hexdigest() if texts else "")


def read_text(path: Path) -> str:
    """Return the text of a profile. Raises BadProfile, also for what is no file or is too large."""
    try:
        # Without waiting: opening a pipe would wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadProfile([_mistake(path, "this is no file")])
            if status.st_mode & stat.S_IWOTH:
                raise BadProfile([_mistake(path, "everybody may write to it: chmod o-w")])
            octets = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise BadProfile([_mistake(path, str(error.strerror))]) from error
    if len(octets) > _LARGEST_FILE:
        raise BadProfile([_mistake(path, f"a profile has at most {_LARGEST_FILE} octets")])
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadProfile([_mistake(path, "this is not UTF-8 text")]) from error


def _yaml_files(folder: Path) -> list[Path]:
    """Raises OSError, and BadProfile for a folder in which everybody may put a file."""
    if folder.stat().st_mode & stat.S_IWOTH:
        raise BadProfile([_mistake(folder, "everybody may put files there, so none is read: chmod o-w")])
    found = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in found if path.suffix == _ENDING)


def _parse_files(texts: Mapping[Path, str | BadProfile], known: Registry) -> Iterator[OwnFile]:
    """Yield the files, after the facts of all of them are known: a profile may use those of another file."""
    outlines = []
    for path, text in texts.items():
        outline = _outline(path, text, known)
        known = join_facts(known, outline.facts)
        outlines.append(outline)
    taken: dict[str, Path] = {}
    for outline in outlines:
        text = texts[outline.path]
        file = outline
        if outline.name and not outline.mistakes and isinstance(text, str):
            file = _with_profile(outline, text, known)
            if file.profile is not None and (other := taken.setdefault(file.name, file.path)) != file.path:
                why = f"there is a profile '{file.name}' in {other.name} already"
                file = replace(file, profile=None, mistakes=(_mistake(file.path, why),))
        yield file


def _outline(path: Path, text: str | BadProfile, known: Registry) -> OwnFile:
    """Return the name and the facts of a file."""
    if isinstance(text, BadProfile):
        return OwnFile(path, path.stem, mistakes=tuple(text.mistakes))
    name = path.stem
    try:
        entry = read_file(text, str(path))
        name = (name_of_profile(entry) or path.stem) if is_profile(entry) else ""
        facts = parse_facts_of_file(entry, known)
        entry.mistakes.raise_if_any()
    except BadProfile as error:
        return OwnFile(path, name, mistakes=tuple(error.mistakes))
    except Exception as error:  # noqa: BLE001 - logged there
        return OwnFile(path, name, mistakes=(_unforeseen(path, error),))
    return OwnFile(path, name, facts=facts)


def _with_profile(file: OwnFile, text: str, known: Registry) -> OwnFile:
    try:
        return replace(file, profile=parse_profile(text, str(file.path), known, str(file.path)))
    except BadProfile as error:
        return replace(file, mistakes=tuple(error.mistakes))
    except Exception as error:  # noqa: BLE001 - logged there
        return replace(file, mistakes=(_unforeseen(file.path, error),))


def facts_of_others(files: Iterable[OwnFile], path: Path, known: Registry) -> Registry:
    """Return the facts that are known without a file: those of another file of its name do not count."""
    for file in files:
        if file.path.name != path.name:
            known = join_facts(known, file.facts)
    return known


def _unforeseen(path: Path, error: Exception) -> Mistake:
    """Return a mistake that the parser does not foresee: no process may end because of a file."""
    log.error("profile not parsed", exc_info=error, extra={"action": "profile_not_parsed", "path": path})
    return _mistake(path, f"it cannot be read ({type(error).__name__}); the log has more")


def _mistake(path: Path, what: str) -> Mistake:
    return Mistake(str(path), 1, "", what)
