from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import RelatedDropdownFilter

from facho.apps.access.actors import given_reason
from facho.apps.db.database import database_now
from facho.apps.hosts.health import Health, health_of, with_health
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.config import current
from facho.core.durations import about
from facho.engine.commands import brands, oids
from facho.engine.commands.olts import LIMITS, disable_olts, enable_olts, remove_olt
from facho.engine.upkeep.olt_removal import FIRST_CHUNKS, count_rows_of
from facho.web.admin import form_commands, olt_test
from facho.web.admin.base import (
    FachoModelAdmin,
    SwitchableAdmin,
    WithSuspension,
    count_deleted,
    show_outcomes,
)
from facho.web.admin.columns import display, json_column
from facho.web.admin.credentials import FIELDS as CREDENTIALS
from facho.web.admin.credentials import OltForm, describe_credentials
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import suspended_filter, values_filter
from facho.web.words.families import profile_text

_V3_CONDITIONS = dict.fromkeys(CREDENTIALS[1:], "snmp_version == '3'")


@admin.register(Brand)
class BrandAdmin(FachoModelAdmin[Brand]):
    """Brands come from profiles; only the title can be changed."""

    list_display = ("title", "name", "profile", "olt_count")
    search_fields = ("name", "title")
    readonly_fields = ("name", "profile")
    fields = ("name", "title", "profile")

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Brand | None = None) -> bool:  # noqa: ARG002
        return False

    def save_model(self, request: HttpRequest, obj: Brand, form: ModelForm[Brand], change: bool) -> None:  # noqa: ARG002
        brands.change_brand_title(obj.name, obj.title)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Brand]:
        return super().get_queryset(request).annotate(olt_count_=Count("olts"))

    @display(description=_("profile"))
    def profile(self, brand: Brand) -> str:
        return profile_text(brand.name)

    @display(description="OLTs", ordering="olt_count_")
    def olt_count(self, brand: Brand) -> int:
        count: int = brand.olt_count_  # type: ignore[attr-defined]  # annotated above
        return count


@admin.register(OltModel)
class OltModelAdmin(FachoModelAdmin[OltModel]):
    list_display = ("name", "brand")
    list_select_related = ("brand",)
    list_filter = (("brand", RelatedDropdownFilter),)
    search_fields = ("name", "brand__name")
    autocomplete_fields = ("brand",)

    def get_readonly_fields(self, request: HttpRequest, obj: OltModel | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return ("brand",) if obj else ()

    def save_model(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: OltModel,
        form: ModelForm[OltModel],  # noqa: ARG002
        change: bool,
    ) -> None:
        if change:
            brands.change_olt_model(obj.pk, obj.name)
        else:
            obj.pk = brands.add_olt_model(obj.brand.name, obj.name).pk

    def delete_model(self, request: HttpRequest, obj: OltModel) -> None:  # noqa: ARG002
        brands.remove_olt_model(obj.pk)


@admin.register(Oid)
class OidAdmin(FachoModelAdmin[Oid]):
    list_display = ("name", "oid", "brand", "model", "entity", "provides")
    list_select_related = ("brand", "model")
    list_filter = (
        ("brand", RelatedDropdownFilter),
        values_filter("entity", _("about")),
        values_filter("provides", _("provides")),
    )
    search_fields = ("name", "oid", "provides")
    autocomplete_fields = ("brand", "model")
    fields_of_commands = MappingProxyType({"read_as": "profile_oid"})

    def has_change_permission(self, request: HttpRequest, obj: Oid | None = None) -> bool:
        """OIDs of profiles cannot be changed."""
        return super().has_change_permission(request, obj) and not (obj and obj.synced)

    def has_delete_permission(self, request: HttpRequest, obj: Oid | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.synced)

    def save_model(self, request: HttpRequest, obj: Oid, form: ModelForm[Oid], change: bool) -> None:  # noqa: ARG002
        if change:
            oids.change_oid(obj.pk, oids.oid_as_given(obj))
        else:
            obj.pk = oids.add_oid(oids.NewOid(**oids.oid_as_given(obj))).pk

    def delete_model(self, request: HttpRequest, obj: Oid) -> None:  # noqa: ARG002
        oids.remove_oid(obj.pk)


@admin.register(Olt)
class OltAdmin(WithSuspension, SwitchableAdmin[Olt]):
    form = OltForm
    columns_of_fields = dict.fromkeys(CREDENTIALS, "credentials")
    fields_of_commands = MappingProxyType({"version": "snmp_version", "user": "v3_user"})
    list_display = ("name", "brand", "model", "address", "site", "health", "node_count", "enabled")
    list_select_related = ("brand", "model")
    list_filter = (
        "enabled",
        "reachable",
        suspended_filter(
            Q(condition=Health.SUSPENDED),
            lambda rows: with_health(olts_under_maintenance(database_now()), rows),
        ),
        ("brand", RelatedDropdownFilter),
        values_filter("site", _("site")),
    )
    search_fields = ("name", "address", "site")
    ordering = ("name",)
    autocomplete_fields = ("brand", "model")
    actions = ("test_each", "enable", "disable", export_csv)
    change_form_after_template = "facho_admin/connection_test.html"
    conditional_fields = MappingProxyType({"community": "snmp_version != '3'", **_V3_CONDITIONS})
    readonly_fields = (
        "reachable",
        "unreachable_since",
        "why_suspended",
        "suspended_at",
        "next_probe_at",
        "cpu_pct",
        "cpu_read_at",
        "version",
        "uptime",
        "uptime_read_at",
        "sys_descr",
        "sys_object_id",
        "learned_",
        "lacks_",
        "created_at",
        "credentials_set",
    )
    fieldsets = (
        (None, {"fields": ("name", "enabled", ("brand", "model"), ("address", "port"), "site")}),
        (_("Access"), {"fields": ("snmp_version", *CREDENTIALS)}),
        (_("Limits"), {"fields": LIMITS}),
        (_("Detected by the engine"), {"classes": ("tab",), "fields": readonly_fields[:-1]}),
    )

    class Media:
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    def get_queryset(self, request: HttpRequest) -> QuerySet[Olt]:
        # A list decrypts no credentials.
        olts = super().get_queryset(request).defer("credentials")
        left_alone = list(olts_under_maintenance(database_now()))
        return olts.annotate(
            node_count_=Count("nodes", filter=Q(nodes__enabled=True)), left_alone_=Q(id__in=left_alone)
        )

    def get_fieldsets(self, request: HttpRequest, obj: Olt | None = None) -> Any:
        """Show those who may not change credentials only whether they are set."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets[:-1]
        if self.has_change_permission(request, obj):
            return fieldsets
        general, (title, _fields), *others = fieldsets
        return (general, (title, {"fields": ("snmp_version", "credentials_set")}), *others)

    def get_urls(self) -> list[URLPattern]:
        test = self.admin_site.admin_view(require_POST(self.test))
        return [
            path("test/", test, name="hosts_olt_test_new"),
            path("<int:olt_id>/test/", test, name="hosts_olt_test"),
            *super().get_urls(),
        ]

    def test(self, request: HttpRequest, olt_id: int | None = None) -> HttpResponse:
        """Test with the values of the form for those who may save it; otherwise with the stored ones."""
        olt = get_object_or_404(Olt, pk=olt_id) if olt_id else None
        may_write = self.has_change_permission(request) if olt else self.has_add_permission(request)
        if not self.has_test_permission(request) or not (olt or may_write):
            raise PermissionDenied
        if olt is None or may_write:
            tested = olt_test.test_form(request, self.get_form(request, olt, change=olt is not None), olt)
        else:
            tested = olt_test.test_olt(olt)
        return render(
            request, "facho_admin/connection_test_result.html", {"tested": tested, "may_use": may_write}
        )

    def save_model(self, request: HttpRequest, obj: Olt, form: ModelForm[Olt], change: bool) -> None:  # noqa: ARG002
        if change:
            form_commands.save_olt(form.initial["name"], obj, self.changed_columns(form))
        else:
            form_commands.add_olt(obj)

    def get_deleted_objects(
        self,
        objs: Iterable[Olt],
        request: HttpRequest,  # noqa: ARG002
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Count related rows instead of reading them: there may be millions."""
        olts = list(objs)
        lost = {self.model: len(olts), **count_rows_of([olt.id for olt in olts])}
        return [olt.name for olt in olts], count_deleted(lost), set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete without Django's transaction, because long histories are deleted in chunks."""
        shown: HttpResponse = self._delete_view(request, object_id, extra_context)  # type: ignore[attr-defined]
        return shown

    def delete_model(self, request: HttpRequest, obj: Olt) -> None:
        if not remove_olt(obj.name, database_now(), current(), chunks=FIRST_CHUNKS):
            words = gettext("%(olt)s is being removed; its data is deleted in the background.")
            self.message_user(request, words % {"olt": obj.name}, messages.WARNING)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Olt]) -> None:
        for olt in queryset:
            self.delete_model(request, olt)

    @display(
        description=_("health"),
        label={
            Health.FINE: "success",
            Health.FAILING: "warning",
            Health.DEGRADED: "warning",
            Health.OVERLOADED: "warning",
            Health.DISABLED: "default",
            Health.NEVER_ASKED: "info",
            Health.MAINTENANCE: "warning",
            Health.SUSPENDED: "danger",
            Health.UNREACHABLE: "danger",
        },
    )
    def health(self, olt: Olt) -> tuple[str, Any]:
        left_alone = {olt.id} if olt.left_alone_ else set[int]()  # type: ignore[attr-defined]  # annotated above
        health = health_of(olt, left_alone)
        if health is Health.DISABLED and olt.removed_at is not None:
            return health, _("being removed")
        return health, health.label

    def view_on_site(self, olt: Olt) -> str:
        return reverse("olt", args=[olt.pk])

    @display(description=_("uptime"))
    def uptime(self, olt: Olt) -> str:
        return "" if olt.uptime_s is None else about(timedelta(seconds=olt.uptime_s))

    learned_ = json_column("learned", _("learned"))
    lacks_ = json_column("lacks", _("missing columns"))

    @display(description=_("credentials"))
    def credentials_set(self, olt: Olt) -> Any:
        return describe_credentials(olt.credentials)

    @display(description=_("nodes"))
    def node_count(self, olt: Olt) -> int:
        count: int = olt.node_count_  # type: ignore[attr-defined]  # annotated above
        return count

    @admin.action(description=_("Test connection"), permissions=["test"])
    def test_each(self, request: HttpRequest, olts: QuerySet[Olt]) -> None:
        show_outcomes(request, olts[: olt_test.MOST], olt_test.test_in_one_line)
        if (left := olts.count() - olt_test.MOST) > 0:
            said = ngettext("%(count)d more was not tested.", "%(count)d more were not tested.", left)
            messages.warning(request, said % {"count": left})

    def effect_of_disable(self, _olts: QuerySet[Olt]) -> str:
        return gettext(
            "All its jobs stop, what runs now is aborted, and nothing is collected until it is enabled."
        )

    def set_enabled(self, rows: list[Olt], *, enabled: bool) -> None:
        names, now = [olt.name for olt in rows], database_now()
        if enabled:
            enable_olts(names, now)
        else:
            disable_olts(names, now, given_reason())
