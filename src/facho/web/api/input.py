"""Input of the API: checked field by field, so that all errors are reported at once.

Commands check the rest, and their errors are reported at the field of the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from facho.apps.reason_words import reason_words
from facho.core.interval import BadInterval, format_interval, parse_interval
from facho.engine.commands.errors import CommandError
from facho.web.api.json_parser import MOST_ITEMS

# The largest number of rows in one request.
MOST_NAMED = MOST_ITEMS


class Given(serializers.Serializer[Any]):
    """Input that refuses unknown fields, which would otherwise be ignored silently."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        errors: dict[str, Any] = {str(name): [_("unknown field")] for name in unknown}
        try:
            given = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**errors, **_errors_by_field(error.detail)}) from None
        if errors:
            raise ValidationError(errors)
        return given


def _errors_by_field(detail: Any) -> dict[str, Any]:
    return detail if isinstance(detail, dict) else {"non_field_errors": detail}


@extend_schema_field({"type": "string", "example": "15 min"})
class Interval(serializers.Field[Any, Any, str, Any]):
    """An interval as text: `30s`, `5m`, `1h` or `15 min`. Shown, it is made from seconds."""

    def to_internal_value(self, data: Any) -> timedelta:
        try:
            return parse_interval(data if isinstance(data, str) else repr(data))
        except BadInterval as error:
            raise ValidationError(reason_words(error.reason)) from None

    def to_representation(self, value: Any) -> str:
        return format_interval(timedelta(seconds=value))


@extend_schema_field({"type": "array", "items": {"type": "integer"}})
class RowNames(serializers.ListField):
    """Ids of rows, read as the names that commands take, in one query."""

    child = serializers.IntegerField(min_value=1, max_value=2**63 - 1)

    def __init__(self, model: type[Model], **kwargs: Any) -> None:
        super().__init__(**{"max_length": MOST_NAMED, **kwargs})
        self.model = model

    def to_internal_value(self, data: Any) -> Any:
        ids: Sequence[int] = super().to_internal_value(data)
        names = dict(self.model._default_manager.filter(id__in=ids).values_list("id", "name"))
        if missing := [each for each in ids if each not in names]:
            raise ValidationError(_("there is no object with the id %(id)d") % {"id": missing[0]})
        return [names[each] for each in ids]


@contextmanager
def errors_at(names: Mapping[str, str]) -> Iterator[None]:
    """Report errors of commands at the fields of the API; `names` maps fields of commands to them."""
    try:
        yield
    except CommandError as refused:
        raise CommandError(names.get(refused.field, refused.field), refused.message) from None


def read_input(serializer: type[Given], request: Request, *, partial: bool = False) -> dict[str, Any]:
    found = serializer(data=request.data, partial=partial)
    found.is_valid(raise_exception=True)
    given: dict[str, Any] = found.validated_data
    return given
