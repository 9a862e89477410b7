"""What commands answer when they have changed something."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from facho.engine.coordinate.changes import ReplanResult


class ReplannedSerializer(serializers.Serializer[Any]):
    """What it did to the schedule."""

    nodes = serializers.IntegerField(help_text="nodes that start anew")
    first_run_at = serializers.DateTimeField(allow_null=True, help_text="the first of them")
    aborted = serializers.IntegerField(help_text="executions that had not ended")


def replanned(done: ReplanResult) -> Response:
    first = min(done.first_runs.values(), default=None)
    said = {"nodes": len(done.first_runs), "first_run_at": first, "aborted": done.aborted}
    return Response(ReplannedSerializer(said).data)
