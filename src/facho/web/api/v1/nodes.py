"""Nodes: one job on one OLT, and when it runs there."""

from __future__ import annotations

from typing import Any, ClassVar

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.engine.clock import database_now
from facho.engine.commands import runs
from facho.web.api.base import ReadOnlyRows


class NodeSerializer(serializers.ModelSerializer[SnmpJobHost]):
    job_name = serializers.CharField(source="job.name", read_only=True)
    olt_name = serializers.CharField(source="olt.name", read_only=True)

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


class StartedSerializer(serializers.Serializer[Any]):
    """The execution that will do it."""

    execution = serializers.IntegerField()
    url = serializers.URLField()


class Nodes(ReadOnlyRows[SnmpJobHost]):
    about = "snmp_jobs.snmpjobhost"
    rights: ClassVar = {"run": "run"}
    queryset = SnmpJobHost.objects.select_related("job", "olt")
    serializer_class = NodeSerializer
    filterset_class = NodeFilter
    orderings: ClassVar = ("id", "next_run_at", "last_run_at", "olt__name", "job__name")

    @extend_schema(request=None, responses={status.HTTP_202_ACCEPTED: StartedSerializer})
    @action(methods=["post"], detail=True)
    def run(self, request: Request, **_: Any) -> Response:
        """Run it before all else that waits. Asked again before it began, it is the same execution."""
        return accepted(request, runs.run_now(self.get_object().id, database_now()))


def accepted(request: Request, execution_id: int) -> Response:
    url = reverse("api:execution-detail", args=[execution_id], request=request)
    said = {"execution": execution_id, "url": url}
    return Response(said, status=status.HTTP_202_ACCEPTED, headers={"Location": url})
