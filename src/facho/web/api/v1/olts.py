"""OLTs: what is collected from, how it is, and what was learned about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.chassis.selectors import HARDWARE_VERSION
from facho.apps.db.database import database_now
from facho.apps.hosts.health import Health, health_of, status_reason, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.reason_words import reason_words
from facho.config import current
from facho.core.reasons import Reason
from facho.engine.collect.identify import Identified
from facho.engine.commands import olts
from facho.engine.commands.connection_test import (
    Silence,
    check_connection,
    check_new_connection,
    detected_rows,
)
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import count_rows_removed_with, remove_olt
from facho.engine.upkeep.olt_removal import FIRST_CHUNKS
from facho.web.api.base import ReadOnlyRows, ReasonText, ReplannedSerializer, reason_writer, show_replanned
from facho.web.api.input import Given, errors_at, read_input
from facho.web.api.v1.olt_input import FIELDS, OltGiven, new_olt, olt_changes
from facho.web.api.v1.traffic import PonUseSerializer, pon_rows

# Names of states in this version of the API, where they differ.
_STATES: Final = {Health.FINE: "reachable", Health.NEVER_ASKED: "new"}


class OltSerializer(serializers.ModelSerializer[Olt]):
    brand_name = serializers.CharField(source="brand.name", read_only=True)
    model_name = serializers.CharField(source="model.name", read_only=True, default=None, allow_null=True)
    state = serializers.SerializerMethodField()
    suspended_reason = ReasonText()
    state_reason = serializers.SerializerMethodField(
        help_text="why it is suspended, degraded or overloaded; empty in every other state"
    )
    down_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="when it stopped answering; a suspension does not move it"
    )

    class Meta:
        model = Olt
        fields = (
            "id", "name", "brand", "brand_name", "model", "model_name", "address", "port", "snmp_version",
            "site", "enabled", "disabled_at", "disabled_by", "disabled_reason", "state", "state_reason",
            "reachable", "down_since", "unreachable_since", "suspended_reason", "suspended_at",
            "next_probe_at", "failed_in_a_row", "max_in_flight", "max_varbinds", "max_requests_per_second",
            "shortest_interval_s", "learned", "lacks", "cpu_pct", "cpu_read_at", "version", "uptime_s",
            "uptime_read_at", "sys_descr", "sys_object_id", "created_at", "removed_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field({"type": "string", "enum": [_STATES.get(health, health.value) for health in Health]})
    def get_state(self, olt: Olt) -> str:
        health = health_of(olt, self.context["left_alone"])
        return _STATES.get(health, health.value)

    def get_state_reason(self, olt: Olt) -> str:
        reason = status_reason(olt, health_of(olt, self.context["left_alone"]))
        return reason_writer(self.context.get("request"))(reason)


class ReasonGiven(Given):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=200, help_text="why")


class OltFilter(filters.FilterSet):
    search = filters.CharFilter(method="is_like", help_text="part of the name, the address or the site")
    suspended = filters.BooleanFilter(method="is_suspended")
    state = filters.ChoiceFilter(
        choices=[(_STATES.get(health, health.value), health.label) for health in Health], method="has_state"
    )

    hw_version = filters.CharFilter(method="has_hardware", help_text="hardware version of the OLT itself")

    class Meta:
        model = Olt
        fields = ("name", "brand", "model", "site", "enabled", "reachable", "version")

    def has_hardware(self, rows: QuerySet[Olt], _name: str, wanted: str) -> QuerySet[Olt]:
        return rows.alias(hardware=HARDWARE_VERSION).filter(hardware=wanted)

    def is_like(self, rows: QuerySet[Olt], _name: str, text: str) -> QuerySet[Olt]:
        return rows.filter(Q(name__icontains=text) | Q(address__icontains=text) | Q(site__icontains=text))

    def has_state(self, rows: QuerySet[Olt], _name: str, wanted: str) -> QuerySet[Olt]:
        health = next(each for each in Health if _STATES.get(each, each.value) == wanted)
        return with_health(olts_under_maintenance(database_now()), rows).filter(condition=health)

    def is_suspended(self, rows: QuerySet[Olt], _name: str, wanted: bool) -> QuerySet[Olt]:
        suspended = Q(condition=Health.SUSPENDED)
        return with_health(olts_under_maintenance(database_now()), rows).filter(
            suspended if wanted else ~suspended
        )


class TestedSerializer(serializers.Serializer[Any]):
    """The identity that the OLT reports, or the reason why it does not answer."""

    answers = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)
    brand = serializers.IntegerField(allow_null=True)
    brand_name = serializers.CharField(allow_null=True)
    model_name = serializers.CharField(allow_null=True)
    why = serializers.CharField(allow_null=True, help_text="how the brand was detected")
    sys_descr = serializers.CharField(allow_null=True)
    sys_object_id = serializers.CharField(allow_null=True)
    uptime_s = serializers.IntegerField(allow_null=True)


class RemovalSerializer(serializers.Serializer[Any]):
    rows = serializers.DictField(child=serializers.IntegerField(), help_text="number of rows by table")


class Olts(ReadOnlyRows[Olt]):
    about = "hosts.olt"
    rights: ClassVar = {"enable": "enable", "disable": "enable", "recover": "enable", "test": "test"}
    # Reading needs no secrets.
    queryset = Olt.objects.select_related("brand", "model").defer("credentials")
    serializer_class = OltSerializer
    filterset_class = OltFilter
    orderings: ClassVar = ("name", "id", "site", "created_at", "unreachable_since", "cpu_pct")

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "left_alone": olts_under_maintenance(database_now())}

    @extend_schema(request=OltGiven, responses={status.HTTP_201_CREATED: OltSerializer})
    def create(self, request: Request) -> Response:
        """Add an OLT. Without a brand it is asked what it is, and refused if it does not answer."""
        with errors_at(FIELDS):
            new = new_olt(read_input(OltGiven, request))
            olt = olts.add_olt(new, detected=_detect(new) if new.brand == olts.AUTO else None)
        return self.show_created(request, olt.pk)

    @extend_schema(request=OltGiven, responses=OltSerializer)
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Change the given fields."""
        olt = self.get_object()
        given = read_input(OltGiven, request, partial=True)
        with errors_at(FIELDS):
            olts.update_olt(olt.name, olt_changes(olt, given), database_now())
        return self.show_row(olt.pk)

    @extend_schema(responses={status.HTTP_204_NO_CONTENT: None, status.HTTP_202_ACCEPTED: None})
    def destroy(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Remove an OLT with its ONUs and history; `removal/` has the numbers. 202 if there are many rows:
        the OLT then has `removed_at`, cannot be enabled any more, and is deleted in chunks.
        """
        gone = remove_olt(self.get_object().name, database_now(), current(), chunks=FIRST_CHUNKS)
        return Response(status=status.HTTP_204_NO_CONTENT if gone else status.HTTP_202_ACCEPTED)

    @extend_schema(responses={status.HTTP_200_OK: RemovalSerializer})
    @action(detail=True)
    def removal(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """The rows that would be deleted with the OLT."""
        return Response({"rows": count_rows_removed_with(self.get_object().name)})

    @extend_schema(responses=PonUseSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def pons(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """How much of its line rate each PON uses; nothing of an old collection."""
        return Response(PonUseSerializer(pon_rows(self.get_object().pk), many=True).data)

    @extend_schema(request=None, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def enable(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Enable an OLT: its nodes run after one full interval. A suspended OLT is resumed."""
        return show_replanned(olts.enable_olts([self.get_object().name], database_now()))

    @extend_schema(request=ReasonGiven, responses=ReplannedSerializer)
    @action(methods=["post"], detail=True)
    def disable(self, request: Request, **_: Any) -> Response:
        """Disable an OLT, with a reason. Running executions stop at their next request and store nothing."""
        reason = read_input(ReasonGiven, request).get("reason", "")
        with errors_at(FIELDS):
            return show_replanned(olts.disable_olts([self.get_object().name], database_now(), reason))

    @extend_schema(request=None, responses={status.HTTP_202_ACCEPTED: None})
    @action(methods=["post"], detail=True)
    def recover(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Probe a suspended OLT now: the engine asks it at once, and resumes it if it answers."""
        with errors_at(FIELDS):
            olts.probe_olts_now([self.get_object().name], database_now())
        return Response(status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses=TestedSerializer)
    @action(methods=["post"], detail=True)
    def test(self, request: Request, **_: Any) -> Response:
        """Test the connection with the stored credentials. Takes until the OLT answers or the time-out."""
        return Response(TestedSerializer(_test(self.get_object(), reason_writer(request))).data)


def _detect(new: olts.NewOlt) -> Identified:
    answer = check_new_connection(new)
    if isinstance(answer, Silence):
        raise CommandError("address", reason_words(answer.reason))
    return answer


_UNKNOWN: Final = dict.fromkeys(TestedSerializer().fields)


def _test(olt: Olt, words: Callable[[Reason], str]) -> dict[str, Any]:
    answer = check_connection(olt)
    if isinstance(answer, Silence):
        return {**_UNKNOWN, "answers": False, "reason": words(answer.reason)}
    brand, _model = detected_rows(answer)
    return {
        "answers": True,
        "reason": None,
        "brand": brand and brand.pk,
        "brand_name": answer.detection.profile,
        "model_name": answer.detection.model or None,
        "why": words(answer.detection.why),
        "sys_descr": answer.sys_descr,
        "sys_object_id": answer.sys_object_id,
        "uptime_s": None if answer.uptime_s is None else int(answer.uptime_s),
    }
