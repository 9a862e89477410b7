"""Words as a search compares them: without accents, in small letters, separated by spaces and signs.

PostgreSQL folds descriptions by the same table: a migration has a copy of `folded_characters`, and a change
here needs another migration. SQLite folds by its own, which covers this one.
"""

from __future__ import annotations

import unicodedata
from typing import Final

# A search compares no more words of a text, and no more letters of a word: what is typed has no other limit.
MOST_WORDS: Final = 10
MOST_LETTERS: Final = 40
# A shorter word has to be there as it is: most descriptions have a word that begins with any one letter.
SHORTEST_BEGINNING: Final = 2
_LATIN: Final = range(0xC0, 0x180)
# Accents that follow their letter, as some systems store them.
_ACCENTS: Final = range(0x300, 0x370)
_SPACES_AND_SIGNS: Final = (*range(1, 0xC0), 0xD7, 0xF7, *range(0x2000, 0x2070))
_MICRO: Final = "µ"


def _base_letter(letter: str) -> str:
    """Return a letter without its accents; itself if it has none."""
    return unicodedata.normalize("NFD", letter)[0].lower()


_LETTERS: Final = {
    letter: _base_letter(letter) for letter in map(chr, _LATIN) if _base_letter(letter).isascii()
}
# Signs such as º are letters for Unicode, but stand between a word and a number: "Nº12".
_SEPARATORS: Final = "".join(
    sign for sign in map(chr, _SPACES_AND_SIGNS) if not (sign.isascii() and sign.isalnum()) and sign != _MICRO
)
_FOLDED: Final = str.maketrans(
    {**_LETTERS, **dict.fromkeys(_SEPARATORS + "\0", " "), **dict.fromkeys(map(chr, _ACCENTS))}
)


def folded_characters() -> tuple[str, str]:
    """Return the characters that are folded, and what each becomes; those at the end without any vanish."""
    letters = "".join(_LETTERS)
    accents = "".join(map(chr, _ACCENTS))
    return letters + _SEPARATORS + accents, "".join(_LETTERS.values()) + " " * len(_SEPARATORS)


def split_words(text: str) -> list[str]:
    """Return the words of a text as they are compared, each once, in order."""
    words = (word[:MOST_LETTERS] for word in text.translate(_FOLDED).lower().split(" ") if word)
    return list(dict.fromkeys(words))[:MOST_WORDS]


def may_be_beginning(word: str) -> bool:
    """Return whether a word also finds longer ones that begin with it."""
    return len(word) >= SHORTEST_BEGINNING
