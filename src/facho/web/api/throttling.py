"""Rate limits of the API. All web processes count together (`facho.web.throttles`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from facho.apps.access.models import ApiToken
from facho.config import current
from facho.web.access.login_limits import counted_address_of
from facho.web.throttles import seconds_to_wait

if TYPE_CHECKING:
    from rest_framework.views import APIView


class SharedThrottle(SimpleRateThrottle):
    """A throttle that counts for all processes instead of in the cache of one."""

    num_requests: int
    duration: int
    waits: int | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = self.get_cache_key(request, view)
        if self.rate is None or key is None:
            return True
        self.waits = seconds_to_wait(key, self.num_requests, time.time(), self.duration)
        return self.waits is None

    def wait(self) -> float | None:
        return self.waits


class AuthenticatedThrottle(SharedThrottle):
    """Counts the requests of a token, or of a person who is logged in."""

    scope = "known"

    def get_rate(self) -> str | None:
        return f"{current().api_requests_a_minute}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str:  # noqa: ARG002
        who = request.auth.digest if isinstance(request.auth, ApiToken) else f"user-{request.user.pk}"
        return self.cache_format % {"scope": self.scope, "ident": who}


class RefusedAddressThrottle(SharedThrottle):
    """Counts the requests of an address that were refused for want of a valid token or session."""

    scope = "strangers"

    def get_rate(self) -> str | None:
        return f"{current().api_refusals_a_minute}/minute"

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ARG002
        return self.cache_format % {"scope": self.scope, "ident": counted_address_of(request, current())}


def count_refusal(request: Request, view: Any) -> Throttled | None:
    """Count a refused request, and return the error for an address that was refused too often."""
    counted = RefusedAddressThrottle()
    return None if counted.allow_request(request, view) else Throttled(counted.wait())
