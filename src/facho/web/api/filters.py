"""Filters of lists. A wrong value is refused at its field and never ignored."""

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

from facho.apps.chassis.chassis_facts import facts_among_extras
from facho.apps.discovery.fact_filters import BadCondition, FactCondition

# The largest integer of a database.
LARGEST: Final = 2**63 - 1
# The longest time span that is searched without an index.
NARROW_DAYS: Final = 31
# Beyond these, converting the time zone would overflow.
_TIME_LIMITS: Final = (
    MinValueValidator(datetime(1970, 1, 2, tzinfo=UTC)),
    MaxValueValidator(datetime(9998, 1, 1, tzinfo=UTC)),
)


@extend_schema_field(OpenApiTypes.INT)
class Number(kinds.NumberFilter):
    """A whole number. The id of a row that does not exist finds nothing."""

    field_class = forms.IntegerField  # type: ignore[assignment]  # any will do

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, min_value=-LARGEST, max_value=LARGEST, **kwargs)


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
        super().__init__(*args, validators=_TIME_LIMITS, **kwargs)


class OneOf(kinds.MultipleChoiceFilter):
    """Choices, of which several may be given."""

    def __init__(self, choices: Iterable[str], *args: Any, **kwargs: Any) -> None:
        named = [(str(choice), str(choice)) for choice in choices]
        # A column of the row itself gives no duplicates, and DISTINCT is expensive.
        super().__init__(*args, choices=named, distinct=False, **kwargs)


class Filters(FilterSet):
    """Filters of a list. `by_time` adds `from` (inclusive) and `until` (exclusive) by that column."""

    by_time: ClassVar[str] = ""
    # Filters without an index, and the filters of which one must narrow a long list first.
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
        """Return the time column, and the names of the filters by it."""
        return cls.by_time, ("from", "until")

    @classmethod
    def get_filters(cls) -> Any:
        found = super().get_filters()
        if cls.by_time:
            description = {"help_text": f"by `{cls.by_time}`, in ISO 8601"}
            found["from"] = Moment(field_name=cls.by_time, lookup_expr="gte", **description)
            found["until"] = Moment(field_name=cls.by_time, lookup_expr="lt", **description)
        return found

    def filter_queryset(self, queryset: Any) -> Any:
        narrowing = self._narrowing(timezone.now())
        errors = {
            name: [
                _("the list is too long to filter by this alone: also give %s") % self._alternatives(others)
            ]
            for name, others in self.only_with.items()
            if _is_given(self.form.cleaned_data[name]) and narrowing.isdisjoint(others)
        }
        if errors:
            raise exceptions.ValidationError(errors)
        return super().filter_queryset(queryset)

    def _narrowing(self, now: datetime) -> set[str]:
        """Return the filters that were given; the start of a time span only if it is short enough."""
        given = {name: value for name, value in self.form.cleaned_data.items() if _is_given(value)}
        begin, end = self.times()[1]
        if begin in given and given.get(end, now) - given[begin] > timedelta(days=NARROW_DAYS):
            del given[begin]
        return set(given)

    def _alternatives(self, names: Sequence[str]) -> str:
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
    """Filters of rows that belong to an OLT."""

    olt = Number(field_name="olt")
    site = kinds.CharFilter(field_name="olt__site", help_text="site of the OLT")


class OfOltWithFacts(OfOlt):
    """Filters of what an OLT says of itself, also by facts without a column of their own."""

    other_fact = kinds.CharFilter(
        method="with_fact", help_text="a fact of `facts`, as description=core or speed_mbps>=1000"
    )

    def with_fact(self, rows: Any, name: str, text: str) -> Any:
        try:
            return FactCondition.parse(text, facts_among_extras(rows.model)).narrow(rows)
        except BadCondition as refused:
            raise exceptions.ValidationError({name: [str(refused)]}) from None


def filter_names(view: Any, rows: models.QuerySet[Any]) -> list[str]:
    """Return the names of the filters of a view."""
    filters: Any = DjangoFilterBackend().get_filterset_class(view, rows)
    return [] if filters is None else list(filters.base_filters)


def allowed_orderings(view: Any, given: Collection[str]) -> Sequence[str]:
    """Return the columns that rows may be ordered by.

    In a time span it is the time alone: any other order would read all rows.
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
    """Refuse unknown parameters: a misspelt filter would return all rows."""
    names = sorted({*known})
    unknown = sorted({*request.query_params} - {*names, api_settings.URL_FORMAT_OVERRIDE})
    if unknown:
        description = _("unknown parameter; known ones: %s") % ", ".join(names)
        raise exceptions.ValidationError({name: [description] for name in unknown})
