"""ONUs, their history and their events."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils.translation import gettext as _
from django_filters import CharFilter
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.discovery.fact_filters import BadCondition, FactCondition
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Presence
from facho.apps.discovery.onu_search import MOST, SHORTEST, search_onus
from facho.apps.discovery.selectors import (
    WEAK,
    events_of,
    interface_of,
    is_weak,
    offline_since,
    onu_extra_values,
    onus_down_by,
    onus_in_state,
    onus_with_ip,
    unis_of,
    weak_onus,
)
from facho.apps.history.facts import history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import latest_numbers, onu_series
from facho.apps.hosts.health import silent_olts
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.freshness import shown_state
from facho.core.olt_status import OltStatus
from facho.core.onu_states import OnuStatus, down_cause, onu_status
from facho.engine.commands import runs
from facho.web.api.base import OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import Number, OfOlt, OneOf, TrueOrFalse
from facho.web.api.v1 import history
from facho.web.api.v1.nodes import StartedSerializer, show_queued
from facho.web.words.states import CAUSE_CHOICES, ONU_STATES


class OnuSerializer(OltRowSerializer[Onu]):
    interface = serializers.SerializerMethodField()
    shown_state = serializers.SerializerMethodField(
        help_text="the state, or unknown while the OLT delivers nothing; state is the last one collected"
    )
    status = serializers.SerializerMethodField(
        help_text="the shown state in the words for all vendors: online, starting, offline or unknown"
    )
    cause = serializers.SerializerMethodField(
        help_text="why it is offline, empty unless it is; down_cause may be of an outage that has ended"
    )
    weak = serializers.SerializerMethodField(
        help_text="whether it is present and its optical power is weak or has dropped"
    )
    last_seen = serializers.DateTimeField(read_only=True, help_text="when its presence last changed")
    offline_since = serializers.SerializerMethodField(help_text="since when it is offline, null unless it is")
    offline_dated = serializers.SerializerMethodField(
        help_text="whether the OLT dates it, on a clock that is right; otherwise that is when it was seen"
    )
    facts = serializers.SerializerMethodField(help_text="facts without a field of their own, by name")
    unis = serializers.SerializerMethodField(help_text="the facts of its customer ports, by number")

    class Meta:
        model = Onu
        fields: tuple[str, ...] = (
            "id", "olt", "olt_name", "interface", "address", "raw_index", "frame", "slot", "port", "onu_id",
            "technology", "serial", "mac", "description", "model", "hw_version", "sw_version", "plan",
            "ip", "distance_m", "state", "shown_state", "status", "down_cause", "cause", "onu_rx_dbm",
            "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "rx_usual_dbm", "rx_usual_of", "optical_state",
            "weak", "presence", "missed", "first_seen", "last_seen", "offline_since",
            "offline_dated", "facts", "unis",
        )  # fmt: skip

    def get_offline_since(self, onu: Onu) -> datetime | None:
        return offline_since(onu).at

    def get_offline_dated(self, onu: Onu) -> bool:
        return offline_since(onu).is_dated

    def get_facts(self, onu: Onu) -> dict[str, Any]:
        return onu_extra_values(onu)

    def get_unis(self, onu: Onu) -> dict[str, dict[str, Any]]:
        return unis_of(onu)

    def get_status(self, onu: Onu) -> str:
        return onu_status(self.get_shown_state(onu)).value

    def get_cause(self, onu: Onu) -> str:
        return down_cause(self.get_shown_state(onu), onu.down_cause)

    def get_weak(self, onu: Onu) -> bool:
        return is_weak(onu)

    def get_interface(self, onu: Onu) -> str:
        return interface_of(onu)

    def get_shown_state(self, onu: Onu) -> str:
        return shown_state(onu.state, self.context["silent"].get(onu.olt_id, OltStatus.FINE)).state


class LatestNumberSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField()
    at = serializers.DateTimeField()


class WholeOnuSerializer(OnuSerializer):
    latest = serializers.SerializerMethodField(
        help_text="the latest value of each number that only the history has, rates with them, of two days"
    )

    class Meta(OnuSerializer.Meta):
        fields = (*OnuSerializer.Meta.fields, "latest")

    @extend_schema_field(serializers.DictField(child=LatestNumberSerializer()))
    def get_latest(self, onu: Onu) -> dict[str, Any]:
        found = latest_numbers(onu, database_now())
        return {fact: LatestNumberSerializer(number).data for fact, number in found.items()}


class EventSerializer(OltRowSerializer[OnuEvent]):
    at = serializers.DateTimeField(read_only=True, help_text="when it was seen")
    happened_at = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="when it happened, as the OLT dates it, on our clock; null if it does not",
    )

    class Meta:
        model = OnuEvent
        fields = (
            "id",
            "at",
            "happened_at",
            "kind",
            "olt",
            "olt_name",
            "onu",
            "serial",
            "place",
            "before",
            "cause",
        )


def _silent_olts() -> dict[int, OltStatus]:
    return silent_olts(olts_under_maintenance(database_now()))


def _long_enough(text: str) -> None:
    if len(text) < SHORTEST:
        raise ValidationError(_("give at least %d characters") % SHORTEST)


class OnuFilter(OfOlt):
    """Filters with an index only: a list of a million rows is never scanned."""

    frame = Number()
    slot = Number()
    port = Number()
    state = OneOf(ONU_STATES, help_text="as the OLT reports it")
    status = OneOf(
        [each.value for each in OnuStatus], method="in_status", help_text="the same for all vendors"
    )
    cause = OneOf(CAUSE_CHOICES, method="down_by", help_text="why it is offline")
    presence = OneOf(Presence.values)
    weak = TrueOrFalse(method="is_weak", help_text="optical power is weak or has dropped")
    other_fact = CharFilter(
        method="with_fact",
        help_text=(
            "a fact of `facts`, as line_profile=residential or mac_count>=2, or of any of its customer "
            "ports, as uni.state=down; give the OLT too"
        ),
    )
    ip = CharFilter(method="with_ip")
    brand = Number(field_name="olt__brand", help_text="brand of the OLT")
    # Last, because it searches the rows that the other filters leave.
    q = CharFilter(
        method="search",
        validators=[_long_enough],
        help_text=f"start or part of the serial or the MAC, or words of the description: the first {MOST:,}",
    )

    only_with: ClassVar = {"other_fact": ("olt",), "hw_version": ("olt", "model", "sw_version", "serial")}

    class Meta:
        model = Onu
        fields = ("serial", "mac", "model", "sw_version", "hw_version")

    def filter_queryset(self, queryset: Any) -> Any:
        given = self.form.cleaned_data
        if given["olt"] is None and any(given[part] is not None for part in ("frame", "slot", "port")):
            raise serializers.ValidationError({"olt": [_("also give the OLT")]})
        return super().filter_queryset(queryset)

    def is_weak(self, rows: Any, _name: str, wanted: bool) -> Any:
        return weak_onus(rows) if wanted else rows.exclude(WEAK)

    def in_status(self, rows: Any, _name: str, states: list[str]) -> Any:
        return onus_in_state(rows, _silent_olts(), *states) if states else rows

    def down_by(self, rows: Any, _name: str, causes: list[str]) -> Any:
        return onus_down_by(rows, _silent_olts(), *causes) if causes else rows

    def with_ip(self, rows: Any, _name: str, address: str) -> Any:
        return onus_with_ip(rows, address)

    def with_fact(self, rows: Any, name: str, text: str) -> Any:
        try:
            return FactCondition.parse(text).narrow(rows)
        except BadCondition as refused:
            raise serializers.ValidationError({name: [str(refused)]}) from None

    def search(self, rows: Any, _name: str, text: str) -> Any:
        return rows.filter(id__in=search_onus(text, rows=rows))


class Onus(ReadOnlyRows[Onu]):
    about = "discovery.onu"
    rights: ClassVar = {"read": "run"}
    queryset = Onu.objects.annotate(olt_name=F("olt__name"))
    serializer_class = OnuSerializer
    filterset_class = OnuFilter

    def get_serializer_class(self) -> type[OnuSerializer]:
        return WholeOnuSerializer if self.action == "retrieve" else OnuSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "silent": _silent_olts()}

    @extend_schema(request=None, responses={status.HTTP_202_ACCEPTED: StartedSerializer})
    @action(methods=["post"], detail=True)
    def read(self, request: Request, **_: Any) -> Response:
        """Read the ONU now, before all in the queue. The execution's `result` has `facts`, and `unread` with
        the reasons. Called again before it starts, it is the same execution.
        """
        return show_queued(request, runs.read_onu(self.get_object().id, database_now()))

    @history.history_schema(history_facts(Subject.ONU))
    @action(detail=True, pagination_class=None)
    def history(self, request: Request, **_: Any) -> Response:
        """The history of the ONU, on all ports where it was."""
        query = history.HistoryQuery.parse(request, history_facts(Subject.ONU), database_now())
        return history.show_history(query, partial(onu_series, self.get_object()))

    @extend_schema(responses=EventSerializer(many=True), filters=False)
    @action(detail=True, filterset_class=None, orderings=("-at",))
    def events(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """The events of the ONU."""
        rows: Any = events_of(self.get_object()).annotate(olt_name=F("olt__name"))
        page: Any = self.paginate_queryset(rows)
        return self.get_paginated_response(EventSerializer(page, many=True).data)


class EventFilter(OfOlt):
    by_time = "at"
    only_with: ClassVar = {"cause": ("olt", "onu", "from")}
    kind = OneOf(EventKind.values)
    cause = CharFilter()

    class Meta:
        model = OnuEvent
        fields = ("onu",)


class Events(ReadOnlyRows[OnuEvent]):
    about = "discovery.onuevent"
    queryset = OnuEvent.objects.annotate(olt_name=F("olt__name"))
    serializer_class = EventSerializer
    filterset_class = EventFilter
    orderings: ClassVar = ("-at",)
