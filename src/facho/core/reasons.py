"""Why something failed, is late or was skipped: a code with parameters, put into words for the reader.

Code compares codes. The text of each is in `reason_texts`; `str()` of a reason is its English, and
`apps.reason_words` has it in the reader's language. A reason is stored as JSON; a stored text that is not in
that form was written before there were codes, and is its own reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from facho.core.reason_texts import SEVERAL, TABLE_NOT_PRESENT, TEMPLATES, TEXT, Template

Param: TypeAlias = "str | int | float | Reason | tuple[Reason, ...]"
# As JSON has it: a list of the code and its parameters, or a text.
Json: TypeAlias = "str | list[Any]"

BETWEEN: Final = "; "
_CUT: Final = "..."


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason without a code is none, and is false."""

    code: str = ""
    params: tuple[tuple[str, Param], ...] = ()

    @classmethod
    def of(cls, code: str, /, **params: Param) -> Reason:
        return cls(code, tuple(params.items()))

    def __bool__(self) -> bool:
        return bool(self.code)

    def __str__(self) -> str:
        return put_into_words(self, _choose_english, _english_number)

    def with_texts(self, change: Callable[[str], str]) -> Reason:
        """Return the reason with every text in its parameters changed: masked, or cut."""

        def changed(value: Param) -> Param:
            match value:
                case str():
                    return change(value)
                case Reason():
                    return value.with_texts(change)
                case tuple():
                    return tuple(each.with_texts(change) for each in value)
            return value

        return Reason(self.code, tuple((name, changed(value)) for name, value in self.params))


NO_REASON: Final = Reason()


def text_reason(text: str) -> Reason:
    """Return a text that has no code as a reason."""
    return Reason.of(TEXT, text=text) if text else NO_REASON


def known_reason(text: str) -> Reason:
    """Return the reason whose English is this text; a text that is none stays as it is."""
    code = _CODES.get(text)
    return text_reason(text) if code is None else Reason.of(code)


_CODES: Final = {template.text: code for code, template in TEMPLATES.items() if "%" not in template.text}


class ReasonError(Exception):
    """An error with a reason, whose English is its text."""

    def __init__(self, reason: Reason | str) -> None:
        super().__init__(reason)
        self.reason = text_reason(reason) if isinstance(reason, str) else reason

    def __str__(self) -> str:
        return str(self.reason)


def several(reasons: Iterable[Reason]) -> Reason:
    """Return reasons in a row as one: empty ones are left out, rows of them are joined."""
    every: list[Reason] = []
    for reason in reasons:
        every += parts_of(reason)
    return every[0] if len(every) == 1 else Reason.of(SEVERAL, reasons=tuple(every)) if every else NO_REASON


def parts_of(reason: Reason) -> tuple[Reason, ...]:
    """Return the reasons that a composed one consists of."""
    if not reason:
        return ()
    inner = dict(reason.params).get("reasons")
    return inner if reason.code == SEVERAL and isinstance(inner, tuple) else (reason,)


def without_code(reason: Reason, code: str) -> Reason:
    """Return a reason without the parts of this code."""
    return several(each for each in parts_of(reason) if each.code != code)


def missing_tables(reason: Reason) -> set[str]:
    """Return the tables that a reason says are not present."""
    named = (dict(each.params).get("tables") for each in parts_of(reason) if each.code == TABLE_NOT_PRESENT)
    return {table for tables in named if isinstance(tables, str) for table in tables.split(", ") if table}


class _Words(dict[str, str]):
    """The parameters in words. One that is missing must not keep the rest from being read."""

    def __missing__(self, name: str) -> str:
        return "?"


def put_into_words(
    reason: Reason, choose: Callable[[Template, int], str], number: Callable[[int | float], str]
) -> str:
    """`choose` returns the text of a template for a count, and `number` writes a number."""

    def words(value: Param) -> str:
        match value:
            case str():
                return value
            case Reason():
                return put_into_words(value, choose, number)
            case tuple():
                return BETWEEN.join(map(words, value))
        return number(value)

    if not reason:
        return ""
    given = dict(reason.params)
    template = TEMPLATES.get(reason.code)
    if template is None:
        # Of a later version.
        said = ", ".join(f"{name} {words(value)}" for name, value in given.items())
        return f"{reason.code}: {said}" if said else reason.code
    count = given.get(template.counted)
    text = choose(template, count if isinstance(count, int) else 0)
    return text % _Words((name, words(value)) for name, value in given.items())


def _choose_english(template: Template, count: int) -> str:
    return template.plural if template.plural and count != 1 else template.text


def _english_number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def to_json(reason: Reason) -> Json:
    """Return a reason as a value of JSON; a mere text is itself, and none is empty."""
    text = dict(reason.params).get("text", "") if reason.code == TEXT else ""
    if not reason or (isinstance(text, str) and text and not text.startswith("[")):
        return str(text)
    return _to_list(reason)


def _to_list(reason: Reason) -> list[Any]:
    return [reason.code, {name: _param_to_json(value) for name, value in reason.params}]


def _param_to_json(value: Param) -> Any:
    match value:
        case Reason():
            return _to_list(value)
        case tuple():
            return [_to_list(each) for each in value]
    return value


def from_json(found: object) -> Reason:
    """Return a reason from a value of JSON; what is in no known form is shown as it is."""
    if isinstance(found, str):
        return text_reason(found)
    reason = _from_list(found)
    return text_reason(json.dumps(found)) if reason is None and found else reason or NO_REASON


def _from_list(found: object) -> Reason | None:
    match found:
        case [str() as code, dict() as given]:
            return Reason(code, tuple((str(name), _param_from_json(value)) for name, value in given.items()))
    return None


def _param_from_json(found: object) -> Param:
    match found:
        case str() | int() | float():
            return found
        case [[*_], *_]:
            return tuple(each for each in map(_from_list, found) if each is not None)
    return _from_list(found) or text_reason(json.dumps(found))


def with_words(found: Any, words: Callable[[Reason], str]) -> Any:
    """Return a value of JSON with every reason in it put into words."""
    match found:
        case dict():
            return {name: with_words(value, words) for name, value in found.items()}
        case [str() as code, dict()] if code in TEMPLATES:
            return words(from_json(found))
        case list() | tuple():
            return [with_words(each, words) for each in found]
        case Reason():
            return words(found)
    return found


def in_english(found: Any) -> Any:
    return with_words(found, str)


def encode(reason: Reason, longest: int | None = None) -> str:
    """Return a reason as the text of a column, within `longest` letters: texts in it are cut, or reasons
    at the end of several are left out.
    """
    written = _encode(reason)
    if longest is None or len(written) <= longest:
        return written
    shorter = reason
    while len(parts := parts_of(shorter)) > 1:
        shorter = several(parts[:-1])
        if len(written := _encode(shorter)) <= longest:
            return written
    for most in (200, 120, 60, 30, 15):
        if len(written := _encode(_cut_texts(shorter, most))) <= longest:
            return written
    return str(reason)[:longest]


def _cut_texts(reason: Reason, most: int) -> Reason:
    return reason.with_texts(lambda text: text if len(text) <= most else text[:most] + _CUT)


def _encode(reason: Reason) -> str:
    found = to_json(reason)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def decode(written: str) -> Reason:
    """Return the reason that a column holds."""
    if written.startswith('["'):
        try:
            reason = _from_list(json.loads(written))
        except ValueError:
            reason = None
        if reason is not None:
            return reason
    return text_reason(written)
