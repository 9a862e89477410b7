"""Health of OLTs and their parts, the time of the last collection, and tables with unreadable rows."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.db.models import F
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.chassis.models import OltHealth, PartKind
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Collected, UnreadableRows
from facho.apps.history.facts import history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import subject_series
from facho.web.api.base import ExtraValues, OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import OfOlt, OfOltWithFacts, OneOf
from facho.web.api.v1 import history
from facho.web.words.states import BOARD_STATES


class HealthSerializer(OltRowSerializer[OltHealth]):
    facts = ExtraValues()

    class Meta:
        model = OltHealth
        fields = (
            "id", "olt", "olt_name", "part", "kind", "frame", "slot", "name", "state", "cpu_pct",
            "memory_pct", "temperature_c", "power_w", "voltage_v", "speed_rpm", "speed_pct", "sw_version",
            "hw_version", "serial", "updated_at", "facts",
        )  # fmt: skip


class HealthFilter(OfOltWithFacts):
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

    @history.history_schema(history_facts(Subject.PART))
    @action(detail=True, pagination_class=None)
    def history(self, request: Request, **_: Any) -> Response:
        """The history of the OLT itself, or of one of its boards, fans or power supplies."""
        part = self.get_object()
        query = history.HistoryQuery.parse(request, history_facts(Subject.PART), database_now())
        return history.show_history(
            query, partial(subject_series, part.olt_id, part.pk, subject=Subject.PART)
        )


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
