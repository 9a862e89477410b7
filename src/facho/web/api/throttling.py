"""How often one may ask. Each process of the web counts for itself: two of them let in twice as much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from facho.apps.access.models import ApiToken
from facho.config import current
from facho.web.access.attempts import address_of

if TYPE_CHECKING:
    from rest_framework.views import APIView


class Known(SimpleRateThrottle):
    """A token, or a person who is logged in. It comes after the question who asks."""

    scope = "known"

    def get_rate(self) -> str | None:
        return f"{current().api_requests_a_minute}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str:  # noqa: ARG002
        who = request.auth.digest if isinstance(request.auth, ApiToken) else f"user-{request.user.pk}"
        return self.cache_format % {"scope": self.scope, "ident": who}


class Strangers(SimpleRateThrottle):
    """Who was not let in, by address: they never come so far as to be counted among the others."""

    scope = "strangers"

    def get_rate(self) -> str | None:
        return f"{current().api_refusals_a_minute}/minute"

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ARG002
        return self.cache_format % {"scope": self.scope, "ident": address_of(request, current())}


def refusal_counted(request: Request, view: Any) -> Throttled | None:
    """What to say instead to who has been refused too often."""
    throttle = Strangers()
    return None if throttle.allow_request(request, view) else Throttled(throttle.wait())
