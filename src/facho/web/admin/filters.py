"""Filters of the lists of the admin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy
from unfold.contrib.filters.admin import DropdownFilter

from facho.config import current
from facho.core.quota import hour_of


def list_filter(
    parameter: str,
    title_: Any,
    choices: Callable[[type[Model]], Iterable[tuple[str, Any]]],
    narrow: Callable[[QuerySet[Any], str], QuerySet[Any]],
    base: type[admin.SimpleListFilter] = admin.SimpleListFilter,
) -> type[admin.SimpleListFilter]:
    """Return a filter that `narrow` applies with the value of one of the choices, which are of a model."""

    class ListFilter(base):  # type: ignore[valid-type, misc]  # either of two
        title = title_
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
            return [(str(value), str(name)) for value, name in choices(model_admin.model)]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
            return narrow(queryset, self.value()) if self.value() else queryset

    return ListFilter


def choice_filter(
    parameter: str, title: Any, choices: Mapping[str, tuple[Any, Callable[[QuerySet[Any]], QuerySet[Any]]]]
) -> type[admin.SimpleListFilter]:
    """Return a filter by choices, each with its name and the rows that it leaves."""

    def narrow(rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return choices[value][1](rows) if value in choices else rows

    return list_filter(
        parameter, title, lambda _model: [(value, name) for value, (name, _narrow) in choices.items()], narrow
    )


def word_filter(column: str, title: Any, words: Mapping[str, Any]) -> type[admin.SimpleListFilter]:
    """Return a filter by a column of codes, which are shown by the given names."""
    return list_filter(
        column, title, lambda _model: words.items(), lambda rows, value: rows.filter(**{column: value})
    )


def values_filter(column: str, title: Any) -> type[admin.SimpleListFilter]:
    """Return a drop-down filter by the values of a text column."""

    def values(model: type[Model]) -> list[tuple[str, str]]:
        rows = model._default_manager.exclude(**{column: ""}).order_by(column)
        return [(each, each) for each in rows.values_list(column, flat=True).distinct()]

    return list_filter(
        column, title, values, lambda rows, value: rows.filter(**{column: value}), DropdownFilter
    )


def recent_filter(
    column: str, title: Any, *, by_the_clock: bool = False, of_slots: bool = False, indexed: str = ""
) -> type[admin.SimpleListFilter]:
    """Return a filter by age. With `by_the_clock` the first choices are the clock hours.

    An hour excludes its start and includes its end for a column `of_slots`, as quotas count them.
    `indexed` is a column with an index that is never earlier than `column`, which has none.
    """

    def since(rows: QuerySet[Any], start: datetime) -> QuerySet[Any]:
        found = rows.filter(**{f"{column}__gte": start})
        return found.filter(**{f"{indexed}__gte": start}) if indexed else found

    def in_hour_of(rows: QuerySet[Any], at: datetime) -> QuerySet[Any]:
        hour = hour_of(at, current().time_zone)
        after, until = ("gt", "lte") if of_slots else ("gte", "lt")
        inside = {f"{column}__{after}": hour.start, f"{column}__{until}": hour.end}
        return since(rows, hour.start).filter(**inside)

    def in_this_hour(rows: QuerySet[Any]) -> QuerySet[Any]:
        return in_hour_of(rows, timezone.now())

    def in_previous_hour(rows: QuerySet[Any]) -> QuerySet[Any]:
        return in_hour_of(rows, timezone.now() - timedelta(hours=1))

    def within(ago: timedelta) -> Callable[[QuerySet[Any]], QuerySet[Any]]:
        return lambda rows: since(rows, timezone.now() - ago)

    previous_hour = ("previous", (gettext_lazy("previous hour"), in_previous_hour))
    this_hour = ("hour", (gettext_lazy("this hour"), in_this_hour))
    last_hour = ("1h", (gettext_lazy("last hour"), within(timedelta(hours=1))))
    days = {
        "24h": (gettext_lazy("last 24 hours"), within(timedelta(hours=24))),
        "7d": (gettext_lazy("last 7 days"), within(timedelta(days=7))),
    }
    hours = [this_hour, previous_hour] if by_the_clock else [last_hour]
    return choice_filter(column, title, dict([*hours, *days.items()]))


def suspended_filter(
    suspended: Q, prepare: Callable[[QuerySet[Any]], QuerySet[Any]] = lambda rows: rows
) -> type[admin.SimpleListFilter]:
    """Return a filter by whether rows are suspended; `prepare` adds what the condition needs."""
    return choice_filter(
        "suspended",
        gettext_lazy("suspended"),
        {
            "yes": (gettext_lazy("yes"), lambda rows: prepare(rows).filter(suspended)),
            "no": (gettext_lazy("no"), lambda rows: prepare(rows).exclude(suspended)),
        },
    )
