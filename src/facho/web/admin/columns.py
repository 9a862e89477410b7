"""Columns and fields of the admin."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models.expressions import Combinable
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from unfold.decorators import display as unfold_display

from facho.apps.reason_words import reason_words
from facho.core.reasons import with_words
from facho.web.admin.quick_lists import badged

Column = TypeVar("Column", bound=Callable[..., Any])


def display(
    *, description: Any, ordering: str | Combinable | None = None, label: Mapping[Any, str] | None = None
) -> Callable[[Column], Column]:
    """Decorate a column. With `label` it is a badge: the method returns a key of it and the text."""
    dressed: Callable[[Any], Any] = unfold_display(description=description, ordering=ordering)
    return dressed if label is None else lambda column: dressed(badged(column, label))


def choice_badge(column: str, description: Any, colours: Mapping[Any, str]) -> Callable[..., Any]:
    """Return a badge with the name of a choice."""

    @display(description=description, ordering=column, label=colours)
    def badge(_admin: Any, row: Any) -> tuple[Any, str]:
        return getattr(row, column), getattr(row, f"get_{column}_display")()

    return badge


def word_badge(
    column: str, description: Any, words: Mapping[str, Any], colours: Mapping[Any, str]
) -> Callable[..., Any]:
    """Return a badge with the name of a code, and nothing for an empty one."""

    @display(description=description, ordering=column, label=colours)
    def badge(_admin: Any, row: Any) -> tuple[str, str] | None:
        code = getattr(row, column)
        return (code, str(words.get(code, code))) if code else None

    return badge


def word_column(column: str, description: Any, words: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a column with the names of codes."""
    return _shown_by(lambda code: str(words.get(code, code)), column, description, ordering=column)


def reason_column(column: str, description: Any) -> Callable[..., Any]:
    return _shown_by(reason_words, column, description)


def json_column(column: str, description: Any) -> Callable[..., Any]:
    """Return a field with indented JSON, and nothing for an empty value."""
    return _shown_by(lambda value: readable_json(value) if value else "", column, description)


def bytes_column(column: str, description: Any, *, ordering: str | None = None) -> Callable[..., Any]:
    return _shown_by(
        lambda size: "" if size is None else filesizeformat(size), column, description, ordering=ordering
    )


def _shown_by(
    show: Callable[[Any], str], column: str, description: Any, *, ordering: str | None = None
) -> Callable[..., Any]:
    @display(description=description, ordering=ordering)
    def shown(_admin: Any, row: Any) -> str:
        return show(getattr(row, column))

    return shown


def readable_json(value: Any) -> str:
    """Return indented JSON as HTML, with reasons in the reader's words."""
    text = json.dumps(with_words(value, reason_words), indent=2, ensure_ascii=False, default=str)
    return format_html('<pre class="fd-json">{}</pre>', text)
