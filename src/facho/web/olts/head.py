"""What every tab of the page of an OLT begins with: the OLT with its status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from facho.apps.hosts.health import with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import maintained_until
from facho.web.access.error_pages import NotFoundError


@dataclass(frozen=True, slots=True)
class OltHead:
    now: datetime
    # With its health as `condition`, its brand and its model; without credentials.
    olt: Any
    maintained_until: datetime | None


def read_olt_head(olt_id: int, now: datetime) -> OltHead:
    until = maintained_until(olt_id, now)
    rows = Olt.objects.filter(id=olt_id).select_related("brand", "model").defer("credentials")
    olt = with_health([olt_id] if until else [], rows).first()
    if olt is None:
        raise NotFoundError(gettext("No such OLT."))
    return OltHead(now, olt, until)
