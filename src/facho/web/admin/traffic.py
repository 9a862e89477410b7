from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.localized_numbers import bit_rate
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.selectors import to_and_from_customers
from facho.web.admin.base import OltFactsAdmin
from facho.web.admin.columns import display
from facho.web.olts.tabs import Tab, tab_url


@admin.register(OltTraffic)
class OltTrafficAdmin(OltFactsAdmin[OltTraffic]):
    list_display = (
        "olt", "subject", "at", "interval_s", "to_customers", "from_customers", "counter_bits", "over",
        "resets", "gaps",
    )  # fmt: skip
    list_display_links = ("olt", "subject")
    list_filter = ("subject", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name",)
    readonly_fields = ("to_customers", "from_customers")
    fields = (
        ("olt", "subject"),
        ("at", "interval_s"),
        ("to_customers", "from_customers", "counter_bits"),
        ("over", "resets", "gaps"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[OltTraffic]:
        return (
            super()
            .get_queryset(request)
            .defer("top", "ports", "peaks", "missing", "drops_by_hour", "counters")
        )

    def view_on_site(self, row: Any) -> str:
        return tab_url(row.olt_id, Tab.TRAFFIC)

    @display(description=_("to the customers"))
    def to_customers(self, row: OltTraffic) -> str:
        return bit_rate(to_and_from_customers(row.subject, row.in_bps, row.out_bps)[0])

    @display(description=_("from the customers"))
    def from_customers(self, row: OltTraffic) -> str:
        return bit_rate(to_and_from_customers(row.subject, row.in_bps, row.out_bps)[1])
