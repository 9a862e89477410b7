"""A list of the admin as a file for a spreadsheet."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.contrib import admin
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.engine.upkeep.exports import find_export

# Spreadsheets take a file for another alphabet that does not begin with this.
_MARK: Final = "\ufeff"


@admin.action(description=_("Export as CSV"), permissions=["view"])
def export_csv(_admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> StreamingHttpResponse:
    name, export = find_export(rows.model)
    note(Action.EXPORT, rows.model, None, name)
    # What is wrong with the list is found out before the answer has begun.
    rest = export.csv(rows)
    pieces = itertools.chain([_MARK + next(rest)], rest)
    # Django reads the whole of an iterator of the other kind before it sends anything.
    body: Any = _awaited(pieces) if isinstance(request, ASGIRequest) else pieces
    answer = StreamingHttpResponse(body, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


async def _awaited(pieces: Iterator[str]) -> AsyncIterator[str]:
    take = sync_to_async(lambda: next(pieces, ""))
    while piece := await take():
        yield piece
