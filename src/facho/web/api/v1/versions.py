"""ONUs and OLTs, counted by model, firmware and hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from facho.apps.discovery.versions import VersionsOf, count_olt_versions, count_onu_versions
from facho.web.api.filters import LARGEST, refuse_unknown


class VersionsQuery(serializers.Serializer[Any]):
    site = serializers.CharField(required=False, default="", help_text="site of the OLT")
    olt = serializers.IntegerField(required=False, default=None, min_value=1, max_value=LARGEST)
    brand = serializers.IntegerField(
        required=False, default=None, min_value=1, max_value=LARGEST, help_text="brand of the OLT"
    )


class OnuVersionSerializer(serializers.Serializer[Any]):
    """Present ONUs with the same versions; empty is not known."""

    model = serializers.CharField()
    sw_version = serializers.CharField()
    hw_version = serializers.CharField()
    onus = serializers.IntegerField()


class OltVersionSerializer(serializers.Serializer[Any]):
    """OLTs with the same software and hardware; empty is not known."""

    brand = serializers.IntegerField(source="brand_id")
    brand_name = serializers.CharField(source="brand")
    model = serializers.IntegerField(source="model_id", allow_null=True)
    model_name = serializers.CharField(source="model")
    version = serializers.CharField()
    hw_version = serializers.CharField()
    olts = serializers.IntegerField()


class VersionsSerializer(serializers.Serializer[Any]):
    """The most frequent first."""

    onus = OnuVersionSerializer(many=True)
    olts = OltVersionSerializer(many=True)


# One object, and no list of rows.
_ANSWER: Any = forced_singular_serializer(VersionsSerializer)  # type: ignore[no-untyped-call]


class Versions(ViewSet):
    about = "discovery.onu"
    rights: ClassVar[Mapping[str, str]] = {}

    @extend_schema(operation_id="versions_list", parameters=[VersionsQuery], responses={200: _ANSWER})
    def list(self, request: Request) -> Response:
        """How many ONUs and OLTs have each model, firmware and hardware. The lists of ONUs and of OLTs have
        filters by these.
        """
        refuse_unknown(request, VersionsQuery().fields)
        query = VersionsQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        given = query.validated_data
        of = VersionsOf(given["site"], given["olt"], given["brand"])
        found = {"onus": count_onu_versions(of), "olts": count_olt_versions(of)}
        return Response(VersionsSerializer(found).data)
