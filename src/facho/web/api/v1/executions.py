"""Executions and skipped slots."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F, QuerySet
from django_filters import CharFilter
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.executions.models import Attempt, Execution, SkippedSlots, State, Trigger
from facho.core.delay import Why
from facho.engine.commands import runs
from facho.web.api.base import OltRowSerializer, ReadOnlyRows, ReasonsInWords, ReasonText, no_content
from facho.web.api.filters import Number, OfOlt, OneOf, TrueOrFalse


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    error = ReasonText()

    class Meta:
        model = Attempt
        fields = ("number", "started_at", "ended_at", "error", "worker")


class ExecutionSerializer(OltRowSerializer[Execution]):
    job = serializers.IntegerField(read_only=True, allow_null=True)
    job_name = serializers.CharField(read_only=True, allow_null=True)
    task_type = serializers.CharField(read_only=True, allow_null=True)
    duration_ms = serializers.SerializerMethodField()
    counts = serializers.DictField(child=serializers.IntegerField(), read_only=True)
    load = serializers.DictField(child=serializers.FloatField(), read_only=True)
    error = ReasonText()

    class Meta:
        model = Execution
        fields: tuple[str, ...] = (
            "id", "node", "job", "job_name", "task_type", "olt", "olt_name", "onu", "state", "trigger",
            "run_now", "slot", "not_before", "queued_at", "started_at", "ended_at", "duration_ms", "delay_ms",
            "why_late", "blocked_by", "attempt", "counts", "load", "error", "worker",
        )  # fmt: skip

    def get_duration_ms(self, execution: Execution) -> int | None:
        if execution.started_at is None or execution.ended_at is None:
            return None
        return round((execution.ended_at - execution.started_at).total_seconds() * 1000)


class WholeExecutionSerializer(ReasonsInWords, ExecutionSerializer):
    """An execution with its parts, result and attempts."""

    parts = serializers.ListField(child=serializers.DictField(), read_only=True)
    result = serializers.DictField(read_only=True)
    attempts = AttemptSerializer(many=True, read_only=True)

    class Meta(ExecutionSerializer.Meta):
        fields = (*ExecutionSerializer.Meta.fields, "parts", "result", "attempts")


class ExecutionFilter(OfOlt):
    by_time = "slot"
    only_with: ClassVar = dict.fromkeys(
        ("run_now", "trigger", "late", "why_late"), ("olt", "node", "onu", "from")
    )
    job = Number(field_name="node__job")
    onu = Number(help_text="executions that read this ONU only")
    task_type = CharFilter(field_name="node__job__task_type")
    state = OneOf(State.values)
    trigger = OneOf(Trigger.values)
    late = TrueOrFalse(method="is_late", help_text="started late, with a recorded reason")
    why_late = OneOf(Why)

    class Meta:
        model = Execution
        fields = ("node", "run_now")

    def is_late(self, rows: Any, _name: str, wanted: bool) -> Any:
        return rows.exclude(why_late="") if wanted else rows.filter(why_late="")


class Executions(ReadOnlyRows[Execution]):
    about = "executions.execution"
    rights: ClassVar = {"abort": "run"}
    queryset = Execution.objects.annotate(
        olt_name=F("olt__name"),
        job=F("node__job"),
        job_name=F("node__job__name"),
        task_type=F("node__job__task_type"),
    ).defer("owes", "lease_token")
    filterset_class = ExecutionFilter
    orderings: ClassVar = ("-id", "-slot")

    def get_serializer_class(self) -> type[ExecutionSerializer]:
        return ExecutionSerializer if self.action == "list" else WholeExecutionSerializer

    def get_queryset(self) -> QuerySet[Execution]:
        rows = super().get_queryset()
        if self.action == "list":
            return rows.defer("owes", "lease_token", "parts", "result")
        return rows.prefetch_related("attempts")

    @extend_schema(request=None, responses={status.HTTP_204_NO_CONTENT: None})
    @action(methods=["post"], detail=True)
    def abort(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Abort an execution. A running one stops at its next request and stores nothing."""
        runs.abort_execution(self.get_object().id, database_now())
        return no_content()


class SkippedSlotsSerializer(OltRowSerializer[SkippedSlots]):
    job_name = serializers.CharField(read_only=True)
    detail = ReasonText()

    class Meta:
        model = SkippedSlots
        fields = (
            "id", "node", "job_name", "olt", "olt_name", "first_slot", "last_slot", "count", "why", "detail",
            "execution",
        )  # fmt: skip


class SkippedSlotsFilter(OfOlt):
    by_time = "last_slot"
    only_with: ClassVar = {"why": ("olt", "node", "from")}
    job = Number(field_name="node__job")
    why = OneOf(Why)

    class Meta:
        model = SkippedSlots
        fields = ("node",)


class SkippedSlotsRows(ReadOnlyRows[SkippedSlots]):
    about = "executions.skippedslots"
    queryset = SkippedSlots.objects.annotate(olt_name=F("olt__name"), job_name=F("node__job__name"))
    serializer_class = SkippedSlotsSerializer
    filterset_class = SkippedSlotsFilter
    orderings: ClassVar = ("-last_slot", "id")
