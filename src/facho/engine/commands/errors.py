"""What a person asked for and cannot have."""

from __future__ import annotations


class CommandError(Exception):
    """A sentence for the person, and the field that it belongs to. Nothing was changed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
