"""The admin's frame around a page of our own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def page_context(request: HttpRequest, title: str) -> dict[str, Any]:
    return {
        **admin.site.each_context(request),
        "title": title,
        "has_permission": True,
    }


def show(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    """A whole page; its template extends `facho/page.html`."""
    return render(request, template, {**page_context(request, title), **context})
