"""What can be wrong with a profile, or with what a device says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a profile, at its place in the file."""

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
    """A value that says nothing, or not all that it should; `instead` is what is left of it."""

    def __init__(self, why: str, instead: object = None) -> None:
        super().__init__(why)
        self.instead = instead


class BadIndex(ValueError):
    """An index that is not of the kind that its table has."""
