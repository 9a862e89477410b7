"""Reasons in the reader's language: the one place where they are put into words for people."""

from __future__ import annotations

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from facho.core.reason_texts import Template
from facho.core.reasons import Reason, put_into_words


def reason_words(reason: Reason) -> str:
    return put_into_words(reason, _choose_text, _write_number)


def _choose_text(template: Template, count: int) -> str:
    return ngettext(template.text, template.plural, count) if template.plural else gettext(template.text)


def _write_number(value: int | float) -> str:
    whole = float(value).is_integer()
    return str(number_format(int(value) if whole else value, use_l10n=True, force_grouping=True))
