"""The error of commands."""

from __future__ import annotations


class CommandError(Exception):
    """A refused command: the field that is wrong, and a sentence for the person. Nothing was changed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
