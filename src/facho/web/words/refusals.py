"""Sentences about refused commands, as pages show them."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from facho.engine.commands.errors import CommandError
from facho.engine.commands.olt_addresses import TakenAddress


def refusal_words(refused: CommandError) -> str:
    """Return the sentence, with a link to the OLT that it is about."""
    if not isinstance(refused, TakenAddress):
        return refused.message
    link = reverse("olt", args=[refused.olt_id])
    text = _("Open %(olt)s") % {"olt": refused.olt_name}
    return format_html('{}. <a class="fd-link" href="{}">{}</a>', refused.message, link, text)
