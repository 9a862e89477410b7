"""Maintenance windows."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.core.maintenance import WEEKDAYS
from facho.engine.commands import maintenance
from facho.engine.commands.input_checks import LONGEST_NAME
from facho.web.api.base import ReadOnlyRows, no_content
from facho.web.api.input import Given, Interval, errors_at, read_input

_FIELDS: Final = {"start": "start_time"}


class WindowSerializer(serializers.ModelSerializer[MaintenanceWindow]):
    olt_name = serializers.CharField(source="olt.name", read_only=True, default=None, allow_null=True)
    weekdays = serializers.SerializerMethodField()

    class Meta:
        model = MaintenanceWindow
        fields = (
            "id", "name", "olt", "olt_name", "site", "starts_at", "ends_at", "weekdays", "start_time",
            "duration_s", "enabled", "ended_at", "created_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_weekdays(self, window: MaintenanceWindow) -> list[str]:
        return window.weekdays.split(",") if window.weekdays else []


class WindowGiven(Given):
    """A window of an OLT or a site: once from `starts_at`, or weekly at a local time."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    olt = serializers.PrimaryKeyRelatedField(
        queryset=Olt.objects.defer("credentials"), required=False, allow_null=True
    )
    site = serializers.CharField(max_length=LONGEST_NAME, required=False, allow_blank=True)
    starts_at = serializers.DateTimeField(required=False, allow_null=True)
    ends_at = serializers.DateTimeField(required=False, allow_null=True)
    weekdays = serializers.ListField(child=serializers.ChoiceField(WEEKDAYS), required=False, max_length=7)
    start_time = serializers.TimeField(required=False, allow_null=True)
    duration = Interval(required=False, allow_null=True)
    enabled = serializers.BooleanField(required=False)


class Windows(ReadOnlyRows[MaintenanceWindow]):
    about = "maintenance.maintenancewindow"
    rights: ClassVar = {"end": "change"}
    queryset = MaintenanceWindow.objects.select_related("olt").defer("olt__credentials")
    serializer_class = WindowSerializer
    filterset_fields: ClassVar = ("name", "olt", "site", "enabled")
    orderings: ClassVar = ("name", "id", "starts_at", "ends_at")

    @extend_schema(request=WindowGiven, responses={status.HTTP_201_CREATED: WindowSerializer})
    def create(self, request: Request) -> Response:
        """Add a window. During it the OLTs are not asked, alarms are silent and slots do not count."""
        with errors_at(_FIELDS):
            made = maintenance.add_window(_window(read_input(WindowGiven, request)), database_now())
        return self.show_created(request, made.pk)

    @extend_schema(request=WindowGiven, responses=WindowSerializer)
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields."""
        window = self.get_object()
        given = {**_stored_input(window), **read_input(WindowGiven, request, partial=True)}
        with errors_at(_FIELDS):
            maintenance.change_window(window.pk, _window(given), database_now())
        return self.show_row(window.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Remove a window. If it is under way, it ends."""
        maintenance.remove_windows([self.get_object().name], database_now())
        return no_content()

    @extend_schema(request=None, responses=WindowSerializer)
    @action(methods=["post"], detail=True)
    def end(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """End a window that is under way. A weekly one comes again."""
        window = self.get_object()
        maintenance.end_window(window.name, database_now())
        return self.show_row(window.pk)


def _stored_input(window: MaintenanceWindow) -> dict[str, Any]:
    return {
        "name": window.name,
        "olt": window.olt,
        "site": window.site,
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "weekdays": window.weekdays.split(",") if window.weekdays else [],
        "start_time": window.start_time,
        "duration": None if window.duration_s is None else f"{window.duration_s}s",
        "enabled": window.enabled,
    }


def _window(given: dict[str, Any]) -> maintenance.Window:
    olt = given.get("olt")
    return maintenance.Window(
        given["name"],
        olt=olt.name if olt else "",
        site=given.get("site", ""),
        starts_at=given.get("starts_at"),
        ends_at=given.get("ends_at"),
        weekdays=given.get("weekdays", ()),
        start=given.get("start_time"),
        duration=given.get("duration"),
        enabled=given.get("enabled", True),
    )
