"""Names that people type show every character they have."""

import pytest

from facho.core.plain_text import has_hidden_characters


@pytest.mark.parametrize("text", ["OLT 1", "Ñuñoa-Sur/2", "東京", "head-end №3", "naïve", "क्षेत्र"])
def test_what_people_write_is_allowed(text: str) -> None:
    assert not has_hidden_characters(text)


@pytest.mark.parametrize(
    "hidden",
    [
        *("\n", "\0", "\x1b", "\x7f", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00ad"),
        *("\u2028", "\u00a0", "\u3164", "\u2800", "\u034f", "\u17b4", "\u180b", "\ufe0f", "\U000e0100"),
        *("\ud800", "\U000e0041"),
    ],
    ids=lambda character: f"U+{ord(character):04X}",
)
def test_what_cannot_be_seen_is_found(hidden: str) -> None:
    assert has_hidden_characters(f"OLT{hidden}1")
