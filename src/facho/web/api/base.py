"""Base classes of the views of the API, and answers that several views give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.viewsets import GenericViewSet

from facho.apps.extras import read_extras
from facho.apps.reason_words import reason_words
from facho.core.reasons import Reason, with_words
from facho.engine.coordinate.changes import ReplanResult

M = TypeVar("M", bound=Model)


class Rows(GenericViewSet[M]):
    """The rows of one model. They are changed by commands, never by the save of a serializer."""

    # The model as roles name it, and the right that each extra action needs.
    about: ClassVar[str]
    rights: ClassVar[Mapping[str, str]] = {}
    # Columns that `?ordering=` may name; the first is the default.
    orderings: ClassVar[Sequence[str]] = ("id",)
    # Any other path is answered with 404 before the database is asked.
    lookup_value_regex = "[0-9]{1,18}"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Times are shown in UTC whatever the time zone of the operator, and read so without a zone.
        with timezone.override(UTC):
            return super().dispatch(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[M]:
        # drf-spectacular asks for the rows without a request.
        rows = super().get_queryset()
        return rows.none() if getattr(self, "swagger_fake_view", False) else rows

    def show_row(self, pk: int) -> Response:
        """Answer with a row as it is after a command has changed it."""
        return Response(self.get_serializer(self.get_queryset().get(pk=pk)).data)

    def show_created(self, request: Request, pk: int) -> Response:
        url = reverse(f"api:{self.basename}-detail", args=[pk], request=request)
        shown = self.show_row(pk).data
        return Response(shown, status=status.HTTP_201_CREATED, headers={"Location": url})


class ReadOnlyRows(mixins.ListModelMixin, mixins.RetrieveModelMixin, Rows[M]):
    pass


def no_content() -> Response:
    return Response(status=status.HTTP_204_NO_CONTENT)


class ReplannedSerializer(serializers.Serializer[Any]):
    """The effect on the schedule."""

    nodes = serializers.IntegerField(help_text="nodes that got a new first slot")
    first_run_at = serializers.DateTimeField(allow_null=True, help_text="the earliest of these slots")
    aborted = serializers.IntegerField(help_text="executions that were aborted")


def show_replanned(done: ReplanResult) -> Response:
    first = min(done.first_runs.values(), default=None)
    shown = {"nodes": len(done.first_runs), "first_run_at": first, "aborted": done.aborted}
    return Response(ReplannedSerializer(shown).data)


# Without a docstring, which would describe all of them in the OpenAPI description.
class OltRowSerializer(serializers.ModelSerializer[M]):
    # The queryset annotates it: reading the whole OLT with each row would cost more.
    olt_name = serializers.CharField(read_only=True)


class ExtraValues(serializers.DictField):
    """The facts of a row without a field of their own."""

    def __init__(self) -> None:
        super().__init__(
            source="extras", read_only=True, help_text="facts without a field of their own, by name"
        )

    def to_representation(self, value: Any) -> dict[str, Any]:
        return read_extras(value)


def reason_writer(request: HttpRequest | Request | None) -> Callable[[Reason], str]:
    """Return what puts reasons into words: in the language that is asked for, for a reader.

    A program that asks for no language gets English, whatever the operator's language is.
    """
    return reason_words if request is not None and "Accept-Language" in request.headers else str


class ReasonText(serializers.CharField):
    """A column with a reason."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, read_only=True)

    def to_representation(self, value: Any) -> str:
        return reason_writer(self.context.get("request"))(value)


class ReasonsInWords(serializers.BaseSerializer[Any]):
    """A serializer of rows with reasons in their JSON."""

    def to_representation(self, instance: Any) -> Any:
        return with_words(super().to_representation(instance), reason_writer(self.context.get("request")))
