"""Traffic: totals of OLTs, who moves the most, and how much of their line rate PONs use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django.db.models import F
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from facho.apps.db.database import database_now
from facho.apps.history.models import Subject
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.selectors import (
    NamedRate,
    name_rates,
    named_pon_uses,
    olts_of,
    to_and_from_customers,
    traffic_tops,
)
from facho.core.line_rates import line_rate
from facho.core.rates import certain_rate, is_on_time
from facho.core.traffic import MOST_NAMED
from facho.web.api.base import OltRowSerializer, ReadOnlyRows
from facho.web.api.filters import LARGEST, OfOlt, OneOf, refuse_unknown

_SUBJECTS: Final = (Subject.ONU.value, Subject.PORT.value, Subject.UPLINK.value)


class TrafficSerializer(OltRowSerializer[OltTraffic]):
    """The traffic of the ONUs, ports or uplinks (`link`) of an OLT together, at its last collection.

    A rate is null when it is not known. `certain_to_bps` is the highest rate that is certain where the
    counters are of 32 bits, else null. `over`, `resets` and `gaps` are rates that were not stored, since the
    OLT was first collected.
    """

    to_customers_bps = serializers.SerializerMethodField()
    from_customers_bps = serializers.SerializerMethodField()
    certain_to_bps = serializers.SerializerMethodField()
    is_current = serializers.SerializerMethodField()

    class Meta:
        model = OltTraffic
        fields = (
            "id", "olt", "olt_name", "subject", "at", "interval_s", "is_current", "to_customers_bps",
            "from_customers_bps", "counter_bits", "certain_to_bps", "over", "resets", "gaps",
        )  # fmt: skip

    def get_to_customers_bps(self, row: OltTraffic) -> int | None:
        return to_and_from_customers(row.subject, row.in_bps, row.out_bps)[0]

    def get_from_customers_bps(self, row: OltTraffic) -> int | None:
        return to_and_from_customers(row.subject, row.in_bps, row.out_bps)[1]

    def get_certain_to_bps(self, row: OltTraffic) -> int | None:
        return certain_rate(row.counter_bits, row.interval_s)

    def get_is_current(self, row: OltTraffic) -> bool:
        """Return whether the last collection was on time."""
        return row.at is not None and is_on_time(row.at, row.interval_s, self.context["now"])


class TrafficFilter(OfOlt):
    subject = OneOf(_SUBJECTS)

    class Meta:
        model = OltTraffic
        fields = ()


class RateSerializer(serializers.Serializer[NamedRate]):
    olt = serializers.IntegerField(source="olt_id")
    olt_name = serializers.CharField(source="olt")
    site = serializers.CharField()
    id = serializers.IntegerField(source="number", help_text="of the ONU, port or uplink")
    place = serializers.CharField(help_text="interface of an ONU, place of a port, name of an uplink")
    name = serializers.CharField(help_text="serial or MAC of an ONU")
    description = serializers.CharField()
    to_customers_bps = serializers.IntegerField(allow_null=True)
    from_customers_bps = serializers.IntegerField(allow_null=True)


class TopSerializer(serializers.Serializer[Any]):
    now = RateSerializer(many=True)
    peak = RateSerializer(many=True, help_text="of each OLT at its own peak of the last day")


class PonUseSerializer(serializers.Serializer[Any]):
    port = serializers.IntegerField()
    place = serializers.CharField()
    technology = serializers.CharField()
    to_customers_bps = serializers.IntegerField(allow_null=True)
    from_customers_bps = serializers.IntegerField(allow_null=True)
    line_to_customers_bps = serializers.IntegerField()
    line_from_customers_bps = serializers.IntegerField()
    use_to_customers = serializers.FloatField(allow_null=True, help_text="part of the line rate, 0 to 1")
    use_from_customers = serializers.FloatField(allow_null=True, help_text="part of the line rate, 0 to 1")


def _top_question() -> serializers.Serializer[Any]:
    return inline_serializer(
        "TrafficTopQuestion",
        {
            "subject": serializers.ChoiceField(choices=_SUBJECTS, default=_SUBJECTS[0]),
            "olt": serializers.IntegerField(required=False, min_value=1, max_value=LARGEST),
            "site": serializers.CharField(required=False),
            "most": serializers.IntegerField(min_value=1, max_value=MOST_NAMED, default=MOST_NAMED),
        },
    )


class TrafficOfOlts(ReadOnlyRows[OltTraffic]):
    about = "traffic.olttraffic"
    # What is large is read by the recorder only.
    queryset = OltTraffic.objects.defer(
        "top", "ports", "peaks", "missing", "drops_by_hour", "counters"
    ).annotate(olt_name=F("olt__name"))
    serializer_class = TrafficSerializer
    filterset_class = TrafficFilter
    orderings: ClassVar = ("olt", "in_bps", "out_bps", "at")

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "now": database_now()}

    @extend_schema(parameters=[_top_question()], responses=TopSerializer, filters=False)
    @action(detail=False, pagination_class=None)
    def top(self, request: Request) -> Response:
        """The ONUs, ports or uplinks with the most traffic: now, and at the last peaks."""
        asked = type(_top_question())(data=request.query_params)
        refuse_unknown(request, asked.fields)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        olt_ids = olts_of(given.get("olt"), given.get("site", ""))
        tops = traffic_tops(given["subject"], database_now(), olt_ids=olt_ids, most=given["most"])
        now, peak = name_rates(given["subject"], tops.now, tops.peak)
        return Response(TopSerializer({"now": now, "peak": peak}).data)


def pon_rows(olt_id: int) -> Sequence[dict[str, Any]]:
    return [
        {
            "port": use.port_id,
            "place": place,
            "technology": use.technology,
            "to_customers_bps": use.out_bps,
            "from_customers_bps": use.in_bps,
            "line_to_customers_bps": line_rate(use.technology).down_bps,
            "line_from_customers_bps": line_rate(use.technology).up_bps,
            "use_to_customers": _rounded(use.down),
            "use_from_customers": _rounded(use.up),
        }
        for place, use in named_pon_uses(olt_id, database_now())
    ]


def _rounded(part: float | None) -> float | None:
    return None if part is None else round(part, 4)
