"""Plans of OLTs per hour, and forecasts of the duration of tasks."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F, QuerySet
from rest_framework import serializers

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus, TaskForecast
from facho.config import current
from facho.core.forecast import Learned, Predicted, predict, typical_error
from facho.web.api.base import OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import OfOlt, OneOf, TrueOrFalse


class PlanSerializer(OltRowSerializer[ExecutionPlan]):
    """`infeasible` is null when all work fits; else it has the tasks at risk and a change that would fit."""

    infeasible = serializers.DictField(read_only=True, allow_null=True)

    class Meta:
        model = ExecutionPlan
        fields: tuple[str, ...] = (
            "id", "olt", "olt_name", "period_start", "period_end", "status", "total_tasks",
            "completed_tasks", "failed_tasks", "lost_slots", "waiting_runs", "load_p50_min", "load_p95_min",
            "infeasible", "compared", "median_error_s", "near_pct", "created_at", "updated_at",
        )  # fmt: skip


class WholePlanSerializer(PlanSerializer):
    """A plan with its runs. Times in `plan_data` are seconds after the start of the hour."""

    plan_data = serializers.DictField(read_only=True)

    class Meta(PlanSerializer.Meta):
        fields = (*PlanSerializer.Meta.fields, "plan_data")


class PlanFilter(OfOlt):
    by_time = "period_start"
    status = OneOf(PlanStatus.values)
    fits = TrueOrFalse(field_name="infeasible", lookup_expr="isnull", help_text="all work fits into the hour")


class Plans(ReadOnlyRows[ExecutionPlan]):
    about = "execution_coordinator.executionplan"
    queryset = ExecutionPlan.objects.annotate(olt_name=F("olt__name"))
    filterset_class = PlanFilter
    orderings: ClassVar = ("-period_start",)

    def get_serializer_class(self) -> type[PlanSerializer]:
        return PlanSerializer if self.action == "list" else WholePlanSerializer

    def get_queryset(self) -> QuerySet[ExecutionPlan]:
        rows = super().get_queryset()
        return rows.defer("plan_data") if self.action == "list" else rows


class ForecastSerializer(OltRowSerializer[TaskForecast]):
    """`p50_s` is the expected duration that half of the runs do not exceed, `p95_s` that of 95 %."""

    p50_s = serializers.SerializerMethodField()
    p95_s = serializers.SerializerMethodField()
    error_s = serializers.SerializerMethodField(
        allow_null=True, help_text="half of the runs are at most this far from their prediction"
    )
    error_pct = serializers.FloatField(
        read_only=True, allow_null=True, help_text="the same in per cent of the longer of prediction and run"
    )

    class Meta:
        model = TaskForecast
        fields = (
            "id", "olt", "olt_name", "task_type", "p50_s", "p95_s", "fixed_s", "per_onu_s", "samples",
            "error_s", "error_pct", "updated_at",
        )  # fmt: skip

    def get_p50_s(self, forecast: TaskForecast) -> float:
        return round(self._predicted(forecast).p50_s, 3)

    def get_p95_s(self, forecast: TaskForecast) -> float:
        return round(self._predicted(forecast).p95_s, 3)

    def get_error_s(self, forecast: TaskForecast) -> float | None:
        typical = typical_error(self._predicted(forecast).p50_s, forecast.error_pct)
        return None if typical is None else round(typical.seconds, 3)

    def _predicted(self, forecast: TaskForecast) -> Predicted:
        learned = Learned.from_json(forecast.state)
        return predict(learned, self.context["now"], learned.onus, current().time_zone)


class ForecastFilter(OfOlt):
    class Meta:
        model = TaskForecast
        fields = ("task_type",)


class Forecasts(ReadOnlyRows[TaskForecast]):
    about = "execution_coordinator.taskforecast"
    queryset = TaskForecast.objects.annotate(olt_name=F("olt__name"))
    serializer_class = ForecastSerializer
    filterset_class = ForecastFilter

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "now": database_now()}
