"""Keyset pagination: each page begins after the last row of the page before it, at the same cost.

There is no count and no page number. Rows that are added or removed meanwhile move no
other row to another page.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ValidationError
from django.db.models import F, Model, Q, QuerySet
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from facho.web.api.filters import allowed_orderings, filter_names, refuse_unknown

if TYPE_CHECKING:
    from rest_framework.views import APIView

DEFAULT_PAGE_SIZE: Final = 100
LARGEST_PAGE_SIZE: Final = 1000
_PARAMETERS: Final = ("cursor", "page_size", "ordering")


@dataclass(frozen=True, slots=True)
class Order:
    """An order by a column and then by id. Rows without a value come last."""

    column: str
    backwards: bool = False

    @classmethod
    def read(cls, text: str) -> Order:
        return cls(text.removeprefix("-"), text.startswith("-"))

    def sort(self, rows: QuerySet[Any], *, reverse: bool = False) -> QuerySet[Any]:
        down = self.backwards != reverse
        by = F(self.column)
        nulls: dict[str, Any] = {"nulls_first" if reverse else "nulls_last": True}
        if not _is_nullable(rows.model, self.column):
            nulls = {}
        first = by.desc(**nulls) if down else by.asc(**nulls)
        return rows.order_by(first, "-id" if down else "id")

    def beyond(self, value: Any, last_id: int, *, reverse: bool = False) -> Q:
        """Return the condition for rows after the row with this value and id; before it, in reverse."""
        down = self.backwards != reverse
        further = Q(id__lt=last_id) if down else Q(id__gt=last_id)
        if self.column == "id":
            return further
        none = Q(**{f"{self.column}__isnull": True})
        if value is None:
            return (none & further) | (~none if reverse else Q(pk__in=[]))
        strictly, also = ("lt", "lte") if down else ("gt", "gte")
        further |= Q(**{f"{self.column}__{strictly}": value})
        # The condition that can use an index.
        found = Q(**{f"{self.column}__{also}": value}) & further
        return found if reverse else found | none


def _is_nullable(model: type[Model], column: str) -> bool:
    field: Any = None
    for name in column.split("__"):
        field = model._meta.get_field(name)
        if field.null:
            return True
        model = field.related_model or model
    return False


class KeysetPagination(BasePagination):
    """Pagination of a view whose `orderings` name the columns to order by; the first is the default."""

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        self.request = request
        refuse_unknown(request, [*_PARAMETERS, *filter_names(view, queryset)])
        self.order = self._order(request, allowed_orderings(view, request.query_params))
        self.size = self._size(request)
        self.reverse, place = self._place(request)
        rows = self.order.sort(queryset, reverse=self.reverse)
        if place is not None:
            rows = _rows_beyond(rows, self.order, place, reverse=self.reverse)
        found = list(rows[: self.size + 1])
        more = len(found) > self.size
        self.page = found[: self.size]
        if self.reverse:
            self.page.reverse()
        self.has_next = more if not self.reverse else True
        self.has_previous = more if self.reverse else place is not None
        return self.page

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "next": self._link(self.page[-1:], "n") if self.has_next else None,
                "previous": self._link(self.page[:1], "p") if self.has_previous else None,
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": "string", "format": "uri", "nullable": True}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        columns = [column.removeprefix("-") for column in view.orderings]
        choices = [*columns, *(f"-{column}" for column in columns)]
        return [
            _parameter("cursor", "start of a page, from the links `next` and `previous`", {"type": "string"}),
            _parameter(
                "page_size",
                "rows of a page",
                {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
            ),
            _parameter(
                "ordering", "a column; with `-` in descending order", {"type": "string", "enum": choices}
            ),
        ]

    def _order(self, request: Request, allowed: Sequence[str]) -> Order:
        text = request.query_params.get("ordering", allowed[0])
        columns = [column.removeprefix("-") for column in allowed]
        if text.removeprefix("-") not in columns:
            raise _field_error("ordering", _("it must be one of %s") % ", ".join(columns))
        return Order.read(text)

    def _size(self, request: Request) -> int:
        text = request.query_params.get("page_size", str(DEFAULT_PAGE_SIZE))
        if not (
            text.isdecimal() and text.isascii() and len(text) < 6 and 1 <= int(text) <= LARGEST_PAGE_SIZE
        ):
            raise _field_error("page_size", _("it must be a number from 1 to %d") % LARGEST_PAGE_SIZE)
        return int(text)

    def _place(self, request: Request) -> tuple[bool, tuple[Any, int] | None]:
        text = request.query_params.get("cursor")
        if text is None:
            return False, None
        try:
            way, column, value, row = json.loads(base64.urlsafe_b64decode(text))
        except (ValueError, binascii.Error, TypeError, RecursionError):
            raise _bad_cursor() from None
        if (
            way not in ("n", "p")
            or column != self.order.column
            or type(row) is not int
            or _has_bad_characters(value)
        ):
            raise _bad_cursor()
        return way == "p", (value, row)

    def _link(self, edge: Sequence[Any], way: str) -> str | None:
        if not edge:
            return None
        value: Any = edge[0]
        for name in self.order.column.split("__"):
            value = getattr(value, name)
        place = json.dumps([way, self.order.column, value, edge[0].pk], default=str)
        cursor = base64.urlsafe_b64encode(place.encode()).decode()
        return replace_query_param(self.request.build_absolute_uri(), "cursor", cursor)


def _rows_beyond(
    rows: QuerySet[Any], order: Order, place: tuple[Any, int], *, reverse: bool
) -> QuerySet[Any]:
    try:
        return rows.filter(order.beyond(*place, reverse=reverse))
    except (ValueError, TypeError, OverflowError, ValidationError):
        raise _bad_cursor() from None


def _has_bad_characters(value: Any) -> bool:
    """Return whether a text has characters that databases refuse."""
    return isinstance(value, str) and any(
        letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value
    )


def _parameter(name: str, what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": what, "schema": schema}


def _field_error(field: str, message: str) -> exceptions.ValidationError:
    return exceptions.ValidationError({field: [message]})


def _bad_cursor() -> exceptions.ValidationError:
    return _field_error("cursor", _("it is not a cursor of this list"))
