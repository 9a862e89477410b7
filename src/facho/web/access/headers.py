"""Security headers: pages load nothing from elsewhere and run no inline scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        # Alpine, which unfold uses, evaluates expressions in attributes.
        "script-src 'self' 'unsafe-eval'",
        # Unfold has colours in a style element and widths in attributes.
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
