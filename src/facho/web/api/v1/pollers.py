"""Pollers, their queue and their load."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import F
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.executions import selectors as executions
from facho.apps.executions.models import ACTIVE
from facho.apps.executions.selectors import QueuedExecution, WaitCause
from facho.apps.zabbix_pollers.models import Poller, PollerStats
from facho.apps.zabbix_pollers.selectors import last_poller_stats, poller_stats, read_pool
from facho.config import current
from facho.web.api.base import ReadOnlyRows
from facho.web.api.filters import Filters
from facho.web.words.executions import wait_reason

_NEXT_SHOWN: Final = 10


class PollerSerializer(serializers.ModelSerializer[Poller]):
    olt = serializers.IntegerField(read_only=True, allow_null=True)
    olt_name = serializers.CharField(read_only=True, allow_null=True)
    job_name = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = Poller
        fields = (
            "id", "poller_id", "worker", "status", "current_node", "job_name", "olt", "olt_name", "busy_time",
            "total_time", "tasks_completed", "tasks_delayed", "heartbeat",
        )  # fmt: skip


class NextNodeSerializer(serializers.Serializer[QueuedExecution]):
    """An execution in the queue. `reason` is a code, `waits_for` is its text."""

    execution = serializers.IntegerField(source="execution_id")
    node = serializers.IntegerField(source="node_id", allow_null=True)
    job_name = serializers.CharField(source="job")
    olt = serializers.IntegerField(source="olt_id")
    olt_name = serializers.CharField(source="olt")
    run_now = serializers.BooleanField()
    slot = serializers.DateTimeField()
    since = serializers.DateTimeField(help_text="when it may start; in the future for a retry")
    reason = serializers.SerializerMethodField()
    because_of = serializers.CharField(help_text="the job on the same OLT that it waits for")
    waits_for = serializers.SerializerMethodField()

    @extend_schema_field({"type": "string", "enum": [each.name.lower() for each in WaitCause]})
    def get_reason(self, queued: QueuedExecution) -> str:
        return queued.reason.name.lower()

    def get_waits_for(self, queued: QueuedExecution) -> str:
        return wait_reason(queued)


class QueueSerializer(serializers.Serializer[Any]):
    size = serializers.IntegerField(help_text="executions that are due")
    is_overload = serializers.BooleanField(help_text="the oldest has waited too long")
    oldest_waits_s = serializers.FloatField(allow_null=True)
    retries = serializers.IntegerField(help_text="executions that wait for their next attempt")
    next_nodes = NextNodeSerializer(many=True)


class StatsSerializer(serializers.ModelSerializer[PollerStats]):
    class Meta:
        model = PollerStats
        exclude = ("id",)


class PollerFilter(Filters):
    class Meta:
        model = Poller
        fields = ("status", "worker")


class Pollers(ReadOnlyRows[Poller]):
    about = "zabbix_pollers.poller"
    queryset = Poller.objects.annotate(
        olt=F("current_node__olt"),
        olt_name=F("current_node__olt__name"),
        job_name=F("current_node__job__name"),
    )
    serializer_class = PollerSerializer
    filterset_class = PollerFilter

    @extend_schema(responses=QueueSerializer, filters=False)
    @action(detail=False, pagination_class=None, filterset_class=None)
    def queue(self, request: Request) -> Response:  # noqa: ARG002
        """The queue, and why the first executions in it wait."""
        now, config = database_now(), current()
        held = executions.held_olts(now)
        pollers = read_pool(now, config, busy=sum(each.state in ACTIVE for each in held))
        found = executions.read_queue(now, held, pollers.pollers, pollers.free, limit=_NEXT_SHOWN)
        waits = None if found.oldest is None else now - found.oldest
        shown = {
            "size": found.size,
            "is_overload": waits is not None and waits > config.queue_overload_after,
            "oldest_waits_s": None if waits is None else round(waits.total_seconds(), 3),
            "retries": found.retries,
            "next_nodes": found.first,
        }
        return Response(QueueSerializer(shown).data)

    @extend_schema(responses=StatsSerializer, filters=False)
    @action(detail=False, pagination_class=None, filterset_class=None)
    def stats(self, request: Request) -> Response:  # noqa: ARG002
        """The load of the pollers now."""
        now = database_now()
        return Response(StatsSerializer(poller_stats(now, current(), last_poller_stats(now))).data)


class StatsFilter(Filters):
    by_time = "timestamp"

    class Meta:
        model = PollerStats
        fields = ("is_saturated",)


class StatsRowSerializer(StatsSerializer):
    class Meta:
        model = PollerStats
        fields = "__all__"


class StatsHistory(ReadOnlyRows[PollerStats]):
    about = "zabbix_pollers.pollerstats"
    queryset = PollerStats.objects.all()
    serializer_class = StatsRowSerializer
    filterset_class = StatsFilter
    orderings: ClassVar = ("-timestamp",)
