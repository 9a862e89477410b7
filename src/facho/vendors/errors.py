"""Errors in profiles, and in the values of devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a profile, with its place in the file."""

    file: str
    line: int
    field: str
    what: str

    def __str__(self) -> str:
        where = f"{self.file}, line {self.line}"
        return f"{where}, {self.field}: {self.what}" if self.field else f"{where}: {self.what}"


class BadProfile(ValueError):
    """A profile that cannot be used, with every mistake that was found in it."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = mistakes


class BadValue(ValueError):
    """A value that cannot be read, or only in part; `instead` is that part."""

    def __init__(self, why: str, instead: object = None) -> None:
        super().__init__(why)
        self.instead = instead


class BadIndex(ValueError):
    """An index that does not fit the layout of its table."""
