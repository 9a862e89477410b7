"""Show the pages in the time zone of whoever looks at them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from facho.apps.access.selectors import time_zone_of
from facho.core.time_zones import zone_named


def use_zone_of_user(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Activate the zone that the user chose; of others, the operator's."""

    def answer(request: HttpRequest) -> HttpResponse:
        # None also for a zone that disappeared from the database of zones.
        zone = zone_named(time_zone_of(request.user))
        if zone is None:
            return get_response(request)
        with timezone.override(zone):
            return get_response(request)

    return answer
