"""Trust X-Forwarded-Proto only from the proxies of FACHO_TRUSTED_PROXIES.

The client's address is read from their headers in `attempts.address_of`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from facho.config import current
from facho.core.addresses import is_trusted

# Django reads this header (SECURE_PROXY_SSL_HEADER) without checking who wrote it.
SCHEME: Final = "HTTP_X_FORWARDED_PROTO"


def drop_untrusted_scheme(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Remove X-Forwarded-Proto unless a trusted proxy wrote it. A middleware."""

    def answer(request: HttpRequest) -> HttpResponse:
        if not is_trusted(request.META.get("REMOTE_ADDR", ""), current().trusted_proxies):
            request.META.pop(SCHEME, None)
        return get_response(request)

    return answer
