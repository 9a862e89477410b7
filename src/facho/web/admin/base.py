"""Base classes of the admin: changes by commands, actions and read-only lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Model, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.access.audit_recording import audited_of
from facho.apps.db.database import database_now
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.interval import interval_words
from facho.engine.commands.errors import CommandError
from facho.web.admin.columns import display, reason_column
from facho.web.admin.confirmation import asks_why
from facho.web.admin.quick_lists import tick_box
from facho.web.admin.row_links import form_link, lead_to_pages, list_url, olt_link
from facho.web.components.csv_answer import csv_answer
from facho.web.words.refusals import refusal_words

M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)
Row = TypeVar("Row")

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin as _Admin
    from django.contrib.admin import TabularInline as _Inline

    _Paginator = Paginator[Any]
else:
    from unfold.admin import ModelAdmin, TabularInline

    class _Admin(ModelAdmin, Generic[M]):
        pass

    class _Inline(TabularInline, Generic[M, P]):
        pass

    _Paginator = Paginator


class UpToPaginator(_Paginator):
    """A paginator that counts up to a limit, because counting a year of quotas takes seconds."""

    up_to: Final = 10_000

    @cached_property
    def count(self) -> int:
        return min(self._counted, self.up_to)

    @property
    def there_are_more(self) -> bool:
        return self._counted > self.up_to

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: self.up_to + 1].count())


class FachoModelAdmin(_Admin[M]):
    """A model that is changed by commands, which each admin calls itself.

    A refused command changes nothing, and its sentence is shown.
    """

    list_filter_submit = True
    list_per_page = 50
    # Columns by fields of the form, where the names differ.
    columns_of_fields: Mapping[str, str] = {}
    # Fields of the form by fields of the command, where the names differ.
    fields_of_commands: Mapping[str, str] = {}

    def get_urls(self) -> list[URLPattern]:
        opts = self.opts
        export = self.admin_site.admin_view(require_safe(never_cache(self.export_view)))
        return [
            path("export/", export, name=f"{opts.app_label}_{opts.model_name}_export"),
            *super().get_urls(),
        ]

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the list as CSV, with its search, filters and order, to those who may see it."""
        _require_permission(self.has_view_or_change_permission(request))
        try:
            listed = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(list_url(self.model))
        return csv_answer(request, listed.queryset)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return lead_to_pages(super().get_changelist(request, **kwargs))

    def get_list_display(self, request: HttpRequest) -> Any:
        """Link OLTs to their pages, unless the column leads to the row itself.

        Where rows lead to a page, those who may change them get a link to the form too.
        """
        shown = tuple(super().get_list_display(request))
        if "olt" not in self.get_list_display_links(request, shown):
            shown = tuple("olt_page" if column == "olt" else column for column in shown)
        has_page = callable(self.view_on_site)
        return (*shown, "edit_link") if has_page and self.has_change_permission(request) else shown

    @display(description="OLT", ordering="olt__name")
    def olt_page(self, obj: Any) -> SafeString | None:
        return None if obj.olt is None else olt_link(obj.olt)

    @display(description="")
    def edit_link(self, obj: Model) -> SafeString:
        return form_link(obj)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the form again with the error at its field, after a command was refused."""
        if request.method == "POST":
            may = self.has_change_permission if object_id else self.has_add_permission
            _require_permission(may(request))
        extra_context = {**(extra_context or {}), "show_history": self._has_history(request)}
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except CommandError as refused:
            request.refused = refused  # type: ignore[attr-defined]  # read by get_form
            return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            # Without a row the permission is that of the list, which may not allow deletion.
            row = self.get_object(request, unquote(object_id))
            _require_permission(self.has_delete_permission(request, row))
        try:
            return super().delete_view(request, object_id, extra_context)
        except CommandError as refused:
            messages.error(request, refused.message)
            opts = self.opts
            return redirect(f"admin:{opts.app_label}_{opts.model_name}_change", object_id)

    def response_action(self, request: HttpRequest, queryset: QuerySet[M], *args: Any, **kwargs: Any) -> Any:
        try:
            return super().response_action(request, queryset, *args, **kwargs)
        except CommandError as refused:
            messages.error(request, refused.message)
            return redirect(request.get_full_path())

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Redirect to the audit log, which has the changes of all interfaces."""
        if not self._has_history(request):
            raise PermissionDenied
        asked = urlencode({"model": self.opts.label_lower, "object_id": object_id})
        return redirect(f"{reverse('admin:access_auditentry_changelist')}?{asked}")

    def _has_history(self, request: HttpRequest) -> bool:
        return audited_of(self.model) is not None and request.user.has_perm("access.view_auditentry")

    def log_addition(self, request: HttpRequest, obj: M, message: Any) -> Any:
        """Log nothing: the audit log has it, and Django's own log would grow for ever."""

    def log_change(self, request: HttpRequest, obj: M, message: Any) -> Any:
        """Log nothing, as in log_addition."""

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[M]) -> Any:
        """Log nothing, as in log_addition."""

    def get_form(
        self, request: HttpRequest, obj: M | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        refused: CommandError | None = getattr(request, "refused", None)
        return form if refused is None else _form_with_error(form, refused, self.fields_of_commands)

    def has_run_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "run")

    def has_test_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "test")

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "acknowledge")

    def _may(self, request: HttpRequest, right: str) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.{right}_{self.opts.model_name}")

    @display(description="")
    def action_checkbox(self, obj: Model) -> SafeString:
        return tick_box(obj.pk)

    def save_model(self, request: HttpRequest, obj: M, form: ModelForm[M], change: bool) -> None:
        """Refuse to save without a command."""
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: M) -> None:
        raise NotImplementedError

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> None:
        """Delete all selected rows, or none."""
        with transaction.atomic():
            for each in queryset:
                self.delete_model(request, each)

    def changed_columns(self, form: ModelForm[M]) -> list[str]:
        columns = {field.name for field in self.model._meta.concrete_fields}
        named = (self.columns_of_fields.get(name, name) for name in form.changed_data)
        return sorted(columns.intersection(named))


def describe_switch(count: int, *, enabled: bool) -> str:
    if enabled:
        said = ngettext("%(count)d was enabled.", "%(count)d were enabled.", count)
    else:
        said = ngettext("%(count)d was disabled.", "%(count)d were disabled.", count)
    return said % {"count": count}


class SwitchableAdmin(FachoModelAdmin[M]):
    """Rows that actions enable and disable, by a command."""

    right_to_enable = "enable"

    def has_enable_permission(self, request: HttpRequest) -> bool:
        return self._may(request, self.right_to_enable)

    def set_enabled(self, rows: list[M], *, enabled: bool) -> None:
        raise NotImplementedError

    @admin.action(description=gettext_lazy("Enable"), permissions=["enable"])
    def enable(self, request: HttpRequest, chosen: QuerySet[M]) -> None:
        show_outcome(request, lambda: self._set_enabled(chosen, enabled=True))

    @asks_why
    @admin.action(description=gettext_lazy("Disable…"), permissions=["enable"])
    def disable(self, request: HttpRequest, chosen: QuerySet[M]) -> None:
        show_outcome(request, lambda: self._set_enabled(chosen, enabled=False))

    def _set_enabled(self, chosen: QuerySet[M], *, enabled: bool) -> str:
        rows = list(chosen)
        self.set_enabled(rows, enabled=enabled)
        return describe_switch(len(rows), enabled=enabled)


class RemovableAdmin(FachoModelAdmin[M]):
    """Rows that an action removes together, by a command, instead of Django's deletion one by one."""

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def remove_rows(self, rows: list[M]) -> None:
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: M) -> None:  # noqa: ARG002
        self.remove_rows([obj])

    @asks_why
    @admin.action(description=gettext_lazy("Remove…"), permissions=["delete"])
    def remove(self, request: HttpRequest, chosen: QuerySet[M]) -> None:
        show_outcome(request, lambda: self._remove(list(chosen)))

    def _remove(self, rows: list[M]) -> str:
        self.remove_rows(rows)
        said = ngettext("%(count)d was removed.", "%(count)d were removed.", len(rows))
        return said % {"count": len(rows)}


def show_outcome(request: HttpRequest, act: Callable[[], str]) -> None:
    """Run a command and show its message, or why it was refused."""
    try:
        messages.success(request, act())
    except CommandError as refused:
        messages.error(request, refused.message)


def show_outcomes(request: HttpRequest, chosen: Iterable[Row], act: Callable[[Row], str]) -> None:
    """Run a command for each, and show each outcome."""
    for each in chosen:
        show_outcome(request, lambda each=each: act(each))  # type: ignore[misc]  # bound at once


def count_deleted(rows: Mapping[type[Model], int]) -> dict[str, int]:
    """Return the numbers of rows by the names of their models, as Django's page of deletions has them."""
    return {str(model._meta.verbose_name_plural): count for model, count in rows.items() if count}


def _require_permission(allowed: bool) -> None:
    """Check permissions before Django opens a transaction, for which the engine would wait on SQLite."""
    if not allowed:
        raise PermissionDenied


def _form_with_error(form: Any, refused: CommandError, names: Mapping[str, str]) -> Any:
    class Refusing(form):  # type: ignore[misc]  # made by Django, of any model
        def clean(self) -> Any:
            given = super().clean()
            field = names.get(refused.field, refused.field)
            self.add_error(field if field in self.fields else None, refusal_words(refused))
            return given

    return Refusing


class ReadOnlyAdmin(FachoModelAdmin[M]):
    """A long list of rows that only the system writes."""

    show_full_result_count = False
    paginator = UpToPaginator

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _count_once(super().get_changelist(request, **kwargs))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:  # noqa: ARG002
        return False


class OltRowsAdmin(ReadOnlyAdmin[M]):
    """Rows of OLTs, which are read with the OLT and without its credentials."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")


def with_maintenance(rows: QuerySet[M]) -> QuerySet[Any]:
    """Annotate rows of OLTs with `left_alone_`: whether their OLT is under maintenance now."""
    maintained = Q(olt__in=list(olts_under_maintenance(database_now())))
    return rows.annotate(left_alone_=ExpressionWrapper(maintained, output_field=BooleanField()))


class OltFactsAdmin(OltRowsAdmin[M]):
    """Rows that say something about their OLT and no more than the list shows: they lead to its page."""

    def view_on_site(self, row: Any) -> str:
        return reverse("olt", args=[row.olt_id])


def _count_once(page: type[ChangeList]) -> type[ChangeList]:
    class Once(page):  # type: ignore[misc, valid-type]  # whichever the admin's dress has
        def get_results(self, request: HttpRequest) -> None:
            super().get_results(request)
            if not (self.query or self.has_active_filters):
                # Otherwise unfold offers to show all rows, which are shown already.
                self.full_result_count = self.result_count

    return Once


class FachoInline(_Inline[M, P]):
    extra = 0
    per_page = 20
    hide_title = True

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Label each field for screen readers; visually the table header does."""
        formset = super().get_formset(request, obj, **kwargs)
        for field in formset.form.base_fields.values():
            field.widget.attrs.setdefault("aria-label", field.label)
        return formset


class ReadOnlyInline(FachoInline[M, P]):
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False


class WithSuspension:
    """An admin of rows that the system suspends."""

    why_suspended = reason_column("suspended_reason", gettext_lazy("why it is suspended"))


def seconds_as_interval(seconds: int | None) -> str:
    return "" if seconds is None else interval_words(timedelta(seconds=seconds))


site = admin.site
