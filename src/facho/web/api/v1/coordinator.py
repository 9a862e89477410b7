"""The state of the coordinator, its log, and large removals of old rows."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.config import current
from facho.core.event_types import EventType, Level
from facho.engine.commands.acknowledgements import confirm_removal
from facho.engine.upkeep.retention_holds import read_hold
from facho.engine.upkeep.system_status import Condition, read_system_status
from facho.web.api.base import ReadOnlyRows, ReasonsInWords, no_content
from facho.web.api.dataclass_schema import describe_dataclass
from facho.web.api.filters import OfOlt, OneOf, TrueOrFalse
from facho.web.words.events import log_message


class LogSerializer(ReasonsInWords, serializers.ModelSerializer[CoordinatorLog]):
    """`olt` is null for events that concern all OLTs."""

    olt_name = serializers.CharField(read_only=True, allow_null=True)
    details = serializers.DictField(read_only=True)
    message = serializers.SerializerMethodField()

    class Meta:
        model = CoordinatorLog
        fields = ("id", "timestamp", "level", "event_type", "olt", "olt_name", "message", "details")

    def get_message(self, log: CoordinatorLog) -> str:
        """Return the line of the file, in the operator's language, unless a language is asked for."""
        request = self.context.get("request")
        return (
            log.message if request is None or "Accept-Language" not in request.headers else log_message(log)
        )


class LogFilter(OfOlt):
    by_time = "timestamp"
    event_type = OneOf(EventType)
    level = OneOf(Level)
    everybody = TrueOrFalse(field_name="olt", lookup_expr="isnull", help_text="events that concern all OLTs")


class Logs(ReadOnlyRows[CoordinatorLog]):
    about = "execution_coordinator.coordinatorlog"
    queryset = (
        CoordinatorLog.objects.select_related("olt")
        .defer("olt__credentials")
        .annotate(olt_name=F("olt__name"))
    )
    serializer_class = LogSerializer
    filterset_class = LogFilter
    orderings: ClassVar = ("-timestamp",)


class WaitingTable(serializers.Serializer[Any]):
    table = serializers.CharField()
    before = serializers.DateTimeField(help_text="older rows would be removed")
    going = serializers.IntegerField()
    there = serializers.IntegerField()


class WaitingRemoval(serializers.Serializer[Any]):
    """A removal that waits for confirmation. A new situation gets a new `id`."""

    id = serializers.IntegerField()
    since = serializers.DateTimeField()
    tables = WaitingTable(many=True)
    confirmed_at = serializers.DateTimeField(allow_null=True)
    confirmed_by = serializers.CharField(allow_blank=True)


class Retention(GenericViewSet[Any]):
    about = "execution_coordinator.coordinatorstate"
    serializer_class = WaitingRemoval
    lookup_value_regex = "[0-9]{1,18}"
    rights: ClassVar = {"confirm": "change"}
    pagination_class = None
    filter_backends = ()

    @extend_schema(responses=WaitingRemoval(many=True))
    def list(self, request: Request) -> Response:  # noqa: ARG002
        """The removal that waits for confirmation because it would delete most of a table: none or one."""
        shown = read_hold()
        return Response([] if shown is None else [{"id": shown.id, **shown.hold.as_json()}])

    @extend_schema(
        request=None,
        responses={status.HTTP_204_NO_CONTENT: None},
        parameters=[OpenApiParameter("id", int, OpenApiParameter.PATH)],
    )
    @action(methods=["post"], detail=True)
    def confirm(self, request: Request, pk: str) -> Response:
        """Allow the removal with this id. Rows are deleted in chunks."""
        confirm_removal(int(pk), request.user.get_username(), database_now())
        return no_content()


class Coordinator(APIView):
    about = "execution_coordinator.coordinatorstate"

    @extend_schema(responses=describe_dataclass(Condition))
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """OLTs, nodes, leases, queue, quotas of this hour, and the last steps of the loops."""
        return Response(read_system_status(database_now(), current()).as_json())
