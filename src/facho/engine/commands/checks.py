"""Input that several commands take: looked at once, in one way, with one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from typing import Final

from django.utils.translation import gettext as _

from facho.apps.executions.failure_words import translated
from facho.core.interval import BadInterval, parse_interval
from facho.core.plain_text import has_hidden_characters
from facho.engine.commands.errors import CommandError

LONGEST_NAME: Final = 80
# The databases' own limit of a small number.
LARGEST: Final = 32_767


def name_of(text: str, field: str = "name", *, longest: int = LONGEST_NAME) -> str:
    """Return the name that a person wrote, however it came in: by a page, the API, a file or a command."""
    name = line_of(text, field, longest=longest)
    if not name:
        raise CommandError(field, _("a name is needed"))
    return name


def line_of(text: str, field: str, *, longest: int = LONGEST_NAME) -> str:
    """Return the line of text that a person wrote, which may be empty."""
    line = text.strip()
    if len(line) > longest:
        raise CommandError(field, _("a name has at most %(most)d characters") % {"most": longest})
    if has_hidden_characters(line):
        raise CommandError(field, _("a name is one line of readable characters"))
    return line


def seconds_of(interval: str | timedelta, field: str = "interval") -> int:
    """Whole seconds, from what a person wrote or a form has read already."""
    if isinstance(interval, str):
        try:
            interval = parse_interval(interval)
        except BadInterval as error:
            raise CommandError(field, translated(str(error))) from None
    seconds = interval.total_seconds()
    if seconds < 1 or seconds != int(seconds):
        raise CommandError(field, _("a time is a whole number of seconds, and at least one"))
    return int(seconds)


def whole_between(number: int, low: int, high: int, field: str) -> int:
    if not low <= number <= high:
        numbers = {"number": number, "low": low, "high": high}
        raise CommandError(field, _("%(number)d is not between %(low)d and %(high)d") % numbers)
    return number


def no_such(what: str, wanted: str, known: Iterable[str]) -> str:
    """The sentence about a name that nothing has, with those that a person may have meant."""
    near = get_close_matches(wanted, list(known), 3, 0.6)
    sentence = _("there is no %(what)s named '%(name)s'") % {"what": what, "name": wanted}
    return sentence + (_("; did you mean %(names)s?") % {"names": ", ".join(near)} if near else "")
