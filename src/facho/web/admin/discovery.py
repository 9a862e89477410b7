from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.discovery.models import Collected, Onu
from facho.web.admin.base import ReadOnlyAdmin, display, word_filter
from facho.web.words import DOWN_CAUSES, ONU_STATES

_COLOURS = {"online": "success", "starting": "info", "disabled": "default", "unknown": "default"}
_LABELS = {state: _COLOURS.get(state, "danger") for state in ONU_STATES}


@admin.register(Onu)
class OnuAdmin(ReadOnlyAdmin[Onu]):
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
        word_filter("state", _("state"), ONU_STATES),
        "presence",
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("serial", "mac", "description", "address")
    # Counting a million rows for every page would take longer than showing it.
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Onu]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")

    @display(description="ONU", ordering="serial")
    def identity(self, onu: Onu) -> str:
        return str(onu)

    @display(description=_("place"))
    def place(self, onu: Onu) -> str:
        numbers = (onu.frame, onu.slot, onu.port, onu.onu_id)
        return "/".join(str(number) for number in numbers if number is not None) or onu.address or ""

    @display(description=_("state"), ordering="state", label=_LABELS)
    def state_badge(self, onu: Onu) -> tuple[str, str] | None:
        return (onu.state, str(ONU_STATES.get(onu.state, onu.state))) if onu.state else None

    @display(description="ONU (dBm)", ordering="onu_rx_dbm")
    def at_onu(self, onu: Onu) -> float | None:
        return onu.onu_rx_dbm

    @display(description="OLT (dBm)", ordering="olt_rx_dbm")
    def at_olt(self, onu: Onu) -> float | None:
        return onu.olt_rx_dbm

    @display(description=_("cause"), ordering="down_cause")
    def cause(self, onu: Onu) -> str:
        return str(DOWN_CAUSES.get(onu.down_cause, onu.down_cause))


@admin.register(Collected)
class CollectedAdmin(ReadOnlyAdmin[Collected]):
    list_display = ("olt", "datum", "collected_at")
    list_display_links = ("datum",)
    list_filter = ("datum", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "datum")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collected]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")
