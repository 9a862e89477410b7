from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter, TextFilter

from facho.apps.db.database import database_now
from facho.apps.discovery.fact_filters import BadCondition, FactCondition
from facho.apps.discovery.models import (
    ClockState,
    Collected,
    Onu,
    OnuEvent,
    Optics,
    PortOutage,
    UnreadableRows,
    VersionCount,
)
from facho.apps.discovery.onu_search import search_onus
from facho.apps.discovery.selectors import (
    interface_of,
    onus_down_by,
    onus_in_state,
    shown_state_of,
    weak_onus,
    with_duplicate_serial,
)
from facho.apps.hosts.health import silent_olts
from facho.apps.localized_numbers import about
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.freshness import ShownState
from facho.web.admin.base import OltFactsAdmin, OltRowsAdmin, ReadOnlyInline, with_maintenance
from facho.web.admin.columns import choice_badge, display, word_column
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import choice_filter, list_filter, recent_filter
from facho.web.components.ages import unknown_because
from facho.web.words.colours import ONU_COLOURS, ONU_EVENT_COLOURS
from facho.web.words.facts import fact_name, shown_facts
from facho.web.words.states import CAUSE_CHOICES, DOWN_CAUSES, ONU_STATUSES, onu_cause_name, onu_state_name


def _in_state(onus: QuerySet[Onu], status: str) -> QuerySet[Onu]:
    return onus_in_state(onus, silent_olts(olts_under_maintenance(database_now())), status)


def _down_by(onus: QuerySet[Onu], cause: str) -> QuerySet[Onu]:
    return onus_down_by(onus, silent_olts(olts_under_maintenance(database_now())), cause)


_DUPLICATE_FILTER = choice_filter(
    "duplicate", _("duplicate serial"), {"yes": (_("at two places on one OLT"), with_duplicate_serial)}
)
_WEAK_FILTER = choice_filter(
    "weak",
    _("Weak ONUs"),
    {
        "yes": (_("weak or fallen power"), weak_onus),
        "limit": (Optics.WEAK.label, lambda onus: weak_onus(onus).filter(optical_state=Optics.WEAK)),
        "fallen": (Optics.FALLING.label, lambda onus: weak_onus(onus).filter(optical_state=Optics.FALLING)),
    },
)
_OPEN_FILTER = choice_filter(
    "open",
    pgettext_lazy("outages", "open"),
    {
        "yes": (_("still open"), lambda outages: outages.filter(ended_at__isnull=True)),
        "no": (_("ended"), lambda outages: outages.filter(ended_at__isnull=False)),
    },
)


class FactFilter(TextFilter):  # type: ignore[misc]  # unfold has no types
    """ONUs of one OLT by a fact without a column; all of a long list would have to be read."""

    title = _("other fact")
    parameter_name = "other_fact"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Onu]) -> QuerySet[Onu]:
        if not (text := self.value()):
            return queryset
        try:
            condition = FactCondition.parse(text)
        except BadCondition as refused:
            messages.error(request, str(refused))
            return queryset.none()
        if "olt__id__exact" not in request.GET:
            messages.error(
                request, gettext("Choose an OLT too: the list is too long to filter by this alone.")
            )
            return queryset.none()
        return condition.narrow(queryset)


class _ExactFilter(TextFilter):  # type: ignore[misc]  # unfold has no types
    """Rows whose text is exactly this: it is looked up in an index."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Onu]) -> QuerySet[Onu]:  # noqa: ARG002
        text = self.value()
        return queryset.filter(**{self.parameter_name: text}) if text else queryset


class ModelFilter(_ExactFilter):
    title = _("model")
    parameter_name = "model"


class SoftwareFilter(_ExactFilter):
    title = _("software version")
    parameter_name = "sw_version"


class HardwareFilter(_ExactFilter):
    """ONUs by their hardware, of one model, firmware or OLT: it has no index of its own."""

    title = _("hardware version")
    parameter_name = "hw_version"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Onu]) -> QuerySet[Onu]:
        if self.value() and {"model", "sw_version", "olt__id__exact"}.isdisjoint(request.GET):
            messages.error(
                request,
                gettext("Choose a model or an OLT too: the list is too long to filter by this alone."),
            )
            return queryset.none()
        return super().queryset(request, queryset)


class EventInline(ReadOnlyInline[OnuEvent, Onu]):
    """The latest events; the list of events has the others."""

    model = OnuEvent
    fields = ("at", "happened_at", "kind", "place", "before", "why")
    readonly_fields = ("why",)
    why = word_column("cause", _("cause"), DOWN_CAUSES)


@admin.register(Onu)
class OnuAdmin(OltRowsAdmin[Onu]):
    list_display = (
        "identity",
        "olt",
        "place",
        "state_badge",
        "cause",
        "at_onu",
        "at_olt",
        "distance_m",
        "description",
        "presence",
    )
    list_filter = (
        list_filter("state", _("state"), lambda _model: ONU_STATUSES.items(), _in_state),
        list_filter("cause", _("cause"), lambda _model: CAUSE_CHOICES.items(), _down_by, DropdownFilter),
        _WEAK_FILTER,
        "presence",
        _DUPLICATE_FILTER,
        ModelFilter,
        SoftwareFilter,
        HardwareFilter,
        FactFilter,
        ("olt", AutocompleteSelectFilter),
    )
    # Needed for the search box; get_search_results does the search.
    search_fields = ("serial", "mac", "description")
    inlines = (EventInline,)
    readonly_fields = ("place", "state_badge", "cause", "presence_since", "others")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("olt", "place"),
                    ("state_badge", "cause"),
                    ("serial", "mac"),
                    ("description", "model"),
                    ("hw_version", "sw_version"),
                    ("plan", "distance_m"),
                    ("ip", "others"),
                )
            },
        ),
        (
            _("Optics"),
            {
                "fields": (
                    ("onu_rx_dbm", "olt_rx_dbm"),
                    ("onu_tx_dbm", "temperature_c"),
                    ("rx_usual_dbm", "optical_state"),
                )
            },
        ),
        (
            _("Times"),
            {
                "fields": (
                    ("presence", "raw_index"),
                    ("first_seen", "presence_since"),
                    ("offline_since", "offline_dated"),
                )
            },
        ),
    )
    actions = (export_csv,)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the filters by site and brand, with which other pages link here."""
        linked = lookup in ("olt__site__exact", "olt__brand__id__exact")
        return linked or super().lookup_allowed(lookup, value, request)

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Onu],
        search_term: str,
    ) -> tuple[QuerySet[Onu], bool]:
        """Search by index, as everywhere: Django's search would read all rows."""
        if not search_term:
            return queryset, False
        return queryset.filter(id__in=search_onus(search_term, rows=queryset)), False

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Allow only orders with an index, unless the list is narrowed to an OLT or a search."""
        narrowed = {"olt__id__exact", SEARCH_VAR} & request.GET.keys()
        return super().get_sortable_by(request) if narrowed else ("state_badge",)

    def view_on_site(self, onu: Onu) -> str:
        return reverse("onu", args=[onu.pk])

    @display(description="ONU", ordering="serial")
    def identity(self, onu: Onu) -> str:
        return str(onu)

    @display(description=_("place"))
    def place(self, onu: Onu) -> str:
        return interface_of(onu)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Onu]:
        return with_maintenance(super().get_queryset(request))

    @display(description=_("state"), ordering="state", label=ONU_COLOURS)
    def state_badge(self, onu: Onu) -> tuple[str, str] | None:
        """Show the state as people may believe it: behind an OLT that delivers nothing, nobody knows it."""
        shown = self._shown_state(onu)
        if shown.because is not None:
            return shown.state, unknown_because(shown.because)
        return (onu.state, onu_state_name(onu.state)) if onu.state else None

    def _shown_state(self, onu: Onu) -> ShownState:
        return shown_state_of(onu, {onu.olt_id} if onu.left_alone_ else ())  # type: ignore[attr-defined]  # annotated

    @display(description=_("cause"))
    def cause(self, onu: Onu) -> str:
        return onu_cause_name(onu) if self._shown_state(onu).is_known else ""

    @display(description=_("other facts"))
    def others(self, onu: Onu) -> str:
        return ", ".join(f"{fact_name(fact)}: {text}" for fact, text in shown_facts(onu))

    @display(description=_("presence since"))
    def presence_since(self, onu: Onu) -> datetime:
        return onu.last_seen

    @display(description="ONU (dBm)", ordering="onu_rx_dbm")
    def at_onu(self, onu: Onu) -> float | None:
        return onu.onu_rx_dbm

    @display(description="OLT (dBm)", ordering="olt_rx_dbm")
    def at_olt(self, onu: Onu) -> float | None:
        return onu.olt_rx_dbm


@admin.register(OnuEvent)
class OnuEventAdmin(OltRowsAdmin[OnuEvent]):
    list_display = ("at", "happened_at", "kind_badge", "olt", "who", "place", "before", "why")
    list_filter = ("kind", recent_filter("at", _("time")), ("olt", AutocompleteSelectFilter))
    search_fields = ("serial", "place")
    actions = (export_csv,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[OnuEvent]:
        return super().get_queryset(request).select_related("onu")

    def view_on_site(self, event: OnuEvent) -> str | None:
        return reverse("onu", args=[event.onu_id]) if event.onu_id else None

    kind_badge = choice_badge("kind", _("event"), ONU_EVENT_COLOURS)
    why = word_column("cause", _("cause"), DOWN_CAUSES)

    @display(description="ONU", ordering="serial")
    def who(self, event: OnuEvent) -> str:
        """Show the stored serial, because the ONU may be gone."""
        return event.serial or (str(event.onu) if event.onu else "")


_OUTAGE_COLOURS = {
    PortOutage.Cause.POWER_CUT: "warning",
    PortOutage.Cause.FIBRE_CUT: "danger",
    PortOutage.Cause.UNKNOWN: "default",
}


@admin.register(PortOutage)
class PortOutageAdmin(OltRowsAdmin[PortOutage]):
    list_display = ("place", "olt", "cause_badge", "affected", "began_at", "ended_at", "lasted")
    list_filter = (
        _OPEN_FILTER,
        "cause",
        recent_filter("began_at", _("time")),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("place", "olt__name")
    actions = (export_csv,)
    fields = ("olt", "place", "cause", "onus_affected", "onus_known", "began_at", "ended_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PortOutage]:
        return super().get_queryset(request).defer("onus")

    def view_on_site(self, outage: PortOutage) -> str:
        return reverse("port-at", args=[outage.olt_id, outage.place])

    cause_badge = choice_badge("cause", _("cause"), _OUTAGE_COLOURS)

    @display(description=_("ONUs affected"), ordering="onus_affected")
    def affected(self, outage: PortOutage) -> str:
        return f"{outage.onus_affected} / {outage.onus_known}"

    @display(description=_("lasted"))
    def lasted(self, outage: PortOutage) -> str:
        if outage.ended_at is None:
            return gettext("still open")
        return about(outage.ended_at - outage.began_at)


@admin.register(Collected)
class CollectedAdmin(OltFactsAdmin[Collected]):
    list_display = ("olt", "datum", "collected_at")
    list_display_links = ("olt", "datum")
    list_filter = ("datum", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "datum")


@admin.register(VersionCount)
class VersionCountAdmin(OltFactsAdmin[VersionCount]):
    list_display = ("olt", "model", "sw_version", "hw_version", "onus")
    list_display_links = ("olt", "model")
    list_filter = (("olt", AutocompleteSelectFilter),)
    search_fields = ("olt__name", "model", "sw_version", "hw_version")
    actions = (export_csv,)


@admin.register(ClockState)
class ClockStateAdmin(OltFactsAdmin[ClockState]):
    list_display = ("olt", "low_s", "high_s", "has_zone", "since", "has_jumped", "checked_at", "read_at")
    list_display_links = ("olt",)
    list_filter = (("olt", AutocompleteSelectFilter),)
    search_fields = ("olt__name",)


@admin.register(UnreadableRows)
class UnreadableRowsAdmin(OltFactsAdmin[UnreadableRows]):
    list_display = ("olt", "table", "rows", "example", "since", "last_seen")
    list_display_links = ("olt", "table")
    list_filter = (("olt", AutocompleteSelectFilter),)
    search_fields = ("olt__name", "table")
