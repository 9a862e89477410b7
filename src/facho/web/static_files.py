"""Static files under an ASGI server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:
    _WhiteNoise = object
else:
    from whitenoise.middleware import WhiteNoiseMiddleware as _WhiteNoise


class StaticFiles(_WhiteNoise):
    """Sends each file whole. Whitenoise streams it, and an asynchronous server complains of every stream."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        answer = HttpResponse(content, status=int(found.status))
        del answer["Content-Type"]
        for name, value in found.headers:
            answer[name] = value
        return answer
