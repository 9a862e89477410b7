"""What every tab of the page of an OLT begins with: the OLT with its status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from facho.apps.hosts.health import with_health
from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import family_problem
from facho.apps.maintenance.selectors import maintained_until
from facho.core.reasons import Reason
from facho.web.access.error_pages import NotFoundError
from facho.web.words.families import profile_note


@dataclass(frozen=True, slots=True)
class OltHead:
    now: datetime
    # With its health as `condition`, its brand and its model; without credentials.
    olt: Any
    maintained_until: datetime | None
    # Where the profile of its family is from, if that is the operator; and why none can be used.
    profile_note: str
    family_problem: Reason


def read_olt_head(olt_id: int, now: datetime) -> OltHead:
    until = maintained_until(olt_id, now)
    rows = Olt.objects.filter(id=olt_id).select_related("brand", "model").defer("credentials")
    olt = with_health([olt_id] if until else [], rows).first()
    if olt is None:
        raise NotFoundError(gettext("No such OLT."))
    return OltHead(now, olt, until, profile_note(olt.brand.name), family_problem(olt.brand))
