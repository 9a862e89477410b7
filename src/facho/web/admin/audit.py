"""The audit log."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.utils.html import format_html_join
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import audited_of
from facho.apps.access.models import AuditEntry
from facho.apps.access.selectors import Change, changes_of
from facho.apps.localized_times import date_and_time
from facho.web.admin.base import ReadOnlyAdmin
from facho.web.admin.columns import choice_badge, display
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import list_filter, recent_filter

_COLOURS = {
    Action.ADD: "success",
    Action.CHANGE: "info",
    Action.DELETE: "danger",
    Action.ABORT: "warning",
    Action.LOG_IN_FAILED: "danger",
}
_LONGEST = 160


def _recorded_models(_model: Any) -> list[tuple[str, str]]:
    """Return all models that are recorded, with or without entries."""
    names = (
        (model._meta.label_lower, capfirst(str(model._meta.verbose_name)))
        for model in apps.get_models()
        if audited_of(model) is not None
    )
    return sorted(names, key=lambda choice: choice[1])


_MODEL_FILTER = list_filter(
    "model", _("what"), _recorded_models, lambda entries, model: entries.filter(model=model)
)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin[AuditEntry]):
    list_display = ("time", "who", "how_", "address", "action_badge", "what", "name", "short_changes")
    list_filter = ("action", "how", _MODEL_FILTER, recent_filter("at", _("time")))
    search_fields = ("who", "name", "address", "token", "=object_id")
    actions = (export_csv,)
    readonly_fields = ("time", "what", "readable_changes")
    fields = (
        ("time", "who"),
        ("how", "address", "token"),
        ("action", "what"),
        ("name", "object_id"),
        "readable_changes",
    )

    @display(description=_("time"), ordering="id")
    def time(self, entry: AuditEntry) -> str:
        return date_and_time(entry.at)

    @display(description=_("how"), ordering="how")
    def how_(self, entry: AuditEntry) -> str:
        return f"{entry.get_how_display()} ({entry.token})" if entry.token else entry.get_how_display()

    action_badge = choice_badge("action", _("action"), _COLOURS)

    @display(description=_("what"), ordering="model")
    def what(self, entry: AuditEntry) -> str:
        model = _entry_model(entry)
        return entry.model if model is None else capfirst(str(model._meta.verbose_name))

    @display(description=_("changes"))
    def short_changes(self, entry: AuditEntry) -> str:
        told = (f"{_column_name(entry, each.column)}: {_describe_change(each)}" for each in changes_of(entry))
        return Truncator("; ".join(told)).chars(_LONGEST)

    @display(description=_("changes"))
    def readable_changes(self, entry: AuditEntry) -> str:
        rows = ((_column_name(entry, each.column), _describe_change(each)) for each in changes_of(entry))
        return format_html_join("", "<div><b>{}</b>: {}</div>", rows) or "-"


def _entry_model(entry: AuditEntry) -> Any:
    """Return the model of an entry; None if this version does not have it any more."""
    try:
        return apps.get_model(entry.model)
    except (LookupError, ValueError):
        return None


def _column_name(entry: AuditEntry, column: str) -> str:
    model = _entry_model(entry)
    try:
        return str(model._meta.get_field(column).verbose_name) if model else column
    except FieldDoesNotExist:
        return column


def _describe_change(change: Change) -> str:
    if change.is_secret:
        return _t("changed")
    new = _format_value(change.new)
    return f"{_format_value(change.old)} → {new}" if change.has_old else new


def _format_value(value: Any) -> str:
    match value:
        case None | "" | []:
            return "—"
        case bool():
            return _t("yes") if value else _t("no")
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
