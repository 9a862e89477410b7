"""Actions of the admin that take something away: they ask first, and for a reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import model_ngettext
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from facho.apps.access.actors import because
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_reason
from facho.web.components.page import render_page

Action = Callable[[Any, HttpRequest, QuerySet[Any]], None]
# What the question keeps of the list: the action and the chosen rows.
_KEPT: Final = ("action", "select_across", ACTION_CHECKBOX_NAME)
_NAMES_SHOWN: Final = 20


def asks_why(action: Action) -> Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    """Ask for a reason, and act when it comes back with one. The reason is recorded with what was done.

    A method `effect_of_ACTION` says what the action does to these rows.
    """

    @wraps(action)
    def ask_or_act(admin: Any, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
        given = request.POST.get("reason", "").strip()
        if not given:
            return _ask(admin, action, request, chosen)
        try:
            with because(check_reason(given)):
                action(admin, request, chosen)
        except CommandError as refused:
            messages.error(request, refused.message)
        return None

    return ask_or_act


def _ask(admin: Any, action: Action, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse:
    name: str = action.__name__
    label = str(getattr(action, "short_description", name))
    count = chosen.count()
    what = {"action": label.removesuffix("…"), "count": count, "rows": model_ngettext(admin.opts, count)}
    title = gettext("%(action)s: %(count)d %(rows)s") % what
    names = [str(row) for row in chosen[:_NAMES_SHOWN]]
    effect: Callable[[QuerySet[Any]], Any] | None = getattr(admin, f"effect_of_{name}", None)
    question = {"title": title, "effect": "" if effect is None else effect(chosen), "button": what["action"]}
    return render_page(
        request,
        "components/confirm.html",
        title,
        question=question,
        names=names,
        more=count - len(names),
        hidden=[(field, value) for field in _KEPT for value in request.POST.getlist(field)],
        cancel=request.get_full_path(),
        missing="reason" in request.POST,
    )
