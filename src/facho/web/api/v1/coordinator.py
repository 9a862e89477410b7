"""The coordinator: the state of all it watches over, and its log."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.config import current
from facho.core.journal import Event, Level
from facho.engine.clock import database_now
from facho.engine.condition import Condition, coordinator_state
from facho.web.api.base import ReadOnlyRows
from facho.web.api.filters import OfOlt, OneOf, TrueOrFalse
from facho.web.api.values import described


class LogSerializer(serializers.ModelSerializer[CoordinatorLog]):
    """`olt` is null for what concerns them all."""

    olt_name = serializers.CharField(read_only=True, allow_null=True)
    details = serializers.DictField(read_only=True)

    class Meta:
        model = CoordinatorLog
        fields = ("id", "timestamp", "level", "event_type", "olt", "olt_name", "message", "details")


class LogFilter(OfOlt):
    by_time = "timestamp"
    event_type = OneOf(Event)
    level = OneOf(Level)
    everybody = TrueOrFalse(field_name="olt", lookup_expr="isnull", help_text="about no single OLT")

    class Meta:
        model = CoordinatorLog
        fields = ()


class Logs(ReadOnlyRows[CoordinatorLog]):
    about = "execution_coordinator.coordinatorlog"
    queryset = CoordinatorLog.objects.annotate(olt_name=F("olt__name"))
    serializer_class = LogSerializer
    filterset_class = LogFilter
    orderings: ClassVar = ("-timestamp",)


class Coordinator(APIView):
    about = "execution_coordinator.coordinatorstate"

    @extend_schema(responses=described(Condition))
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """OLTs, nodes, leases, queue, quotas of this hour, and when the loops last stepped."""
        return Response(coordinator_state(database_now(), current()).as_json())
