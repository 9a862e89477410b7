"""Quotas of OLTs per hour, and their violations."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import (
    QuotaStatus,
    QuotaTracker,
    QuotaViolation,
    ViolationSeverity,
)
from facho.config import current
from facho.engine.commands.acknowledgements import acknowledge_violation
from facho.web.api.base import OltRowSerializer, ReadOnlyRows, ReasonsInWords, no_content
from facho.web.api.filters import OfOlt, OneOf, TrueOrFalse
from facho.web.api.input import Given, errors_at, read_input
from facho.web.components.quotas import at_risk


class QuotaSerializer(ReasonsInWords, OltRowSerializer[QuotaTracker]):
    reasons = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = QuotaTracker
        fields = (
            "id", "olt", "olt_name", "task_type", "period_start", "period_end", "quota_required",
            "quota_completed", "quota_failed", "quota_skipped", "quota_pending", "total_duration_ms",
            "avg_duration_ms", "reasons", "status", "closed_at", "created_at", "updated_at",
        )  # fmt: skip


class QuotaFilter(OfOlt):
    by_time = "period_start"
    status = OneOf(QuotaStatus.values)
    at_risk = TrueOrFalse(method="is_at_risk", help_text="the quota can no longer be met")

    class Meta:
        model = QuotaTracker
        fields = ("task_type",)

    def is_at_risk(self, rows: Any, _name: str, wanted: bool) -> Any:
        risky = at_risk(current().quota_kept)
        return rows.filter(risky if wanted else ~risky)


class Quotas(ReadOnlyRows[QuotaTracker]):
    about = "execution_coordinator.quotatracker"
    queryset = QuotaTracker.objects.annotate(olt_name=F("olt__name"))
    serializer_class = QuotaSerializer
    filterset_class = QuotaFilter
    orderings: ClassVar = ("-period_start",)


class ViolationSerializer(ReasonsInWords, OltRowSerializer[QuotaViolation]):
    """`report` has the required and completed runs of each task, and why runs are missing."""

    report = serializers.DictField(read_only=True)

    class Meta:
        model = QuotaViolation
        fields = (
            "id", "olt", "olt_name", "period_start", "period_end", "severity", "report", "notified",
            "notified_at", "acknowledged_at", "acknowledged_by", "acknowledged_note", "created_at",
        )  # fmt: skip


class NoteGiven(Given):
    note = serializers.CharField(required=False, allow_blank=True, max_length=200, help_text="what was done")


class ViolationFilter(OfOlt):
    by_time = "created_at"
    severity = OneOf(ViolationSeverity.values)
    notified = TrueOrFalse(method="is_notified")
    acknowledged = TrueOrFalse(method="is_acknowledged")

    def is_notified(self, rows: Any, _name: str, wanted: bool) -> Any:
        # SQLite uses no index for the SQL that Django writes for a boolean.
        return rows.filter(notified__in=[wanted])

    def is_acknowledged(self, rows: Any, _name: str, wanted: bool) -> Any:
        # In the words of the partial indexes: SQLite uses none for a negation.
        return rows.filter(acknowledged_at__isnull=not wanted)


class Violations(ReadOnlyRows[QuotaViolation]):
    about = "execution_coordinator.quotaviolation"
    rights: ClassVar = {"acknowledge": "acknowledge"}
    queryset = QuotaViolation.objects.annotate(olt_name=F("olt__name"))
    serializer_class = ViolationSerializer
    filterset_class = ViolationFilter
    orderings: ClassVar = ("-created_at",)

    @extend_schema(request=NoteGiven, responses={status.HTTP_204_NO_CONTENT: None})
    @action(methods=["post"], detail=True)
    def acknowledge(self, request: Request, **_: Any) -> Response:
        """Record that a person has seen the violation, with a note. The first person stays recorded."""
        why = read_input(NoteGiven, request).get("note", "")
        with errors_at({"note": "note"}):
            by = request.user.get_username()
            acknowledge_violation(self.get_object().id, by, database_now(), why)
        return no_content()
