"""`/health`: the health of the system, without a login and under any host name.

Load balancers ask by address, so the name that they ask for is not looked at: the answer neither repeats it
nor depends on it. It comes before everything that needs the database, which may be what is missing.
"""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.db.database import database_now
from facho.config import current
from facho.engine.upkeep.health import Health, Reason, check_health
from facho.web.server.answer_cache import AnswerBusy, AnswerCache

PATH: Final = "/health"
_MAX_AGE: Final = timedelta(seconds=2)
_cache: Final = AnswerCache("facho.health")


class HealthCheck(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return health_view(request) if request.path_info == PATH else None


@require_safe
@never_cache
def health_view(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    found = recent_health()
    status = HTTPStatus.SERVICE_UNAVAILABLE if found.reasons else HTTPStatus.OK
    answer = JsonResponse(found.as_json(), status=status)
    # The mark of Django: a check every second must not fill the log while the database is down.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def recent_health() -> Health:
    """Return the health that was checked last, also for the dashboard."""
    try:
        return _cache.get("all", _MAX_AGE, lambda: check_health(database_now, current()))
    except AnswerBusy:
        return Health((Reason("health", "it takes long to find out"),))
