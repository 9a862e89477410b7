"""Test the connection to an OLT from the admin: with what a form says, before it is saved, or as stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Olt, OltModel
from facho.apps.reason_words import reason_words
from facho.engine.collect.identify import Identified
from facho.engine.commands.connection_test import Silence, check_connection, detected_rows
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olt_addresses import address_of
from facho.web.admin.credentials import FIELDS as CREDENTIALS

# The fields that a test needs; the others may still be wrong.
_NEEDED: Final = ("address", "port", "snmp_version", *CREDENTIALS)
# OLTs tested by one action: the person waits several seconds for each that does not answer.
MOST: Final = 5


@dataclass(frozen=True, slots=True)
class Tested:
    """An OLT's answer with the rows of its brand and model, where there are any; or the mistakes."""

    answer: Identified | None = None
    brand: Brand | None = None
    model: OltModel | None = None
    mistakes: tuple[str, ...] = ()


def test_form(request: HttpRequest, form_class: Any, stored: Olt | None) -> Tested:
    """Test with what is written in the form; a secret that is left empty is the stored one."""
    form = form_class(request.POST, instance=stored or Olt())
    form.is_valid()
    wrong = [f"{form[name].label}: {error}" for name in _NEEDED for error in form.errors.get(name, ())]
    if wrong:
        return Tested(mistakes=tuple(wrong))
    try:
        form.instance.address = address_of(form.instance.address)
    except CommandError as refused:
        return Tested(mistakes=(refused.message,))
    return test_olt(form.instance)


def test_olt(olt: Olt) -> Tested:
    answer = check_connection(olt)
    if isinstance(answer, Silence):
        return Tested(mistakes=(reason_words(answer.reason),))
    return Tested(answer, *detected_rows(answer))


def test_in_one_line(olt: Olt) -> str:
    """Return what the OLT says it is. Raises CommandError when it does not answer."""
    tested = test_olt(olt)
    if tested.answer is None:
        raise CommandError("olt", f"{olt.name}: {tested.mistakes[0]}")
    found = tested.answer.detection
    what = f"{tested.brand or found.profile} {found.model or ''}".strip()
    return _("%(olt)s answers: %(what)s") % {"olt": olt.name, "what": what}
