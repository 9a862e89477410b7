"""Pages without what stands beside every one of them, which is most of the work of making a page."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.http import HttpRequest


def leave_out_what_is_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page of each person is whole; later ones have no menu, and the same words at the edges."""
    whole, kept = admin.site.each_context, dict[Any, dict[str, Any]]()

    def each_context(request: HttpRequest) -> dict[str, Any]:
        if request.user.pk in kept:
            return {**kept[request.user.pk], "sidebar_navigation": []}
        kept[request.user.pk] = whole(request)
        return {**kept[request.user.pk]}

    monkeypatch.setattr(admin.site, "each_context", each_context)
