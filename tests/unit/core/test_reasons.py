"""Reasons are values: with their English, stored without loss, and the same code with the same parameters
wherever they are made.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facho
from facho.core.reason_texts import TEMPLATES, TEXT
from facho.core.reasons import (
    NO_REASON,
    Param,
    Reason,
    decode,
    encode,
    from_json,
    several,
    text_reason,
    to_json,
)

SOURCES = Path(facho.__file__).parent
OFF = Reason.of("off_or_other_community")
SILENT = Reason.of("no_answer", olt="10.0.0.1:161", sent=3, seconds=9.0, why=OFF)

names = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
plain = st.text(max_size=20) | st.integers(0, 10**6) | st.floats(0, 1e6)


def nested(inner: st.SearchStrategy[Param]) -> st.SearchStrategy[Param]:
    one = st.builds(lambda given: Reason("x", (*given.items(),)), st.dictionaries(names, inner, max_size=3))
    return one | st.lists(one, min_size=1, max_size=3).map(tuple)


params = st.recursive(plain, nested, max_leaves=6)
reasons = st.builds(
    lambda code, given: Reason(code, tuple(given.items())),
    st.sampled_from(sorted(TEMPLATES.keys() - {TEXT})),
    st.dictionaries(names, params, max_size=4),
)


@pytest.mark.parametrize(
    ("reason", "english"),
    [
        (NO_REASON, ""),
        (
            SILENT,
            "no answer from 10.0.0.1:161 to 3 requests in 9 s: "
            "it is off or unreachable, or does not accept this community and version",
        ),
        (
            Reason.of("no_answer", olt="a", sent=1, seconds=0.5, why=OFF),
            "no answer from a to 1 request in 0.5 s: "
            "it is off or unreachable, or does not accept this community and version",
        ),
        (
            several([Reason.of("no_value"), Reason.of("more", more=1200)]),
            "the OLT gave no value; and 1,200 more",
        ),
        (text_reason("50 % of %(olt)s"), "50 % of %(olt)s"),
        (Reason.of("of a later version", olt="a", most=3), "of a later version: olt a, most 3"),
        (Reason.of("master_failed"), "not run: ? failed"),
    ],
)
def test_a_reason_has_its_english(reason: Reason, english: str) -> None:
    assert str(reason) == english


@given(reasons)
def test_a_reason_is_stored_without_loss(reason: Reason) -> None:
    assert decode(encode(reason)) == reason
    assert from_json(to_json(reason)) == reason


@pytest.mark.parametrize("text", ["", "a", "[", '["a"', '["no_value",3]', "[]", '["no_value",{}]', "[1] x"])
def test_a_text_is_its_own_reason_and_stays_what_it_is(text: str) -> None:
    assert str(decode(encode(text_reason(text)))) == text
    assert str(from_json(to_json(text_reason(text)))) == text


@pytest.mark.parametrize("text", ["no answer from x", "[", '["a"', '["no_value",3]', "[]", "[1] x"])
def test_what_was_stored_before_there_were_codes_is_shown_as_it_is(text: str) -> None:
    assert str(decode(text)) == text


@given(reasons, st.integers(60, 300))
def test_a_reason_fits_into_its_column(reason: Reason, longest: int) -> None:
    written = encode(reason, longest)
    assert len(written) <= longest
    assert str(decode(written)) or not str(reason)


def test_of_a_reason_that_is_too_long_texts_are_cut_and_the_code_is_kept() -> None:
    long = Reason.of("cannot_send", olt="10.0.0.1:161", why="x" * 1000)
    assert decode(encode(long, 300)) == Reason.of("cannot_send", olt="10.0.0.1:161", why="x" * 200 + "...")
    many = several([SILENT, *(Reason.of("cannot_send", olt=str(each), why="x" * 50) for each in range(9))])
    assert decode(encode(many, 130)) == SILENT


def test_several_reasons_are_one_without_the_empty_ones() -> None:
    value, more = Reason.of("no_value"), Reason.of("more", more=2)
    assert several([]) == several([NO_REASON]) == NO_REASON
    assert several([NO_REASON, value]) == value
    assert several([several([value, more]), value]) == several([value, more, value])


def test_texts_within_a_reason_are_changed_at_any_depth() -> None:
    silent = several(
        [SILENT, Reason.of("olt_suspended", why=Reason.of("cannot_send", olt="secret", why="secret"))]
    )
    assert "secret" not in encode(silent.with_texts(lambda text: text.replace("secret", "***")))


def made_in_sources() -> Iterator[tuple[str, ast.Call]]:
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason.of":
                yield f"{path.relative_to(SOURCES)}:{node.lineno}", node


def placeholders(code: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", TEMPLATES[code].text + TEMPLATES[code].plural))


def test_every_reason_that_is_made_is_in_the_catalogue_with_its_parameters() -> None:
    for place, call in made_in_sources():
        code = call.args[0]
        codes = (
            [code.value]
            if isinstance(code, ast.Constant)
            else [part.value for part in (code.body, code.orelse) if isinstance(part, ast.Constant)]
            if isinstance(code, ast.IfExp)
            else []
        )
        for each in codes:
            assert each in TEMPLATES, place
            if all(keyword.arg for keyword in call.keywords):
                assert {keyword.arg for keyword in call.keywords} == placeholders(str(each)), place
