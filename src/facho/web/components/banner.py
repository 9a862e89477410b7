"""The banner of every page: it says when the engine, or the OLT that the page is about, delivers nothing."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.db.database import database_now
from facho.config import current
from facho.core.roles import Role
from facho.engine.upkeep.delivery import read_engine_state, read_silent_olt
from facho.web.access.pages import part_for_role
from facho.web.components.shared_part import SharedPart, answer_part

_TEMPLATE: Final = "components/banner.html"


def _read(olt_id: int | None) -> dict[str, Any]:
    now = database_now()
    silent = None if olt_id is None else read_silent_olt(olt_id, now)
    return {"engine": read_engine_state(now, current()), "silent": silent}


@require_safe
@never_cache
@part_for_role(Role.VIEWER)
def banner(request: HttpRequest, olt_id: int | None = None) -> HttpResponse:
    return answer_part(request, SharedPart(_TEMPLATE, lambda: _read(olt_id), about=str(olt_id)))
