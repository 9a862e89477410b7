"""How lists are narrowed. What makes no sense is refused at its field, and never taken for nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import FilterSet
from django_filters import filters as kinds
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.settings import api_settings

# Of a number that a database keeps.
_LARGEST: Final = 2**63 - 1
# A longer time of a long list is too much to be looked through.
NARROW_DAYS: Final = 31
# Beyond these, a time zone would lead out of what a time can be.
_SANE: Final = (
    MinValueValidator(datetime(1970, 1, 2, tzinfo=UTC)),
    MaxValueValidator(datetime(9998, 1, 1, tzinfo=UTC)),
)


@extend_schema_field(OpenApiTypes.INT)
class Number(kinds.NumberFilter):
    """A whole one. Of a row that there is not, nothing is found."""

    field_class = forms.IntegerField  # type: ignore[assignment]  # any will do

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, min_value=-_LARGEST, max_value=_LARGEST, **kwargs)


class _TrueOrFalseField(forms.Field):
    def to_python(self, value: Any) -> bool | None:
        if value in self.empty_values:
            return None
        if value not in ("true", "false"):
            raise ValidationError(_("it must be true or false"))
        return bool(value == "true")


class TrueOrFalse(kinds.BooleanFilter):
    field_class = _TrueOrFalseField  # type: ignore[assignment]  # any will do


class Moment(kinds.IsoDateTimeFilter):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, validators=_SANE, **kwargs)


class OneOf(kinds.MultipleChoiceFilter):
    """Given more than once, any of them."""

    def __init__(self, choices: Iterable[str], *args: Any, **kwargs: Any) -> None:
        named = [(choice, choice) for choice in choices]
        # No row comes twice by a column of its own, and to look for that would be dear.
        super().__init__(*args, choices=named, distinct=False, **kwargs)


class Filters(FilterSet):
    """With `by_time`, also `from` and `until` by that column: the one belongs to it, the other does not."""

    by_time: ClassVar[str] = ""
    # What there is no index for, in a long list, with what narrows the list enough to look through the rest.
    only_with: ClassVar[Mapping[str, Sequence[str]]] = {}
    FILTER_DEFAULTS: ClassVar[dict[Any, Any]] = {
        **FilterSet.FILTER_DEFAULTS,
        models.BooleanField: {"filter_class": TrueOrFalse},
        models.ForeignKey: {"filter_class": Number},
        models.PositiveIntegerField: {"filter_class": Number},
        models.IntegerField: {"filter_class": Number},
    }

    @classmethod
    def times(cls) -> tuple[str, Sequence[str]]:
        """Return the column of its time, and the names of the filters by it."""
        return cls.by_time, ("from", "until")

    @classmethod
    def get_filters(cls) -> Any:
        found = super().get_filters()
        if cls.by_time:
            says = {"help_text": f"by `{cls.by_time}`, in ISO 8601"}
            found["from"] = Moment(field_name=cls.by_time, lookup_expr="gte", **says)
            found["until"] = Moment(field_name=cls.by_time, lookup_expr="lt", **says)
        return found

    def filter_queryset(self, queryset: Any) -> Any:
        narrowing = self._narrowing(timezone.now())
        errors = {
            name: [_("the list is too long to filter by this alone: also give %s") % self._either(others)]
            for name, others in self.only_with.items()
            if _is_given(self.form.cleaned_data[name]) and narrowing.isdisjoint(others)
        }
        if errors:
            raise exceptions.ValidationError(errors)
        return super().filter_queryset(queryset)

    def _narrowing(self, now: datetime) -> set[str]:
        """Return the filters that were given; the beginning of a time only if it does not last too long."""
        given = {name: value for name, value in self.form.cleaned_data.items() if _is_given(value)}
        begin, end = self.times()[1]
        if begin in given and given.get(end, now) - given[begin] > timedelta(days=NARROW_DAYS):
            del given[begin]
        return set(given)

    def _either(self, names: Sequence[str]) -> str:
        begin, end = self.times()[1]
        within = {"from": begin, "until": end, "days": NARROW_DAYS}
        said = [
            _("%(from)s (at most %(days)d days before %(until)s or now)") % within if name == begin else name
            for name in names
        ]
        return _(" or ").join(filter(None, (", ".join(said[:-1]), said[-1])))


def _is_given(value: Any) -> bool:
    return value not in (None, "") and value != []


class OfOlt(Filters):
    """For all that belongs to an OLT."""

    olt = Number(field_name="olt")
    site = kinds.CharFilter(field_name="olt__site", help_text="of the OLT")


def filter_names(view: Any, rows: models.QuerySet[Any]) -> list[str]:
    """What the rows of a view can be narrowed by."""
    filters: Any = DjangoFilterBackend().get_filterset_class(view, rows)
    return [] if filters is None else list(filters.base_filters)


def allowed_orderings(view: Any, given: Collection[str]) -> Sequence[str]:
    """What the rows may be ordered by. Between two times, only by the time: by anything else, all rows would
    be looked through for them.
    """
    allowed: Sequence[str] = view.orderings
    filters: Any = getattr(view, "filterset_class", None)
    if not (isinstance(filters, type) and issubclass(filters, Filters)):
        return allowed
    column, names = filters.times()
    if not column or not any(name in given for name in names):
        return allowed
    return [each for each in allowed if each.removeprefix("-") == column] or [f"-{column}"]


def refuse_unknown(request: Request, known: Iterable[str]) -> None:
    """A name that was misspelt would narrow nothing, and all rows would be taken for those asked for."""
    names = sorted({*known})
    unknown = sorted({*request.query_params} - {*names, api_settings.URL_FORMAT_OVERRIDE})
    if unknown:
        says = _("unknown parameter; known ones: %s") % ", ".join(names)
        raise exceptions.ValidationError({name: [says] for name in unknown})
