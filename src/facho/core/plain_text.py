"""Text that people type and others read: one line, of characters that can be seen."""

from __future__ import annotations

from typing import Final

# Letters and marks by their class, and not to be seen all the same: the fillers of Hangul, Braille without a
# dot, and what Unicode calls default ignorable (joiners and selectors of variants).
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


def has_hidden_characters(text: str) -> bool:
    """Whether it has controls, line ends, marks that turn the direction, or characters without a width.

    Such a name can look like another one, or turn round what is written after it.
    """
    return not text.isprintable() or not _INVISIBLE.isdisjoint(text)
