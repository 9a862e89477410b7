"""Answer with rows as CSV, sent while they are read.

Each list of our pages answers with its rows as CSV at its own address, with its own filters and rights:
`?export=csv`.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Case, Model, QuerySet, Value, When
from django.http import HttpRequest, StreamingHttpResponse

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.engine.upkeep.list_exports import find_export

# Without a byte order mark, spreadsheets misread UTF-8.
_BYTE_ORDER_MARK: Final = "\ufeff"


def wants_csv(request: HttpRequest) -> bool:
    return request.GET.get("export") == "csv"


def rows_in_order(model: type[Model], ids: Sequence[int]) -> QuerySet[Any]:
    """Return the rows with these ids, in their order: a list that was chosen row by row."""
    places = [When(pk=each, then=Value(place)) for place, each in enumerate(ids)]
    rows = model._default_manager.filter(pk__in=ids)
    return rows.order_by(Case(*places)) if places else rows.none()


def csv_answer(request: HttpRequest, rows: QuerySet[Any]) -> StreamingHttpResponse:
    """Return the rows, which the caller has narrowed to what the person may see, in their order."""
    name, export = find_export(rows.model)
    return csv_of_lines(request, name, rows.model, export.csv(rows))


def csv_of_lines(
    request: HttpRequest, name: str, model: type[Model], rest: Iterator[str]
) -> StreamingHttpResponse:
    """Return pieces of CSV as a file; the audit log has it as an export of the model."""
    note(Action.EXPORT, model, None, name)
    # Errors of the query must occur before the response has started.
    pieces = itertools.chain([_BYTE_ORDER_MARK + next(rest)], rest)
    # Under ASGI Django would read a synchronous iterator completely before it sends anything.
    body: Any = _async_pieces(pieces) if isinstance(request, ASGIRequest) else pieces
    answer = StreamingHttpResponse(body, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    answer["Cache-Control"] = "no-store"
    return answer


async def _async_pieces(pieces: Iterator[str]) -> AsyncIterator[str]:
    take = sync_to_async(lambda: next(pieces, ""))
    while piece := await take():
        yield piece
