"""Text that people type and others read: one line, of characters that can be seen."""

from __future__ import annotations

from typing import Final

# Printable by their Unicode class but invisible: Hangul fillers, the empty Braille pattern, and default
# ignorable characters (joiners, variation selectors).
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)


def has_hidden_characters(text: str) -> bool:
    """Return whether a text has control, line-end, direction or zero-width characters.

    Such a name can look like another one, or reverse the text after it.
    """
    return not text.isprintable() or not _INVISIBLE.isdisjoint(text)
