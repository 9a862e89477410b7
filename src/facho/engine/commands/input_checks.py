"""Checks of input that several commands take.

Each returns the value as it is stored, or raises CommandError.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from facho.apps.reason_words import reason_words
from facho.core.interval import BadInterval, parse_interval
from facho.core.plain_text import has_hidden_characters
from facho.engine.commands.errors import CommandError

M = TypeVar("M", bound=Model)

LONGEST_NAME: Final = 80
LONGEST_REASON: Final = 200
# The largest small integer of PostgreSQL.
LARGEST: Final = 32_767


def check_name(text: str, field: str = "name", *, longest: int = LONGEST_NAME) -> str:
    name = check_line(text, field, longest=longest)
    if not name:
        raise CommandError(field, _("a name is needed"))
    return name


def check_line(text: str, field: str, *, longest: int = LONGEST_NAME) -> str:
    """Check a line of text, which may be empty."""
    line = text.strip()
    if len(line) > longest:
        raise CommandError(field, _("a name has at most %(most)d characters") % {"most": longest})
    if has_hidden_characters(line):
        raise CommandError(field, _("a name is one line of readable characters"))
    return line


def check_reason(text: str, field: str = "reason") -> str:
    """Check why a person does something: one line, which may be empty."""
    line = " ".join(text.split())
    if len(line) > LONGEST_REASON:
        raise CommandError(field, _("a reason has at most %(most)d characters") % {"most": LONGEST_REASON})
    if has_hidden_characters(line):
        raise CommandError(field, _("a reason is one line of readable characters"))
    return line


def check_free_name(
    rows: QuerySet[Any], text: str, own_id: int | None = None, *, longest: int = LONGEST_NAME
) -> str:
    """Check a name that no other of the rows may have. `own_id` is the row that gets it."""
    name = check_name(text, longest=longest)
    if rows.filter(name=name).exclude(pk=own_id or 0).exists():
        raise taken_name(name)
    return name


def taken_name(name: str) -> CommandError:
    return CommandError("name", _("the name '%(name)s' is already taken") % {"name": name})


def parse_seconds(interval: str | timedelta, field: str = "interval") -> int:
    """Return whole seconds, from an interval as people write it or as a form has parsed it."""
    if isinstance(interval, str):
        try:
            interval = parse_interval(interval)
        except BadInterval as error:
            raise CommandError(field, reason_words(error.reason)) from None
    seconds = interval.total_seconds()
    if seconds < 1 or seconds != int(seconds):
        raise CommandError(field, _("a time is a whole number of seconds, and at least one"))
    return int(seconds)


def check_range(number: int, low: int, high: int, field: str) -> int:
    if not low <= number <= high:
        numbers = {"number": number, "low": low, "high": high}
        raise CommandError(field, _("%(number)d is not between %(low)d and %(high)d") % numbers)
    return number


def check_choice(text: str, choices: Collection[str], field: str) -> str:
    if text not in choices:
        raise unknown_choice(text, choices, field)
    return text


def unknown_choice(text: str, choices: Iterable[str], field: str) -> CommandError:
    values = {"text": text, "choices": ", ".join(each for each in choices if each)}
    return CommandError(field, _("'%(text)s' is none of %(choices)s") % values)


def find_named(rows: QuerySet[M], name: str, kind: str, field: str, *, column: str = "name") -> M:
    """Return the row of that name. `kind` says what it is, in the language of the reader."""
    found = rows.filter(**{column: name}).first()
    if found is None:
        raise CommandError(field, unknown_name(kind, name, rows.values_list(column, flat=True)))
    return found


def find_all_named(rows: QuerySet[M], names: Sequence[str], kind: str, field: str) -> list[M]:
    """Return the rows in the order of the names, each once."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, M] = {row.name: row for row in rows.filter(name__in=wanted)}  # type: ignore[attr-defined]
    for name in wanted:
        if name not in found:
            raise CommandError(field, unknown_name(kind, name, rows.values_list("name", flat=True)))
    return [found[name] for name in wanted]


def unknown_name(kind: str, wanted: str, known: Iterable[str]) -> str:
    """Return the sentence about a name that nothing has, with similar names."""
    sentence = _("there is no %(what)s named '%(name)s'") % {"what": kind, "name": wanted}
    return sentence + suggest_names(wanted, known, 0.6)


def suggest_names(wanted: str, known: Iterable[str], cutoff: float) -> str:
    near = get_close_matches(wanted, list(known), 3, cutoff)
    return _("; did you mean %(names)s?") % {"names": ", ".join(near)} if near else ""
