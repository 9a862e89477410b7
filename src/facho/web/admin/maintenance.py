from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from facho.apps.db.database import database_now
from facho.apps.localized_times import date, date_and_minute, minute_clock
from facho.apps.maintenance.models import MaintenanceWindow
from facho.config import current
from facho.core.interval import interval_words
from facho.core.maintenance import WEEKDAYS, Preset, Span, now_and_next, preset_span
from facho.engine.commands import maintenance
from facho.engine.commands.errors import CommandError
from facho.web.admin.base import RemovableAdmin, SwitchableAdmin, show_outcomes
from facho.web.admin.columns import display
from facho.web.admin.filters import choice_filter, values_filter
from facho.web.admin.job_forms import IntervalField

if TYPE_CHECKING:
    _WindowForm = ModelForm[MaintenanceWindow]
else:
    _WindowForm = ModelForm

_DAYS: Final = dict(
    zip(
        WEEKDAYS,
        (
            _("Monday"),
            _("Tuesday"),
            _("Wednesday"),
            _("Thursday"),
            _("Friday"),
            _("Saturday"),
            _("Sunday"),
        ),
        strict=True,
    )
)


_PRESETS: Final = {
    Preset.TONIGHT: _("tonight, 00 to 06"),
    Preset.NEXT_2H: _("next 2 hours"),
    Preset.SUNDAY: _("this Sunday, 00 to 06"),
}


def _preset_choices() -> list[tuple[str, str]]:
    now, zone = timezone.now(), current().time_zone
    named = [(each, _format_span(preset_span(each, now, zone))) for each in Preset]
    return [("", gettext("other times")), *((each.value, f"{_PRESETS[each]}: {at}") for each, at in named)]


class WindowForm(_WindowForm):
    repeats = forms.ChoiceField(
        label=capfirst(_("repetition")),
        choices=(("once", _("Once")), ("weekly", _("Every week"))),
        required=False,
        widget=UnfoldAdminSelectWidget,
    )
    preset = forms.ChoiceField(
        label=capfirst(_("preset")), choices=_preset_choices, required=False, widget=UnfoldAdminSelectWidget
    )
    weekdays = forms.MultipleChoiceField(
        label=capfirst(_("weekdays")),
        choices=list(_DAYS.items()),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    duration = IntervalField(
        label=capfirst(_("duration")),
        required=False,
        help_text=_("for example 2 h or 90 min"),
    )

    class Meta:
        model = MaintenanceWindow
        fields = ("name", "enabled", "olt", "site", "starts_at", "ends_at", "start_time")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        window = kwargs.get("instance")
        written: dict[str, Any] = {}
        if window is not None and window.weekdays:
            lasts = timedelta(seconds=window.duration_s)
            written = {
                "repeats": "weekly",
                "weekdays": window.weekdays.split(","),
                "duration": interval_words(lasts),
            }
        super().__init__(*args, **{**kwargs, "initial": {**written, **(kwargs.get("initial") or {})}})

    def _post_clean(self) -> None:
        """Skip the checks of the model: the command checks times and overlaps."""


def _under_way(windows: QuerySet[MaintenanceWindow]) -> QuerySet[MaintenanceWindow]:
    now = timezone.now()
    may = windows.filter(~Q(weekdays="") | Q(starts_at__lte=now, ends_at__gt=now), enabled=True)
    ids = [each.id for each in may if now_and_next(each.plan, now, current().time_zone)[0]]
    return windows.filter(id__in=ids)


def _upcoming(windows: QuerySet[MaintenanceWindow]) -> QuerySet[MaintenanceWindow]:
    return windows.filter(~Q(weekdays="") | Q(starts_at__gt=timezone.now()), enabled=True)


_WHEN_FILTER = choice_filter(
    "when",
    _("when"),
    {
        "now": (_("now"), _under_way),
        "ahead": (_("upcoming"), _upcoming),
        "over": (_("ended"), lambda windows: windows.filter(ends_at__lte=timezone.now())),
    },
)


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(SwitchableAdmin[MaintenanceWindow], RemovableAdmin[MaintenanceWindow]):
    right_to_enable = "change"
    form = WindowForm
    fields_of_commands = {"start": "start_time"}  # noqa: RUF012  as the base has it
    list_display = ("name", "olt", "site", "planned", "state", "following", "enabled")
    list_select_related = ("olt",)
    list_filter = (
        _WHEN_FILTER,
        "enabled",
        ("olt", AutocompleteSelectFilter),
        values_filter("site", _("site")),
    )
    search_fields = ("name", "site", "olt__name")
    autocomplete_fields = ("olt",)
    actions = ("end", "enable", "disable", "remove")
    fieldsets = (
        (None, {"fields": ("name", "enabled", ("olt", "site"), "repeats")}),
        (_("Once"), {"fields": ("preset", "starts_at", "ends_at")}),
        (_("Every week"), {"fields": ("weekdays", ("start_time", "duration"))}),
    )

    class Media:
        js = ("facho/maintenance_form.js",)
        css = {"all": ("facho/maintenance_form.css",)}  # noqa: RUF012  as Django has it

    def get_queryset(self, request: HttpRequest) -> QuerySet[MaintenanceWindow]:
        return super().get_queryset(request).defer("olt__credentials")

    def save_model(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: MaintenanceWindow,
        form: Any,
        change: bool,
    ) -> None:
        wanted, now = _window_from_form(form.cleaned_data), database_now()
        try:
            saved = (
                maintenance.change_window(obj.pk, wanted, now)
                if change
                else maintenance.add_window(wanted, now)
            )
        except CommandError as refused:
            raise CommandError(_shown_field(refused.field, form.cleaned_data), refused.message) from None
        obj.__dict__.update(saved.__dict__)

    def response_post_save_add(self, request: HttpRequest, obj: MaintenanceWindow) -> HttpResponseRedirect:
        return _back(request) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: MaintenanceWindow) -> HttpResponseRedirect:
        return _back(request) or super().response_post_save_change(request, obj)

    def set_enabled(self, rows: list[MaintenanceWindow], *, enabled: bool) -> None:
        maintenance.switch_windows([window.name for window in rows], database_now(), enabled=enabled)

    def remove_rows(self, rows: list[MaintenanceWindow]) -> None:
        """Remove windows; those under way end."""
        maintenance.remove_windows([window.name for window in rows], database_now())

    @display(description=_("planned"))
    def planned(self, window: MaintenanceWindow) -> str:
        if window.starts_at is not None and window.ends_at is not None:
            return _format_span((window.starts_at, window.ends_at))
        days = ", ".join(str(_DAYS[day]) for day in window.weekdays.split(","))
        lasts = interval_words(timedelta(seconds=window.duration_s or 0))
        said = {"days": days, "start": f"{window.start_time:%H:%M}", "lasts": lasts}
        return gettext("%(days)s at %(start)s, for %(lasts)s") % said

    @display(
        description=_("state"),
        label={"now": "warning", "next": "info", "over": "default", "off": "default"},
    )
    def state(self, window: MaintenanceWindow) -> tuple[str, Any]:
        lasting, coming = now_and_next(window.plan, timezone.now(), current().time_zone)
        if not window.enabled:
            return "off", pgettext("window", "disabled")
        if lasting:
            return "now", _("now")
        return ("next", _("upcoming")) if coming else ("over", _("ended"))

    @display(description=_("next"))
    def following(self, window: MaintenanceWindow) -> str:
        _now, coming = now_and_next(window.plan, timezone.now(), current().time_zone)
        return _format_span(coming) if coming and window.enabled else ""

    @admin.action(description=_("End now"), permissions=["change"])
    def end(self, request: HttpRequest, chosen: QuerySet[MaintenanceWindow]) -> None:
        show_outcomes(request, chosen.values_list("name", flat=True), _end_window)


def _back(request: HttpRequest) -> HttpResponseRedirect | None:
    """Return to the page that the form was opened from, if it is one of this site."""
    page, host = request.GET.get("next", ""), request.get_host()
    if url_has_allowed_host_and_scheme(page, {host}, require_https=request.is_secure()):
        return HttpResponseRedirect(page)
    return None


# What the form hides does not count, whatever was entered before it was hidden.
_HIDDEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "once": {"weekdays": [], "start_time": None, "duration": None},
    "weekly": {"preset": "", "starts_at": None, "ends_at": None},
    "preset": {"starts_at": None, "ends_at": None},
}


def _window_from_form(given: dict[str, Any]) -> maintenance.Window:
    given = {**given, **_HIDDEN.get(given["repeats"], {})}
    if given["preset"]:
        given.update(_HIDDEN["preset"])
    olt = given["olt"]
    return maintenance.Window(
        given["name"],
        olt=olt.name if olt else "",
        site=given["site"] or "",
        starts_at=given["starts_at"],
        ends_at=given["ends_at"],
        weekdays=given["weekdays"],
        start=given["start_time"],
        duration=given["duration"],
        preset=given["preset"],
        enabled=given["enabled"],
    )


def _shown_field(field: str, given: Mapping[str, Any]) -> str:
    """Return where a person sees an error: that of a field which the form hides would be hidden too."""
    if given["repeats"] == "weekly" and field in _HIDDEN["weekly"]:
        return "weekdays"
    return "preset" if given["preset"] and field in _HIDDEN["preset"] else field


def _format_span(span: Span) -> str:
    start, end = span
    until = minute_clock(end) if date(start) == date(end) else date_and_minute(end)
    return gettext("%(since)s to %(until)s") % {"since": date_and_minute(start), "until": until}


def _end_window(name: str) -> str:
    maintenance.end_window(name, database_now())
    return gettext("%(name)s has ended.") % {"name": name}
