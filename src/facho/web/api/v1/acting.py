"""What operators do to what the engine made: end an execution, and note that a violation was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.clock import database_now
from facho.engine.commands import acknowledgements, runs


class CanBeAborted:
    rights: ClassVar[Mapping[str, str]] = {"abort": "run"}

    @extend_schema(request=None, responses={status.HTTP_204_NO_CONTENT: None})
    @action(methods=["post"], detail=True)
    def abort(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """What runs stops at its next request, and writes nothing. Refused when it has ended."""
        row: Any = self
        runs.abort_execution(row.get_object().id, database_now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class CanBeAcknowledged:
    rights: ClassVar[Mapping[str, str]] = {"acknowledge": "acknowledge"}

    @extend_schema(request=None, responses={status.HTTP_204_NO_CONTENT: None})
    @action(methods=["post"], detail=True)
    def acknowledge(self, request: Request, **_: Any) -> Response:
        """Note that it was seen, and by whom. Who did it first stays."""
        row: Any = self
        acknowledgements.acknowledge_violation(
            row.get_object().id, request.user.get_username(), database_now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
