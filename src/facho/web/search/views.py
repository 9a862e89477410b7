"""The search page, `/search/?q=`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.db.database import database_now
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.roles import Role
from facho.web.access.pages import for_role
from facho.web.components.page import render_page
from facho.web.search.data import search_all


@require_safe
@never_cache
@for_role(Role.VIEWER)
def search(request: HttpRequest) -> HttpResponse:
    found = search_all(request.GET.get("q", ""))
    if found.exact is not None:
        return redirect("onu", found.exact.id)
    now = database_now()
    maintained = olts_under_maintenance(now) if found.onus else {}
    return render_page(request, "search/page.html", _("Search"), found=found, now=now, maintained=maintained)
