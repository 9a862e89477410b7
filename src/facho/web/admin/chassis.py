from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, TextFilter

from facho.apps.chassis.chassis_facts import facts_among_extras
from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.chassis.selectors import PortCount, onus_by_port
from facho.apps.discovery.fact_filters import BadCondition, FactCondition
from facho.apps.extras import read_extras
from facho.apps.hosts.health import health_of
from facho.core.freshness import is_delivering
from facho.core.olt_status import OltStatus
from facho.vendors import Entity
from facho.web.admin.base import M, OltRowsAdmin, with_maintenance
from facho.web.admin.columns import display
from facho.web.admin.exporting import export_csv
from facho.web.admin.filters import word_filter
from facho.web.components.ages import unknown_because
from facho.web.words.facts import named_facts
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


class ExtraFactFilter(TextFilter):  # type: ignore[misc]  # unfold has no types
    """Rows by a fact without a column of its own, as `description=core`."""

    title = _("other fact")
    parameter_name = "other_fact"

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        if not (text := self.value()):
            return queryset
        try:
            return FactCondition.parse(text, facts_among_extras(queryset.model)).narrow(queryset)
        except BadCondition as refused:
            messages.error(request, str(refused))
            return queryset.none()


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
    entity: Entity
    # The order that the header shows; get_ordering has the full order.
    ordering = ("olt__name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        return with_maintenance(super().get_queryset(request))

    def get_ordering(self, request: HttpRequest) -> tuple[str | Combinable, ...]:  # noqa: ARG002
        return ("olt__name", *(F(number).asc(nulls_first=True) for number in self.numbers), "id")

    def entity_of(self, _row: M) -> Entity:
        return self.entity

    @display(description=_("other facts"))
    def others(self, row: Any) -> str:
        facts = named_facts(read_extras(row.extras), self.entity_of(row))
        return ", ".join(f"{name}: {value}" for name, value in facts)


@admin.register(PonPort)
class PonPortAdmin(_OltPartAdmin[PonPort]):
    entity = Entity.PORT
    numbers = ("frame", "slot", "port")
    list_display = (
        "place", "olt", "state_badge", "cause", "name", "onus", "tx_dbm", "rx_dbm", "temperature_c",
        "voltage_v", "bias_ma", "updated_at",
    )  # fmt: skip
    list_filter = (
        word_filter("state", _("state"), LINK_STATES),
        word_filter("down_cause", _("cause"), PORT_CAUSES),
        ExtraFactFilter,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("place", "name", "olt__name")
    actions = (export_csv,)
    readonly_fields = ("state_badge", "cause", "others")
    fields = (
        ("olt", "place"),
        ("name", "technology"),
        ("state_badge", "admin_state", "cause"),
        ("tx_dbm", "rx_dbm"),
        ("temperature_c", "voltage_v", "bias_ma"),
        ("onus_told", "onus_online_told"),
        "others",
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


@admin.register(Uplink)
class UplinkAdmin(_OltPartAdmin[Uplink]):
    entity = Entity.UPLINK
    list_display = (
        "place", "olt", "state_badge", "name", "description", "speed_mbps", "tx_dbm", "rx_dbm",
        "temperature_c", "updated_at",
    )  # fmt: skip
    list_filter = (
        word_filter("state", _("state"), LINK_STATES),
        ExtraFactFilter,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("place", "name", "description", "olt__name")
    actions = (export_csv,)
    readonly_fields = ("state_badge", "others")
    fields = (
        ("olt", "place"),
        ("name", "description"),
        ("state_badge", "admin_state", "speed_mbps"),
        ("tx_dbm", "rx_dbm"),
        ("temperature_c", "voltage_v", "bias_ma"),
        "others",
        "updated_at",
    )

    def view_on_site(self, link: Uplink) -> str:
        return reverse("uplink", args=[link.olt_id, link.pk])

    state_badge = _state_badge(LINK_STATES, _PORT_COLOURS)


@admin.register(OltHealth)
class OltHealthAdmin(_OltPartAdmin[OltHealth]):
    numbers = ("frame", "slot")
    list_display = (
        "place", "olt", "name", "state_badge", "cpu_pct", "memory_pct", "temperature_c", "power_w",
        "voltage_v", "speed_rpm", "speed_pct", "sw_version", "hw_version", "updated_at",
    )  # fmt: skip
    list_filter = (
        "kind",
        word_filter("state", _("state"), BOARD_STATES),
        ExtraFactFilter,
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("part", "name", "serial", "olt__name")
    actions = (export_csv,)
    readonly_fields = ("place", "state_badge", "others")
    fields = (
        ("olt", "place"),
        ("name", "state_badge"),
        ("cpu_pct", "memory_pct", "temperature_c"),
        ("power_w", "voltage_v"),
        ("speed_rpm", "speed_pct"),
        ("sw_version", "hw_version", "serial"),
        "others",
        "updated_at",
    )

    def entity_of(self, part: OltHealth) -> Entity:
        return Entity(part.kind)

    def view_on_site(self, part: OltHealth) -> str:
        return reverse("part", args=[part.olt_id, part.pk])

    @display(description=_("part"))
    def place(self, part: OltHealth) -> str:
        return part.part.replace(part.kind, part.get_kind_display(), 1)

    state_badge = _state_badge(BOARD_STATES, _PART_COLOURS)


@admin.register(Unprovisioned)
class UnprovisionedAdmin(_OltPartAdmin[Unprovisioned]):
    entity = Entity.AUTOFIND
    numbers = ("frame", "slot", "port")
    list_display = ("identity", "olt", "place", "model", "vendor_id", "sw_version", "first_seen", "last_seen")
    list_filter = (ExtraFactFilter, ("olt", AutocompleteSelectFilter))
    search_fields = ("serial", "mac", "model", "place", "olt__name")
    exclude = ("extras",)
    readonly_fields = ("others",)
    actions = (export_csv,)
