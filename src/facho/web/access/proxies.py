"""Which proxies are believed that a request came to them by TLS: those of FACHO_TRUSTED_PROXIES.

The client's address is read from their headers in `attempts.address_of`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from facho.config import current
from facho.core.addresses import is_trusted

# Django reads it, as SECURE_PROXY_SSL_HEADER says, and asks nobody who wrote it.
SCHEME: Final = "HTTP_X_FORWARDED_PROTO"


def drop_untrusted_scheme(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware that removes X-Forwarded-Proto where it was not written by a trusted proxy."""

    def answer(request: HttpRequest) -> HttpResponse:
        if not is_trusted(request.META.get("REMOTE_ADDR", ""), current().trusted_proxies):
            request.META.pop(SCHEME, None)
        return get_response(request)

    return answer
