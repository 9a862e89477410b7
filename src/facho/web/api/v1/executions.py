"""Executions: one run of a node on its OLT."""

from __future__ import annotations

from typing import ClassVar

from rest_framework import serializers

from facho.apps.executions.models import Execution
from facho.web.api.base import ReadOnlyRows


class ExecutionSerializer(serializers.ModelSerializer[Execution]):
    class Meta:
        model = Execution
        fields = ("id", "node", "olt", "state", "trigger", "slot", "queued_at", "started_at", "ended_at")


class Executions(ReadOnlyRows[Execution]):
    about = "executions.execution"
    queryset = Execution.objects.all()
    serializer_class = ExecutionSerializer
    orderings: ClassVar = ("-id",)
