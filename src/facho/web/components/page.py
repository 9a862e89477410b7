"""The frame around a page, and who may open it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from facho.core.roles import lowest_role
from facho.web.access.pages import View, for_role, part_for_role


def page_context(request: HttpRequest, title: str) -> dict[str, Any]:
    return {
        **admin.site.each_context(request),
        "title": title,
        "has_permission": True,
    }


def render_page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    """Render a whole page; its template extends `components/page.html`."""
    return render(request, template, {**page_context(request, title), **context})


def page_for(right: str, model: str) -> Callable[[View], View]:
    """Allow a page to roles with a right: `page_for("view", "hosts.olt")`. Others are sent to the login."""
    return lambda view: require_safe(never_cache(for_role(lowest_role(right, model))(view)))


def part_for(right: str, model: str) -> Callable[[View], View]:
    """Allow a part of a page, which htmx asks for, to roles with a right."""
    return lambda view: require_safe(never_cache(part_for_role(lowest_role(right, model))(view)))


def confirmed_for(right: str, model: str) -> Callable[[View], View]:
    """Allow an action that asks before it acts to roles with a right: a GET shows the question."""
    return lambda view: require_http_methods(["GET", "HEAD", "POST"])(
        never_cache(for_role(lowest_role(right, model))(view))
    )


def action_for(right: str, model: str) -> Callable[[View], View]:
    """Allow a POST to roles with a right."""
    return lambda view: require_POST(for_role(lowest_role(right, model))(view))
