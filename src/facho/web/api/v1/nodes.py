"""Nodes: one job on one OLT."""

from __future__ import annotations

from typing import Any, ClassVar

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from facho.apps.db.database import database_now
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.engine.commands import nodes, runs
from facho.engine.commands.nodes import KEEP, NodeChanges
from facho.engine.commands.what_if import Change
from facho.web.api.base import ReadOnlyRows, ReasonText, ReplannedSerializer, Rows, show_replanned
from facho.web.api.input import Given, Interval, read_input
from facho.web.api.v1.what_if import PREVIEW, or_what_if, show_what_if, wants_preview


class NodeSerializer(serializers.ModelSerializer[SnmpJobHost]):
    job_name = serializers.CharField(source="job.name", read_only=True)
    olt_name = serializers.CharField(source="olt.name", read_only=True)
    suspended_reason = ReasonText()

    class Meta:
        model = SnmpJobHost
        fields = (
            "id", "job", "job_name", "olt", "olt_name", "enabled", "interval_s", "priority", "next_run_at",
            "last_run_at", "failures_in_a_row", "suspended_reason", "suspended_at", "next_probe_at",
            "created_at",
        )  # fmt: skip


class NodeFilter(filters.FilterSet):
    suspended = filters.BooleanFilter(method="is_suspended")

    class Meta:
        model = SnmpJobHost
        fields = ("olt", "job", "enabled")

    def is_suspended(self, rows: Any, _name: str, wanted: bool) -> Any:
        return rows.exclude(suspended_reason="") if wanted else rows.filter(suspended_reason="")


class NodeChange(Given):
    """Changes of a node. Null means the value of its job."""

    interval = Interval(allow_null=True)
    priority = serializers.IntegerField(min_value=1, max_value=100, allow_null=True)
    enabled = serializers.BooleanField()


class ShiftGiven(Given):
    by = Interval()


class ShiftedSerializer(serializers.Serializer[Any]):
    next_run_at = serializers.DateTimeField()


class StartedSerializer(serializers.Serializer[Any]):
    """The execution that was queued."""

    execution = serializers.IntegerField()
    url = serializers.URLField()


class RunNow(Rows[SnmpJobHost]):
    about = "snmp_jobs.snmpjobhost"
    rights: ClassVar = {"run": "run", "enable": "enable", "disable": "enable", "shift": "change"}
    queryset = SnmpJobHost.objects.select_related("job", "olt").defer("olt__credentials")
    serializer_class = NodeSerializer

    @extend_schema(request=None, responses={status.HTTP_202_ACCEPTED: StartedSerializer})
    @action(methods=["post"], detail=True)
    def run(self, request: Request, **_: Any) -> Response:
        """Run a node before all in the queue. Called again before it starts, it is the same execution."""
        return show_queued(request, runs.run_now(self.get_object().id, database_now()))


class Nodes(ReadOnlyRows[SnmpJobHost], RunNow):
    filterset_class = NodeFilter
    orderings: ClassVar = ("id", "next_run_at", "last_run_at", "olt__name", "job__name")

    @extend_schema(
        request=NodeChange, parameters=[PREVIEW], responses={status.HTTP_200_OK: or_what_if(NodeSerializer)}
    )
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields. With a new interval the next run is one interval from now."""
        node = self.get_object()
        given = read_input(NodeChange, request, partial=True)
        wanted = NodeChanges(given.get("interval", KEEP), given.get("priority", KEEP), given.get("enabled"))
        if wants_preview(request):
            change = Change(lambda draft: draft.update_node(node.id, wanted), {node.olt_id: node.olt.name})
            return show_what_if(request, change)
        nodes.update_node(node.id, wanted, database_now())
        return self.show_row(node.pk)

    @extend_schema(request=None, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def enable(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Enable a node: it runs after one full interval. A suspended node is resumed."""
        return show_replanned(nodes.enable_nodes([self.get_object().id], database_now()))

    @extend_schema(request=None, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def disable(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Disable it. Running executions finish and count."""
        return show_replanned(nodes.disable_nodes([self.get_object().id], database_now()))

    @extend_schema(request=ShiftGiven, responses=ShiftedSerializer)
    @action(methods=["post"], detail=True)
    def shift(self, request: Request, **_: Any) -> Response:
        """Move all slots of a node later by a time."""
        by = read_input(ShiftGiven, request)["by"]
        moved = nodes.shift_grid(self.get_object().id, by, database_now())
        return Response(ShiftedSerializer({"next_run_at": moved}).data)


def show_queued(request: Request, execution_id: int) -> Response:
    url = reverse("api:execution-detail", args=[execution_id], request=request)
    shown = {"execution": execution_id, "url": url}
    return Response(shown, status=status.HTTP_202_ACCEPTED, headers={"Location": url})
