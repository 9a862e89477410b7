"""`/onus/worst/`: who has the least light, and who comes and goes; of all, of a site, an OLT or a port."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.db.clock import database_now
from facho.apps.discovery.worst import Where, flapping, weakest
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.core.roles import Role
from facho.web.access.pages import for_role
from facho.web.pages.frame import show

POWER: Final = "power"
FLAPS: Final = "flaps"
DAYS: Final = (1, 7)
_PORT: Final = re.compile(r"\d{1,9}(/\d{1,9}){0,2}", re.ASCII)
_ID: Final = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    by: str = POWER
    days: int = 1
    where: Where = field(default_factory=Where)
    # What was written as a port, and is none.
    odd_port: str = ""


def asked_of(given: Mapping[str, str]) -> Asked:
    """What makes no sense is left out. A port is one of an OLT."""
    olt, port, days = given.get("olt", ""), given.get("port", "").strip(), given.get("days", "")
    olt_id = int(olt) if _ID.fullmatch(olt) else None
    is_port = olt_id is not None and _PORT.fullmatch(port) is not None
    return Asked(
        by=FLAPS if given.get("by") == FLAPS else POWER,
        days=int(days) if days in map(str, DAYS) else DAYS[0],
        where=Where(given.get("site", "").strip(), olt_id, port if is_port else ""),
        odd_port="" if is_port else port,
    )


@require_safe
@never_cache
@for_role(Role.VIEWER)
def worst(request: HttpRequest) -> HttpResponse:
    asked, now = asked_of(request.GET), database_now()
    olts = list(Olt.objects.order_by("site", "name").values_list("id", "name", "site"))
    by_power = asked.by == POWER
    return show(
        request,
        "facho/onu/worst.html",
        _("Worst ONUs"),
        asked=asked,
        now=now,
        olts=olts,
        sites=sorted({site for _id, _name, site in olts if site}),
        weak=weakest(asked.where) if by_power else (),
        flapping=() if by_power else flapping(asked.where, now - timedelta(days=asked.days)),
        days=DAYS,
        limit=current().optical_weak,
    )
