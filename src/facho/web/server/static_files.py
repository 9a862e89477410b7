"""Static files under an ASGI server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:
    _WhiteNoise = object
else:
    from whitenoise.middleware import WhiteNoiseMiddleware as _WhiteNoise


class StaticFiles(_WhiteNoise):
    """Sends each file whole. Whitenoise streams files, about which an asynchronous server warns each time.

    Ranges are ignored, as HTTP allows. The files are small, and a range past the end of one, which browsers
    ask for now and then, would be logged as a fault.
    """

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        headers = {name: value for name, value in request.META.items() if name != "HTTP_RANGE"}
        found = static_file.get_response(request.method, headers)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        answer = HttpResponse(content, status=int(found.status))
        del answer["Content-Type"]
        for name, value in found.headers:
            answer[name] = value
        return answer
