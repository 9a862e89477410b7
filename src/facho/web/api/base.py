"""What the views of the API have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import mixins
from rest_framework.viewsets import GenericViewSet

M = TypeVar("M", bound=Model)


class Rows(GenericViewSet[M]):
    """Things of one kind. Those that people change are changed by commands, never by a serializer's save."""

    # What it is about, as roles name it, and the right that each action of its own needs.
    about: ClassVar[str]
    rights: ClassVar[Mapping[str, str]] = {}
    # What may be ordered by; the first is the usual order.
    orderings: ClassVar[Sequence[str]] = ("id",)
    # An address with anything else is no row's.
    lookup_value_regex = "[0-9]{1,18}"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Times are told in UTC wherever the operator is, and one without a zone is taken for it.
        with timezone.override(UTC):
            return super().dispatch(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[M]:
        # Described, it is asked for its rows without a request.
        rows = super().get_queryset()
        return rows.none() if getattr(self, "swagger_fake_view", False) else rows


class ReadOnlyRows(mixins.ListModelMixin, mixins.RetrieveModelMixin, Rows[M]):
    pass
