"""Health of OLTs and their parts, the time of the last collection, and tables with unreadable rows."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import F

from facho.apps.chassis.models import OltHealth, PartKind
from facho.apps.discovery.models import Collected, UnreadableRows
from facho.web.api.base import OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import OfOlt, OneOf
from facho.web.words.states import BOARD_STATES


class HealthSerializer(OltRowSerializer[OltHealth]):
    class Meta:
        model = OltHealth
        fields = (
            "id", "olt", "olt_name", "part", "kind", "frame", "slot", "name", "state", "cpu_pct",
            "memory_pct", "temperature_c", "power_w", "speed_rpm", "sw_version", "serial", "updated_at",
        )  # fmt: skip


class HealthFilter(OfOlt):
    kind = OneOf(PartKind.values)
    state = OneOf(BOARD_STATES)

    class Meta:
        model = OltHealth
        fields = ("part",)


class OltHealths(ReadOnlyRows[OltHealth]):
    about = "chassis.olthealth"
    queryset = OltHealth.objects.annotate(olt_name=F("olt__name"))
    serializer_class = HealthSerializer
    filterset_class = HealthFilter


class CollectedSerializer(OltRowSerializer[Collected]):
    class Meta:
        model = Collected
        fields = ("id", "olt", "olt_name", "datum", "collected_at")


class CollectedFilter(OfOlt):
    by_time = "collected_at"

    class Meta:
        model = Collected
        fields = ("datum",)


class LastCollected(ReadOnlyRows[Collected]):
    about = "discovery.collected"
    queryset = Collected.objects.annotate(olt_name=F("olt__name"))
    serializer_class = CollectedSerializer
    filterset_class = CollectedFilter
    orderings: ClassVar = ("id", "collected_at")


class UnreadableSerializer(OltRowSerializer[UnreadableRows]):
    class Meta:
        model = UnreadableRows
        fields = ("id", "olt", "olt_name", "table", "rows", "example", "since", "last_seen")


class UnreadableFilter(OfOlt):
    by_time = "since"

    class Meta:
        model = UnreadableRows
        fields = ("table",)


class TablesWithUnreadableRows(ReadOnlyRows[UnreadableRows]):
    about = "discovery.unreadablerows"
    queryset = UnreadableRows.objects.annotate(olt_name=F("olt__name"))
    serializer_class = UnreadableSerializer
    filterset_class = UnreadableFilter
    orderings: ClassVar = ("id", "since")
