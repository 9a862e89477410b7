"""Who may open a page or press a button: asked of the one table of rights, before anything is read."""

from __future__ import annotations

from collections.abc import Callable

from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from facho.core.roles import lowest_role
from facho.web.access.pages import View, for_role, part_for_role


def page_for(right: str, model: str) -> Callable[[View], View]:
    """`page_for("view", "hosts.olt")`: whoever is not logged in is asked to."""
    return lambda view: require_safe(never_cache(for_role(lowest_role(right, model))(view)))


def part_for(right: str, model: str) -> Callable[[View], View]:
    return lambda view: require_safe(never_cache(part_for_role(lowest_role(right, model))(view)))


def act_for(right: str, model: str) -> Callable[[View], View]:
    return lambda view: require_POST(for_role(lowest_role(right, model))(view))
