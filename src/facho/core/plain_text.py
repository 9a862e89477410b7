"""Text that people type and others read: one line, of characters that can be seen."""

from __future__ import annotations

from typing import Final

# Letters by their class, and blank all the same: the fillers of Hangul, and Braille without a dot.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def has_hidden_characters(text: str) -> bool:
    """Whether it has controls, line ends, marks that turn the direction, or characters without a width.

    Such a name can look like another one, or turn round what is written after it.
    """
    return not text.isprintable() or not _BLANK.isdisjoint(text)
