from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned
from facho.apps.chassis.selectors import PortCount, onus_by_port
from facho.apps.hosts.health import health_of
from facho.core.freshness import is_delivering
from facho.core.olt_status import OltStatus
from facho.web.admin.base import M, OltRowsAdmin, with_maintenance
from facho.web.admin.columns import display
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import word_filter
from facho.web.components.ages import unknown_because
from facho.web.words.states import BOARD_STATES, LINK_STATES, PORT_CAUSES

_PORT_COLOURS = {"up": "success", "down": "danger", "unknown": "default"}
_PART_COLOURS = {
    "ok": "success",
    "standby": "info",
    "starting": "info",
    "fault": "danger",
    "mismatch": "warning",
    "disabled": "default",
    "offline": "danger",
    "unknown": "default",
}


def _count_onus(page: type[ChangeList]) -> type[ChangeList]:
    """Return a change list that counts the ONUs of all its ports in one query."""

    class Counting(page):  # type: ignore[misc, valid-type]  # whichever the admin's dress has
        def get_results(self, request: HttpRequest) -> None:
            super().get_results(request)
            counts = onus_by_port({port.olt_id for port in self.result_list})
            for port in self.result_list:
                port.counted = counts.get(port.olt_id, {}).get(port.place)

    return Counting


def _state_badge(words: Mapping[str, Any], colours: Mapping[str, str]) -> Callable[..., Any]:
    """Return the badge of the state of a part of an OLT; nobody knows it while the OLT delivers nothing."""

    @display(description=_("state"), ordering="state", label=colours)
    def badge(_admin: Any, part: Any) -> tuple[str, str] | None:
        health = health_of(part.olt, {part.olt_id} if part.left_alone_ else ())
        if part.state and not is_delivering(OltStatus(health)):
            return "", unknown_because(health)
        return (part.state, str(words.get(part.state, part.state))) if part.state else None

    return badge


class _OltPartAdmin(OltRowsAdmin[M]):
    """Order by OLT, then by number, with missing numbers in the same place in all databases."""

    numbers: tuple[str, ...] = ()
    # The order that the header shows; get_ordering has the full order.
    ordering = ("olt__name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        return with_maintenance(super().get_queryset(request))

    def get_ordering(self, request: HttpRequest) -> tuple[str | Combinable, ...]:  # noqa: ARG002
        return ("olt__name", *(F(number).asc(nulls_first=True) for number in self.numbers), "id")


@admin.register(PonPort)
class PonPortAdmin(_OltPartAdmin[PonPort]):
    numbers = ("frame", "slot", "port")
    list_display = (
        "place", "olt", "state_badge", "cause", "name", "onus", "tx_dbm", "rx_dbm", "temperature_c",
        "voltage_v", "bias_ma", "updated_at",
    )  # fmt: skip
    list_filter = (
        word_filter("state", _("state"), LINK_STATES),
        word_filter("down_cause", _("cause"), PORT_CAUSES),
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("place", "name", "olt__name")
    actions = (export_csv,)
    readonly_fields = ("state_badge", "cause")
    fields = (
        ("olt", "place"),
        ("name", "technology"),
        ("state_badge", "cause"),
        ("tx_dbm", "rx_dbm"),
        ("temperature_c", "voltage_v", "bias_ma"),
        ("onus_told", "onus_online_told"),
        "updated_at",
    )

    def view_on_site(self, port: PonPort) -> str:
        return reverse("port", args=[port.olt_id, port.pk])

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _count_onus(super().get_changelist(request, **kwargs))

    @display(description=_("ONUs online / known"))
    def onus(self, port: PonPort) -> str:
        counted: PortCount | None = getattr(port, "counted", None)
        return f"{counted.online} / {counted.known}" if counted else ""

    state_badge = _state_badge(LINK_STATES, _PORT_COLOURS)

    @display(description=_("cause"), ordering="down_cause")
    def cause(self, port: PonPort) -> str:
        return str(PORT_CAUSES.get(port.cause, port.cause))


@admin.register(OltHealth)
class OltHealthAdmin(_OltPartAdmin[OltHealth]):
    numbers = ("frame", "slot")
    list_display = (
        "place", "olt", "name", "state_badge", "cpu_pct", "memory_pct", "temperature_c", "power_w",
        "speed_rpm", "sw_version", "updated_at",
    )  # fmt: skip
    list_filter = ("kind", word_filter("state", _("state"), BOARD_STATES), ("olt", AutocompleteSelectFilter))
    search_fields = ("part", "name", "serial", "olt__name")

    def view_on_site(self, part: OltHealth) -> str:
        return reverse("olt", args=[part.olt_id])

    @display(description=_("part"))
    def place(self, part: OltHealth) -> str:
        return part.part.replace(part.kind, part.get_kind_display(), 1)

    state_badge = _state_badge(BOARD_STATES, _PART_COLOURS)


@admin.register(Unprovisioned)
class UnprovisionedAdmin(_OltPartAdmin[Unprovisioned]):
    numbers = ("frame", "slot", "port")
    list_display = ("identity", "olt", "place", "model", "vendor_id", "sw_version", "first_seen", "last_seen")
    list_filter = (("olt", AutocompleteSelectFilter),)
    search_fields = ("serial", "mac", "model", "place", "olt__name")
    actions = (export_csv,)
