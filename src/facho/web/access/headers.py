"""What browsers are told about our pages: load nothing from elsewhere, run no script that is written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        # Alpine, which the admin's frame is made with, reads its expressions from attributes.
        "script-src 'self' 'unsafe-eval'",
        # The admin's frame has its colours in a style element, and its widths in attributes.
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return answer
