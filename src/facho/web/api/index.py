"""The root of the API, which lists its resources, and the answer to unknown paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django.http import Http404
from django.urls import URLPattern, URLResolver
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from facho.web.api.permissions import AnyRole

Patterns = Sequence[URLPattern | URLResolver]
_LINKS = {"type": "object", "additionalProperties": {"type": "string", "format": "uri"}}


class Index(APIView):
    """The resources of the API with their URLs."""

    permission_classes = (AnyRole,)
    patterns: ClassVar[Patterns] = ()

    @extend_schema(operation_id="index", responses={200: _LINKS})
    def get(self, request: Request) -> Response:
        return Response({name: reverse(f"api:{name}", request=request) for name in _names(self.patterns)})


class NotFoundView(APIView):
    """A JSON answer to unknown paths, where Django would answer with a page."""

    permission_classes = (AnyRole,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404


def _names(patterns: Patterns) -> Iterator[str]:
    """Return the names of the resources that can be read without an id or a question."""
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from _names(each.url_patterns)
        elif each.name and not each.pattern.regex.groups and "get" in _methods(each.callback):
            if not getattr(each.callback, "initkwargs", {}).get("in_index", True):
                continue
            yield each.name


def _methods(view: Any) -> Any:
    return getattr(view, "actions", None) or [name for name in ("get",) if hasattr(view.view_class, name)]
