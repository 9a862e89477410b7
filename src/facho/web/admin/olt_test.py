"""Ask an OLT what it is, with what a form says of it, before that is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.utils.translation import gettext as _

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.apps.hosts.credentials import Unreadable
from facho.apps.hosts.models import Brand, Olt, OltModel
from facho.config import current
from facho.engine.collect import connection_test
from facho.engine.collect.identify import Identified
from facho.engine.collect.targets import target_of
from facho.engine.commands import olts
from facho.engine.commands.errors import CommandError
from facho.web.admin.credentials import FIELDS as CREDENTIALS
from facho.web.words import translated

# The others may still be wrong: they are not needed to ask.
_NEEDED: Final = ("address", "port", "snmp_version", *CREDENTIALS)


# At once: of each that does not answer the person waits for seconds.
MOST: Final = 5


@dataclass(frozen=True, slots=True)
class Tested:
    """What it says that it is, and the rows for that, where there are any; or what is wrong, in sentences."""

    answer: Identified | None = None
    brand: Brand | None = None
    model: OltModel | None = None
    mistakes: tuple[str, ...] = ()


def written(request: HttpRequest, form_class: Any, stored: Olt | None) -> Tested:
    """With what stands in the form; a secret that is left empty is the stored one."""
    form = form_class(request.POST, instance=stored or Olt())
    form.is_valid()
    wrong = [f"{form[name].label}: {said}" for name in _NEEDED for said in form.errors.get(name, ())]
    if wrong:
        return Tested(mistakes=tuple(wrong))
    try:
        form.instance.address = olts.address_of(form.instance.address)
    except CommandError as refused:
        return Tested(mistakes=(refused.message,))
    return asked(form.instance)


def told(olt: Olt) -> str:
    """In one line."""
    tested = asked(olt)
    if tested.answer is None:
        raise CommandError("olt", f"{olt.name}: {translated(tested.mistakes[0])}")
    found = tested.answer.detection
    what = f"{tested.brand or found.profile} {found.model or ''}".strip()
    return _("%(olt)s answers: %(what)s") % {"olt": olt.name, "what": what}


def asked(olt: Olt) -> Tested:
    if isinstance(olt.credentials, Unreadable):
        return Tested(mistakes=(_("those that are stored cannot be opened: enter them again"),))
    note(Action.TEST, Olt, olt.pk, olt.name or olt.address, address=olt.address)
    answer = connection_test.ask(target_of(olt, current()))
    if isinstance(answer, connection_test.Silence):
        return Tested(mistakes=(answer.sentence,))
    brand = Brand.objects.filter(name=answer.detection.profile).first()
    model = OltModel.objects.filter(brand=brand, name=answer.detection.model).first()
    return Tested(answer, brand, model)
