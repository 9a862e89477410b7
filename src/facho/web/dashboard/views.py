"""The dashboard, and the parts of it that refresh."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import get_current_timezone, now
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.db.database import database_now
from facho.apps.hosts.health import Health
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.core.roles import Role
from facho.web.access.pages import for_role, part_for_role
from facho.web.components.list_query import HOURS, OltQuery, parse_olt_query
from facho.web.components.page import page_context
from facho.web.components.shared_part import SharedPart, answer_part, rendered_part
from facho.web.dashboard.data import read_live, read_overview
from facho.web.dashboard.lanes import read_timeline


def _live() -> dict[str, Any]:
    return {"board": read_live(database_now(), current())}


def _overview() -> dict[str, Any]:
    return {"overview": read_overview(database_now(), current())}


_LIVE: Final = SharedPart("dashboard/live.html", _live)
# Pages ask for it every ten seconds, and it takes twice as long as the live part.
_OVERVIEW: Final = SharedPart("dashboard/overview.html", _overview, max_age=timedelta(seconds=5))


@require_safe
@never_cache
@for_role(Role.VIEWER)
def dashboard(request: HttpRequest) -> HttpResponse:
    """Return the frame of the person around the parts that all share."""
    return _dashboard(request, wall="wall" in request.GET)


@require_safe
@never_cache
@for_role(Role.VIEWER)
def wall(request: HttpRequest) -> HttpResponse:
    return _dashboard(request, wall=True)


def _dashboard(request: HttpRequest, *, wall: bool) -> HttpResponse:
    zone = get_current_timezone()
    context = {
        **page_context(request, _("Dashboard")),
        "live": rendered_part(request, _LIVE),
        "overview": rendered_part(request, _OVERVIEW),
        "invited": not Olt.objects.exists(),
        "wall": wall,
        "clock": now().astimezone(zone),
        "clock_zone": str(zone),
    }
    return render(request, "dashboard/wall.html" if wall else "dashboard/page.html", context)


@require_safe
@never_cache
@part_for_role(Role.VIEWER)
def live_part(request: HttpRequest) -> HttpResponse:
    """Return the part that refreshes every two seconds; without a session, the browser logs in again."""
    return answer_part(request, _LIVE)


@require_safe
@never_cache
@part_for_role(Role.VIEWER)
def overview_part(request: HttpRequest) -> HttpResponse:
    return answer_part(request, _OVERVIEW)


@require_safe
@never_cache
@part_for_role(Role.VIEWER)
def timeline_part(request: HttpRequest) -> HttpResponse:
    """Return a page of the timeline, which refreshes itself."""
    query = parse_olt_query(request.GET)
    part = SharedPart("dashboard/timeline.html", lambda: _timeline(query), about=repr(query))
    return answer_part(request, part)


def _timeline(query: OltQuery) -> dict[str, Any]:
    found = read_timeline(query, database_now(), current())
    return {
        "timeline": found,
        "query": query,
        "ticks": found.window.ticks(get_current_timezone()),
        "hours": HOURS,
        "healths": Health.choices,
    }


@require_safe
def root(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return redirect(settings.LOGIN_REDIRECT_URL)
