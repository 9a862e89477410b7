"""`/onus/<id>/` and `/onus/unprovisioned/`."""

from __future__ import annotations

from typing import Final

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.chassis.models import Unprovisioned
from facho.apps.db.clock import database_now
from facho.apps.discovery.models import Onu
from facho.config import current
from facho.core.roles import Role
from facho.web.access.pages import for_role
from facho.web.onu_now import DAYS, onu_page
from facho.web.pages.frame import show

_MOST_WAITING: Final = 500


@require_safe
@never_cache
@for_role(Role.VIEWER)
def onu(request: HttpRequest, onu_id: int) -> HttpResponse:
    found = get_object_or_404(Onu.objects.select_related("olt").defer("olt__credentials"), id=onu_id)
    days = request.GET.get("days", "")
    asked = int(days) if days in map(str, DAYS) else DAYS[0]
    page = onu_page(found, asked, database_now(), current())
    return show(request, "facho/onu/page.html", _("ONU %(name)s") % {"name": found}, page=page, days=DAYS)


@require_safe
@never_cache
@for_role(Role.VIEWER)
def unprovisioned(request: HttpRequest) -> HttpResponse:
    """Who waits shortest comes first: that is the one whom somebody installs right now."""
    rows = Unprovisioned.objects.select_related("olt").defer("olt__credentials")
    found = list(rows.order_by(F("first_seen").desc(), "id")[: _MOST_WAITING + 1])
    return show(
        request,
        "facho/onu/unprovisioned.html",
        _("Unprovisioned ONUs"),
        rows=found[:_MOST_WAITING],
        more=len(found) > _MOST_WAITING,
        now=database_now(),
    )
