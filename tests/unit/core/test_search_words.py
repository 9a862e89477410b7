"""How texts become the words that a search compares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facho.core.search_words import MOST_LETTERS, MOST_WORDS, folded_characters, may_be_beginning, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ñuñoa", ["nunoa"]),
        ("N\u0303un\u0303oa", ["nunoa"]),
        ("  José PÉREZ_Güell,calle/Ñ-12 ", ["jose", "perez", "guell", "calle", "n", "12"]),
        ("Nº12 2ª", ["n", "12", "2"]),
        ("soto Soto SÓTO", ["soto"]),
        ("Ålesund Łódź", ["alesund", "łodz"]),
        ("дом 5", ["дом", "5"]),
        ("\"' OR NEAR(* :^\\-+ \0", ["or", "near"]),
        ("", []),
        ("\u2026 \u00a0 \u2013", []),
    ],
)
def test_words_have_no_accents_and_no_signs(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_one_letter_is_a_word_and_no_beginning() -> None:
    assert [may_be_beginning(word) for word in ("n", "ñu")] == [False, True]


def test_characters_that_vanish_are_the_last() -> None:
    characters, folded = folded_characters()
    assert len(set(characters)) == len(characters) > len(folded)
    assert all("\u0300" <= each < "\u0370" for each in characters[len(folded) :])


@given(st.text(max_size=200))
def test_whatever_is_typed_becomes_few_short_words_without_operators(text: str) -> None:
    words = split_words(text)
    assert len(words) <= MOST_WORDS
    assert all(0 < len(word) <= MOST_LETTERS for word in words)
    assert not set("\"'\\*:^()&|! \0").intersection("".join(words))
