"""PON ports, their outages, uplinks, and unprovisioned ONUs."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.db.models import F
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.chassis.models import PonPort, Unprovisioned, Uplink
from facho.apps.db.database import database_now
from facho.apps.discovery.models import PortOutage
from facho.apps.history.facts import history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import subject_series
from facho.web.api.base import ExtraValues, OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import OfOlt, OfOltWithFacts, OneOf, TrueOrFalse
from facho.web.api.v1 import history
from facho.web.words.states import LINK_STATES


class PortSerializer(OltRowSerializer[PonPort]):
    facts = ExtraValues()

    class Meta:
        model = PonPort
        fields = (
            "id", "olt", "olt_name", "place", "frame", "slot", "port", "name", "technology", "state",
            "admin_state", "down_cause", "tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma",
            "onus_told", "onus_online_told", "updated_at", "facts",
        )  # fmt: skip


class PortFilter(OfOltWithFacts):
    state = OneOf(LINK_STATES)

    class Meta:
        model = PonPort
        fields = ("place", "frame", "slot", "port")


class Ports(ReadOnlyRows[PonPort]):
    about = "chassis.ponport"
    queryset = PonPort.objects.annotate(olt_name=F("olt__name"))
    serializer_class = PortSerializer
    filterset_class = PortFilter

    @history.history_schema(history_facts(Subject.PORT))
    @action(detail=True, pagination_class=None)
    def history(self, request: Request, **_: Any) -> Response:
        """The history of the port."""
        port = self.get_object()
        query = history.HistoryQuery.parse(request, history_facts(Subject.PORT), database_now())
        return history.show_history(query, partial(subject_series, port.olt_id, port.pk))


class UplinkSerializer(OltRowSerializer[Uplink]):
    facts = ExtraValues()

    class Meta:
        model = Uplink
        fields = (
            "id", "olt", "olt_name", "place", "name", "description", "state", "admin_state", "speed_mbps",
            "tx_dbm", "rx_dbm", "temperature_c", "voltage_v", "bias_ma", "updated_at", "facts",
        )  # fmt: skip


class UplinkFilter(OfOltWithFacts):
    state = OneOf(LINK_STATES)

    class Meta:
        model = Uplink
        fields = ("place", "name")


class Uplinks(ReadOnlyRows[Uplink]):
    about = "chassis.uplink"
    queryset = Uplink.objects.annotate(olt_name=F("olt__name"))
    serializer_class = UplinkSerializer
    filterset_class = UplinkFilter

    @history.history_schema(history_facts(Subject.UPLINK))
    @action(detail=True, pagination_class=None)
    def history(self, request: Request, **_: Any) -> Response:
        """The history of the uplink: optics, traffic, errors and discards."""
        link = self.get_object()
        query = history.HistoryQuery.parse(request, history_facts(Subject.UPLINK), database_now())
        return history.show_history(
            query, partial(subject_series, link.olt_id, link.pk, subject=Subject.UPLINK)
        )


class OutageSerializer(OltRowSerializer[PortOutage]):
    """`onus` has the cause of each ONU, by its id."""

    onus = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = PortOutage
        fields = (
            "id", "olt", "olt_name", "place", "began_at", "ended_at", "cause", "onus_affected", "onus_known",
            "onus",
        )  # fmt: skip


class OutageFilter(OfOlt):
    by_time = "began_at"
    cause = OneOf(PortOutage.Cause.values)
    open = TrueOrFalse(field_name="ended_at", lookup_expr="isnull")

    class Meta:
        model = PortOutage
        fields = ("place",)


class Outages(ReadOnlyRows[PortOutage]):
    about = "discovery.portoutage"
    queryset = PortOutage.objects.annotate(olt_name=F("olt__name"))
    serializer_class = OutageSerializer
    filterset_class = OutageFilter
    orderings: ClassVar = ("-began_at",)


class UnprovisionedSerializer(OltRowSerializer[Unprovisioned]):
    facts = ExtraValues()

    class Meta:
        model = Unprovisioned
        fields = (
            "id", "olt", "olt_name", "identity", "place", "frame", "slot", "port", "serial", "mac", "model",
            "vendor_id", "sw_version", "seen_at", "first_seen", "last_seen", "facts",
        )  # fmt: skip


class UnprovisionedFilter(OfOltWithFacts):
    by_time = "first_seen"

    class Meta:
        model = Unprovisioned
        fields = ("place", "serial", "mac")


class UnprovisionedOnus(ReadOnlyRows[Unprovisioned]):
    about = "chassis.unprovisioned"
    queryset = Unprovisioned.objects.annotate(olt_name=F("olt__name"))
    serializer_class = UnprovisionedSerializer
    filterset_class = UnprovisionedFilter
    orderings: ClassVar = ("-first_seen", "id")
