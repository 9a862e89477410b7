"""The page on which people choose their time zone and language."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminSelectWidget

from facho.apps.access.selectors import time_zone_of
from facho.config import current
from facho.core.roles import Role
from facho.core.time_zones import offset_text, zone_named, zone_names, zone_text
from facho.engine.commands.users import set_time_zone
from facho.web.access.pages import for_role
from facho.web.components.page import render_page


class PreferencesForm(forms.Form):
    time_zone = forms.ChoiceField(
        label=capfirst(gettext_lazy("time zone")), required=False, widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["time_zone"]
        field.choices = zone_choices(now)


def zone_choices(now: datetime) -> list[tuple[str, Any]]:
    """Return the operator's zone first, then the others by continent."""
    default = _("the operator's: %(zone)s") % {"zone": zone_text(now, current().time_zone)}
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in zone_names():
        continent, _slash, place = name.partition("/")
        zone = zone_named(name)
        assert zone is not None
        shown = f"{(place or name).replace('_', ' ')} ({offset_text(now, zone)})" if place else name
        groups.setdefault(continent, []).append((name, shown))
    return [("", default), *groups.items()]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_role(Role.VIEWER)
def preferences(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    form = PreferencesForm(request.POST or None, now=now, initial={"time_zone": time_zone_of(request.user)})
    if request.method == "POST" and form.is_valid():
        user = User.objects.get(username=request.user.get_username())
        set_time_zone(user, form.cleaned_data["time_zone"])
        messages.success(request, _("Your preferences were saved."))
        return redirect("preferences")
    return render_page(request, "preferences/page.html", _("Preferences"), form=form, now=now)
